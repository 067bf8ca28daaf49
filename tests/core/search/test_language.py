"""The language of searches: what a text is read as, and what is said of one that is none."""

from __future__ import annotations

import time
from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.search.field import chips, completions, quoted, without, words
from app.core.search.filters import FILTERS
from app.core.search.parse import MAX_TEXT, parse
from app.core.search.query import (
    All,
    Choice,
    Contains,
    Either,
    Filter,
    HeaderTest,
    JsonTest,
    Network,
    Not,
    Query,
    QueryError,
    Range,
    Term,
    TimePoint,
    Word,
)

HOUR = 3_600_000_000


def condition(text: str) -> object:
    (term,) = parse(text).terms
    assert isinstance(term, Filter)
    return term.condition


def shape(term: Term) -> object:
    """A term without the places of its parts."""
    if isinstance(term, Word):
        return term.text
    if isinstance(term, Filter):
        return term.name, term.source, term.condition
    if isinstance(term, Not):
        return "-", shape(term.term)
    return type(term).__name__, *map(shape, term.terms)


def shapes(query: Query) -> list[object]:
    return [shape(term) for term in query.terms]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        ("paid", ["paid"]),
        ("invoice paid", ["invoice", "paid"]),
        ('"invoice paid"', ["invoice paid"]),
        (r'"say \"hi\" \\ now"', [r'say "hi" \ now']),
        ('in"voice pa"id', ["invoice paid"]),
        ("-paid", [("-", "paid")]),
        ("a-b", ["a-b"]),
        ('"-paid"', ["-paid"]),
        ("a OR b", [("Either", "a", "b")]),
        ("a b OR c d", ["a", ("Either", "b", "c"), "d"]),
        ('a "OR" b', ["a", "OR", "b"]),
        ("a or b", ["a", "or", "b"]),
        ("(a b) OR c", [("Either", ("All", "a", "b"), "c")]),
        ("-(a b)", [("-", ("All", "a", "b"))]),
        ("f(x)", ["f(x)"]),
        ("(f(x))", [("All", "f(x)")]),
        (":)", [":)"]),
        ("https://example.com/a", ["https://example.com/a"]),
        ("10:30", ["10:30"]),
        ('"method:POST"', ["method:POST"]),
    ],
)
def test_words_and_their_grouping(text: str, expected: list[object]) -> None:
    assert shapes(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("method:post", Choice(value="POST")),
        ("Method:POST", Choice(value="POST")),
        ("path:/Orders", Contains(text="/Orders")),
        ('path:"/a b"', Contains(text="/a b")),
        ("header:stripe-signature", HeaderTest(name="stripe-signature", operator="exists")),
        ("header:X-GitHub-Event=push", HeaderTest(name="X-GitHub-Event", operator="=", value="push")),
        ('header:user-agent~"a b"', HeaderTest(name="user-agent", operator="~", value="a b")),
        ("header:x=a=b", HeaderTest(name="x", operator="=", value="a=b")),
        ("status:200", Range(low=200, high=200)),
        ("status:5xx", Range(low=500, high=599)),
        ("status:>=400", Range(low=400, high=None)),
        ("status:400..404", Range(low=400, high=404)),
        ("delivery:failed", Choice(value="failed")),
        ("mirror:failed", Choice(value="failed")),  # as saved filters of older versions have it
        ("size:0", Range(low=0, high=0)),
        ("size:>10k", Range(low=10_001, high=None)),
        ("size:<1.5M", Range(low=None, high=1_499_999)),
        ("size:5k..10kB", Range(low=5_000, high=10_000)),
        ("size:>=2KiB", Range(low=2_048, high=None)),
        ("size:..3", Range(low=None, high=3)),
        ("from:203.0.113.7", Network(network="203.0.113.7")),
        ("from:2001:DB8::1", Network(network="2001:db8::1")),
        ("from:10.1.2.3/8", Network(network="10.0.0.0/8")),
        ("json:a", JsonTest(path=("a",), operator="exists")),
        ("json:data.object.amount>1000", JsonTest(path=("data", "object", "amount"), operator=">", value="1000")),
        ("json:items[0].id!=7", JsonTest(path=("items", "0", "id"), operator="!=", value="7")),
        ("json:items.*.sku=A-1", JsonTest(path=("items", None, "sku"), operator="=", value="A-1")),
        ("json:items[].sku<=3", JsonTest(path=("items", None, "sku"), operator="<=", value="3")),
        ("json:$.a[1][2]", JsonTest(path=("a", "1", "2"), operator="exists")),
        ('json:"a.b".c="x y"', JsonTest(path=("a.b", "c"), operator="=", value="x y")),
        ('json:a=">1"', JsonTest(path=("a",), operator="=", value=">1")),
        ('json:a~"=="', JsonTest(path=("a",), operator="~", value="==")),
        ("json:a=", JsonTest(path=("a",), operator="=", value="")),
        ("json:a=b==", JsonTest(path=("a",), operator="=", value="b==")),
        ('json:"a:b".c', JsonTest(path=("a:b", "c"), operator="exists")),
        ("json:dc:title=x:y", JsonTest(path=("dc:title",), operator="=", value="x:y")),
        ('json:"*"', JsonTest(path=("*",), operator="exists")),
        ("since:2h", TimePoint(at=None, ago=2 * HOUR)),
        ("before:3d", TimePoint(at=None, ago=72 * HOUR)),
        ("since:2026-11-01T09:30Z", TimePoint(at=1_793_525_400_000_000)),
        ("since:2026-11-01T10:30:00.5+01:00", TimePoint(at=1_793_525_400_500_000)),
        ("is:Unread", Choice(value="unread")),
        ("is:STARRED", Choice(value="starred")),
        ("is:noted", Choice(value="noted")),
    ],
)
def test_filters(text: str, expected: object) -> None:
    assert condition(text) == expected


def test_every_filter_reads_its_own_example_and_offered_values() -> None:
    for kind in FILTERS.values():
        for text in (kind.example, *(f"{kind.name}:{value}" for value in kind.values)):
            (term,) = parse(text).terms
            assert isinstance(term, Filter)
            assert term.name == kind.name


def test_days_and_times_without_an_offset_are_local() -> None:
    local = datetime(2026, 11, 1).astimezone()
    assert condition("since:2026-11-01") == TimePoint(at=int(local.timestamp()) * 1_000_000)
    noon = datetime(2026, 11, 1, 12, 30).astimezone()
    assert condition('since:"2026-11-01 12:30"') == TimePoint(at=int(noon.timestamp()) * 1_000_000)
    today = condition("since:today")
    assert isinstance(today, TimePoint)
    assert today.us(0) <= time.time() * 1_000_000


def test_how_long_ago_counts_from_the_search() -> None:
    moment = condition("since:2h")
    assert isinstance(moment, TimePoint)
    assert moment.us(10 * HOUR) == 8 * HOUR


@pytest.mark.parametrize(
    ("text", "wrong", "suggestion", "says"),
    [
        ("metod:POST", "metod:", "method:", "Did you mean method:?"),
        ("a xyzzy:1", "xyzzy:", None, "Unknown filter xyzzy:."),
        ("a method:PSOT b", "PSOT", "POST", "method:PSOT is unknown"),
        ("method:", "", None, "needs a value, as in method:POST"),
        ("is:unred", "unred", "unread", "Use unread, read, starred, noted, incomplete"),
        ("status:abc", "abc", None, "not a status"),
        ("status:2000", "2000", None, "not a status"),
        ("size:>", ">", None, "not a size"),
        ("size:9..3", "9..3", None, "ends before it starts"),
        ("from:example.com", "example.com", None, "not an address"),
        ("since:2026-13-01", "2026-13-01", None, "not a time"),
        ("since:soon", "soon", None, "not a time"),
        ("header:=x", "=x", None, "Name a header"),
        ("json:=1", "", None, "A step of the path is missing"),
        ("json:a..b", ".b", None, "A step of the path is missing"),
        ("json:a[x]", "[x]", None, "the number of an item"),
        ("json:a[1", "[1", None, "not closed"),
        ("json:a[1]b", "b", None, "a dot between"),
        ("json:a!b", "!", None, "must be followed by"),
        ("json:a>>1", ">>", ">", "“>>” is not a comparison"),
        ("json:a==1", "==", "=", 'json:a="=x"'),
        ("x json:a.b=<2", "=<", "=", "Use =, !=, <, <=, >, >= or ~"),
        ("json:a>=~b", ">=~", ">=", "not a comparison"),
        ("json:a.b>", ">", None, "“>” needs a value after it"),
        ("x json:a.b<= y", "<=", None, "“<=” needs a value after it"),
        ("json:a~", "~", None, "“~” needs a value after it"),
        ("json:a.b:x", ":", "=", "Write json:a.b=x;"),
        ("header:x-id:7", ":", "=", "write header:x-id=7"),
        ("header:x:y=7", ":", "=", "Header names have no colon"),
        ('a "b', '"b', None, "not closed"),
        ('a ""', '""', None, "quotes are empty"),
        ("OR a", "OR", None, "between two terms"),
        ("a OR", "OR", None, "between two terms"),
        ("a OR OR b", "OR", None, "between two terms"),
        ("a -", "-", None, "directly before a term"),
        ("a - b", "-", None, "directly before a term"),
        ("(a", "(", None, "not closed"),
        ("a ()", "()", None, "brackets are empty"),
        ("(" * 30 + "a" + ")" * 30, "(", None, "deep"),
        ("-" * 30 + "a", "-", None, "deep"),
        ("a" * (MAX_TEXT + 3), "aaa", None, "2,000 characters"),
    ],
)
def test_what_is_wrong_and_where(text: str, wrong: str, suggestion: str | None, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    error = caught.value
    assert text[error.start : error.end] == wrong
    assert error.suggestion == suggestion
    assert says in error.message
    assert 0 <= error.start <= error.end <= len(text)


texts = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "a",
                "-",
                "(",
                ")",
                '"',
                " ",
                "OR",
                "method:POST",
                "json:a.b[0]>1",
                "size:>1k",
                "since:2h",
                ":",
                "\\",
                "=",
                "header:",
                "x=~",
                "from:",
                "::1",
                "/8",
                "status:",
                "[",
                "]",
                "*",
                "!",
                "..",
                "è",
            ]
        ),
        st.text(max_size=6),
    ),
    max_size=12,
).map("".join)


def to_text(query: Query) -> str:
    """Text that parses to the same query."""
    return " ".join(map(term_text, query.terms))


def term_text(term: Term) -> str:
    if isinstance(term, Word):
        return quoted(term.text)
    if isinstance(term, Filter):
        return f"{term.name}:{term.source}"
    if isinstance(term, Not):
        return "-" + term_text(term.term)
    if isinstance(term, All):
        return f"({' '.join(map(term_text, term.terms))})"
    return " OR ".join(map(term_text, term.terms))


@given(texts)
@example('"\\')
@example("since:9999-12-31")
@example("since:0001-01-01")
@example("since:2026-11-01T24:00")
@example("size:²")
@example("json:a[²]")
def test_any_text_is_a_query_or_a_query_error(text: str) -> None:
    try:
        query = parse(text)
    except QueryError as error:
        place = (0, error.start, error.end, len(text))
        assert place == tuple(sorted(place))
        return
    assert shapes(parse(to_text(query))) == shapes(query)
    for number in range(len(query.terms)):
        assert len(parse(without(query, number)).terms) == len(query.terms) - 1


@given(st.text(min_size=1, max_size=20))
def test_a_quoted_word_is_read_as_that_word(word: str) -> None:
    assert shapes(parse(quoted(word))) == [word]


@given(texts, st.integers(-3, 60))
def test_completions_stand_within_the_text(text: str, cursor: int) -> None:
    for found in completions(text, cursor):
        assert 0 <= found.start <= found.end <= len(text)


def test_chips_are_the_top_terms() -> None:
    query = parse("paid -method:GET a OR b is:unread")
    assert chips(query) == ["paid", "-method:GET", "a OR b", "is:unread"]
    assert without(query, 1) == "paid a OR b is:unread"
    assert without(query, 3) == "paid -method:GET a OR b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", []),
        ("paid", []),
        ("-paid", []),
        ("(a method:GET)", []),
        ("is:read", ["is:read"]),
        ("-is:read", ["-is:read"]),
    ],
)
def test_a_single_term_has_a_chip_if_it_is_a_filter(text: str, shown: list[str]) -> None:
    assert chips(parse(text)) == shown


def test_words_to_highlight_are_those_that_must_or_may_occur() -> None:
    assert words(parse('paid -draft (a OR "b c") path:/x paid -(d)')) == ("paid", "a", "b c")


@pytest.mark.parametrize(
    ("text", "cursor", "expected", "replaced"),
    [
        ("me", 2, ["method:"], "me"),
        ("a -me", 5, ["method:"], "me"),
        ("(me", 3, ["method:"], "me"),
        ("method:P", 8, ["POST", "PUT", "PATCH"], "P"),
        ("a method:po b", 11, ["POST"], "po"),
        ("method:POST", 11, [], ""),
        ("delivery:", 9, ["none", "queued", "delivered", "not_sent", "failed"], ""),
        ("xyzzy:", 6, [], ""),
        ('"me', 3, [], ""),
    ],
)
def test_completions(text: str, cursor: int, expected: list[str], replaced: str) -> None:
    found = completions(text, cursor)
    assert [one.insert for one in found] == expected
    assert {text[one.start : one.end] for one in found} <= {replaced}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("event:", ["invoice.paid", "charge.failed", '"order shipped"', "paid.twice"]),
        ("event:PAID", ["paid.twice", "invoice.paid"]),
        ("a -event:char", ["charge.failed"]),
        ("event:ship", ['"order shipped"']),
        ("event:invoice.paid", []),
        ("provider:", []),
        ("path:inv", []),
    ],
)
def test_stored_values_are_offered_for_their_filter(text: str, expected: list[str]) -> None:
    stored = {"event": [("invoice.paid", "12"), ("charge.failed", "7"), ("order shipped", ""), ("paid.twice", "")]}
    found = completions(text, len(text), stored)
    assert [one.insert for one in found] == expected
    for one in found:
        parse(text[: one.start] + one.insert + text[one.end :])


def test_no_more_stored_values_are_offered_than_can_be_looked_through() -> None:
    assert len(completions("event:", 6, {"event": [(f"e{n}", "") for n in range(500)]})) == 20


def test_completions_of_nothing_are_all_filters() -> None:
    assert [one.insert for one in completions("", 0)] == [f"{name}:" for name in FILTERS]


def test_groups_are_told_apart() -> None:
    (term,) = parse("(a OR -b)").terms
    assert isinstance(term, All)
    assert isinstance(term.terms[0], Either)
