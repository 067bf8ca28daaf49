"""What the index leaves out is never what was looked for: compared with looking at every request."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import quopri
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.clock import now_us
from app.core.model import DeliveryState, Endpoint
from app.core.record import Headers
from app.core.search.query import All, Contains, Either, Filter, HeaderTest, JsonTest, Not, Term, Word
from app.db.search import background_index
from app.db.search.index_query import to_index_query
from app.db.search.index_terms import INDEXED
from app.db.search.scan import meets
from app.db.sqlite import search_group
from app.db.sqlite.search import GROUP, IndexFile
from app.db.store import Store
from tests import deliveries
from tests.db.helpers import add, add_many, candidate, entry
from tests.db.search.index import indexed, without_index
from tests.db.search.test_search import search

WORDS = ("paid", "invoice.paid", "x-paid/off", "PAID", "paid12", "paid123", "ort")
SIGNS = 'aAbKk\u017fßẞİé订单票😀\0\x1f\ufffe\uffff \n:/"%\\.19-_'
SOME = st.one_of(st.text(SIGNS, max_size=6), st.sampled_from(WORDS), st.lists(st.sampled_from(WORDS)).map(" ".join))
KEYS = st.one_of(st.text("aKk_订 9", min_size=1, max_size=3), st.sampled_from(["a", "0", "*", "k" * 101, "a\x1fb", ""]))
NUMBERS = st.one_of(
    st.integers(-3, 12), st.sampled_from([2**53, 2**53 + 1, 0.1, -0.0, 10**400, "1", " 2 ", "1e3", "007", "0.1", "1_0"])
)
VALUES = st.one_of(
    SOME, NUMBERS, st.integers(-3, 99999), st.booleans(), st.none(), st.floats(), st.text(min_size=1, max_size=4)
)
NESTED = st.recursive(
    VALUES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


FORM = "application/x-www-form-urlencoded"
MIXED = 'multipart/mixed; boundary="b"'


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, str]:
    """A body with its type: text or JSON, as it is or in a form, a part or a string of JSON; some of it broken."""
    data = draw(contents())
    way = draw(st.sampled_from(["as it is"] * 3 + ["form", "part", "base64", "quoted-printable", "string", "broken"]))
    if way == "form":
        charset = draw(st.sampled_from(["utf-8", "latin-1"]))
        text = data.decode().encode(charset, "replace")
        return f"a={quote_plus(text)}&b={quote(text, safe='')}".encode(), f"{FORM}; charset={charset}"
    if way == "string":
        return json.dumps({"Message": data.decode()}).replace("/", "\\/").encode(), "text/plain"
    if way in ("part", "base64", "quoted-printable"):
        coded = {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring}.get(way, bytes)(data)
        head = f"--b\r\nSubject: =?utf-8?b?{base64.b64encode(data[:40]).decode()}?=\r\ncontent-transfer-encoding: {way}"
        return f"{head}\r\n\r\n".encode() + coded + b"\r\n--b--", MIXED
    if way == "broken":
        return data + draw(st.sampled_from([b"\\u12", b"%zz", b"\\ud83d", b"=?utf-8?b?", b"\xff"])), draw(TYPES)
    return data, draw(TYPES)


TYPES = st.sampled_from(["", "application/json", FORM, MIXED])


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """JSON, escaped or not, or plain text."""
    if draw(st.booleans()):
        return draw(st.text(SIGNS, max_size=40)).encode()
    value = draw(st.one_of(st.dictionaries(KEYS, NESTED, max_size=3), NESTED))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("a", "\\u0061").replace("9", "\\u0039")
    return text.encode("utf-8", "replace")


HEADERS = st.lists(st.tuples(st.sampled_from(["A", "a-K", "x"]), SOME), max_size=2).map(tuple)
TARGETS = st.one_of(
    SOME,
    SOME.map(quote),
    SOME.map(lambda text: f"/a?b={quote_plus(text)}"),
    st.lists(st.sampled_from([*WORDS, "", "4711"])).map("/".join),
)
REQUESTS = st.lists(
    st.tuples(TARGETS, HEADERS, bodies()).map(lambda made: (made[0], made[1], *made[2])), min_size=1, max_size=12
)


def filtered(name: str, condition: Any) -> Filter:
    return Filter(name=name, source="", condition=condition, start=0, end=0)


NAMES = st.sampled_from(["a", "A-k", "x"])
PATHS = st.lists(st.one_of(KEYS, st.none(), st.sampled_from(["a", "0", "1"])), min_size=1, max_size=3).map(tuple)
SINGLE = st.one_of(
    st.text(SIGNS, min_size=1, max_size=4).map(lambda text: Word(text=text, start=0, end=0)),
    st.sampled_from([*WORDS, "aid", "s-p", "d/o", "voice", "12", "/", "."]).map(
        lambda text: Word(text=text, start=0, end=0)
    ),
    st.one_of(st.text(SIGNS, max_size=2), st.sampled_from(WORDS)).map(
        lambda text: filtered("path", Contains(text=text))
    ),
    st.builds(
        HeaderTest, name=st.sampled_from(["a", "A-k", "x"]), operator=st.sampled_from(["=", "~"]), value=SOME
    ).map(lambda test: filtered("header", test)),
    st.sampled_from(["a-k", "x", "K"]).map(lambda name: filtered("header", HeaderTest(name=name, operator="exists"))),
    st.builds(
        JsonTest,
        path=PATHS,
        operator=st.sampled_from(["exists", "=", "!=", "~", "<", "<=", ">", ">="]),
        value=st.one_of(SOME, NUMBERS.map(str), st.sampled_from(["true", "nu", "9", "na", "inf", "e", "1e", "K", "s"])),
    ).map(lambda test: filtered("json", test)),
)
TERMS: st.SearchStrategy[Term] = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        inner.map(lambda term: Not(term=term, start=0, end=0)),
        st.lists(inner, min_size=1, max_size=3).map(lambda terms: All(terms=tuple(terms), start=0, end=0)),
        st.lists(inner, min_size=1, max_size=3).map(lambda terms: Either(terms=tuple(terms), start=0, end=0)),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexFile]:
    """An index for many examples: each has a group of its own."""
    with closing(IndexFile(tmp_path_factory.mktemp("index") / "search.db", "store", 99)) as made:
        yield made


def test_an_index_that_cannot_be_made_leaves_no_connection_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python warns of it since 3.13, which fails the test."""
    monkeypatch.setattr("app.db.sqlite.search._TABLES", ("CREATE NONSENSE",))
    with pytest.raises(sqlite3.OperationalError):
        IndexFile(tmp_path / "search.db", "store", 99)
    gc.collect()


GROUPS = count()
EXAMPLES = 150


@pytest.mark.slow
@example([("", (("x", " ab "),), b"", "")], [filtered("header", HeaderTest(name="x", operator="=", value="ab"))])
@example([("", (), b'{"a": "\\u212aelv"}', "")], [filtered("json", JsonTest(path=("a",), operator="~", value="kel"))])
@example([("", (), b'{"\\u0061b": 1}', "")], [filtered("json", JsonTest(path=("ab",), operator="exists"))])
@example([("K", (), b"", "")], [Not(term=filtered("path", Contains(text="/k")), start=0, end=0)])
@example([("", (), b"a\xef\xbf\xbf", "")], [Word(text="a\uffff", start=0, end=0)])
@example([("", (), b'"zo\\u00eb"', "")], [Word(text='zo\u00eb"', start=0, end=0)])
@example([("", (), b'"zo\\u00eb"', "")], [Word(text="\u00eb", start=0, end=0)])
@example([("", (), b'"zo\\u00eb"', "")], [Not(term=Word(text="zo\u00eb", start=0, end=0), start=0, end=0)])
@example([("/?a=b+%C3%89", (), b"", "")], [Word(text="b \u00e9", start=0, end=0)])
@example([("", (), b"a=%2B1+c", FORM)], [Word(text="=+1 c", start=0, end=0)])
@settings(max_examples=EXAMPLES, deadline=None)
@given(requests=REQUESTS, terms=st.lists(TERMS, min_size=1, max_size=2))
def test_the_index_names_every_request_that_meets_the_terms(
    shared: IndexFile, requests: list[tuple[str, Headers, bytes, str]], terms: list[Term]
) -> None:
    asked, group = to_index_query(terms), next(GROUPS)
    if asked is None:
        return
    first = group * GROUP
    shared.add([entry(first + number, *one) for number, one in enumerate(requests)])
    named = set(shared.find(asked, group))
    shared.drop([group])
    for number, one in enumerate(requests):
        request = candidate(*one)
        if all(meets(request, term) for term in terms):
            assert first + number in named


@pytest.fixture
def file(tmp_path: Path) -> Any:
    """An index of 26 requests with a letter each, CJK, and a long one."""
    with closing(IndexFile(tmp_path / "search.db", "store", 99)) as made:
        texts = [f"/{chr(97 + number)}{chr(98 + number)}!" for number in range(24)] + ["订单", "😀"]
        entries = [entry(number, text, (("Host", "h"),), b"") for number, text in enumerate(texts)]
        made.add([*entries, entry(26, "/", (), b"." * (INDEXED + 1))])
        yield made


def find(file: IndexFile, *terms: Term) -> list[int] | None:
    """Without the long one, which every text finds; None when the index does not choose."""
    asked = to_index_query(terms)
    assert asked is not None
    found = file.find(asked, 0)
    return None if isinstance(found, range) else sorted({*found} - {26})


def word(text: str) -> Word:
    return Word(text=text, start=0, end=0)


def either(*terms: Term) -> Either:
    return Either(terms=terms, start=0, end=0)


@pytest.mark.parametrize(
    ("text", "seqs"),
    [("bc", [1]), ("BC", [1]), ("订单", [24]), ("单", [24]), ("😀", [25]), ("zz", []), ("x!", [22]), ("单订", [])],
)
def test_one_or_two_characters_leave_out_what_does_not_have_them(file: IndexFile, text: str, seqs: list[int]) -> None:
    assert find(file, word(text)) == seqs


def test_short_texts_combine_with_long_ones(file: IndexFile) -> None:
    assert find(file, word("bc"), word("/bc")) == [1]
    assert find(file, word("bc"), word("/cd")) == []
    assert find(file, either(word("bc"), word("zz"), word("/cd!"))) == [1, 2]
    assert find(file, word("订单"), filtered("path", Contains(text="/"))) == []
    assert find(file, filtered("header", HeaderTest(name="host", operator="=", value="h"))) == list(range(26))
    assert find(file, filtered("header", HeaderTest(name="host", operator="=", value="i"))) == []
    assert find(file, filtered("header", HeaderTest(name="host", operator="~", value="zz"))) == []


@pytest.mark.parametrize("text", ["po", "20", "2xx", "127.0.0.1", "2x"])
def test_no_word_finds_what_the_index_notes_of_columns(file: IndexFile, text: str) -> None:
    assert find(file, word(text)) == []


def test_what_most_requests_have_is_not_asked_for(file: IndexFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_group, "MOST_ROWS", 5)
    assert find(file, word("/")) is None
    assert find(file, either(word("/"), word("zz"))) is None
    assert find(file, word("/"), word("bc")) == [1]
    assert find(file, word("/"), word("zz")) == []


def test_what_is_followed_by_very_much_is_not_asked_for(file: IndexFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_group, "MOST_TRIGRAMS", 5)
    assert find(file, word("!")) == list(range(24))
    assert find(file, word("/")) is None


def test_a_dropped_group_names_nothing(file: IndexFile) -> None:
    assert find(file, word("bc")) == [1]
    file.drop([0])
    assert find(file, word("bc")) == []


QUERIES = (
    *('"bc d"', "+bc", "-+bc", "订 单", "-订 -é", '"\\"k\\": \\"订"', "-(订 OR +bc)"),
    *("bc", "z", "订单", "单", "-订", "订单 OR bc", "(a OR 😀) -b", "method:PUT 订", "path:/b", "path:é"),
    *(
        "header:x~订",
        "header:x=bc",
        "json:k=订单",
        "json:k~订",
        "json:k=bc OR z",
        "json:k>50",
        "json:k=Kk",
        "json:k~kK",
    ),
    *("size:>16k", "size:>1M", "size:0", "size:2", "is:incomplete", "-is:incomplete bc", "is:incomplete OR size:>16k"),
    *("from:10.0.0.0/8", "from:10.1.0.0/15", "from:10.1.2.3", "from:2001:db8::/32", "from:::/0", "from:10.0.0.0/7"),
    *(
        "-bc",
        "-a",
        "-订单 -bc",
        "-(bc OR 订单)",
        "-(a bc)",
        "-method:POST",
        "-method:PUT 订",
        "-status:2xx",
        "-status:>=300",
    ),
    *("-provider:stripe", "-provider:incomplete", "-event:bc", "-event:é", "-from:10.0.0.0/8", "-from:10.1.2.3"),
    *("-from:10.1.2.4", "-from:2001:db8::/32", "from:110.1.2.3/32", "-from:127.0.0.1/32", "-path:/catch", "-path:/b"),
    *("-header:x", "header:x", "-header:x=bc", "-json:k", "-json:k=bc", "json:k!=bc", "-json:k>50", "-json:k=7"),
    *(
        "json:k=7",
        "json:k!=7",
        "json:k<=7",
        "json:k>98",
        "json:k<50 OR bc",
        "-(json:k>50 OR bc)",
        "json:*>90",
        "json:k>bc",
    ),
    *("size:3..4", "-size:>2", "size:7..9 bc", "-size:0", "status:203..404", "status:<100", "-status:200..403"),
    *("status:2xx bc", "status:<300 bc", "provider:Incomplete", "event:incomplete OR bc", "status:404"),
    *("event:bc", "event:é", "provider:stripe bc", "-event:bc", "size:<3", "size:<300", "json:k=true", "x-dup json:k"),
    *(
        "delivery:failed",
        "delivery:delivered bc",
        "-delivery:failed bc",
        "delivery:failed OR bc",
        "delivery:failed is:incomplete",
    ),
)
SOURCES = ("127.0.0.1", "10.1.2.3", "::ffff:10.1.2.4", "2001:db8::7", "110.1.2.3", "somewhere", "2001:0DB8::9")


async def add_any(store: Store, endpoint: Endpoint, rnd: random.Random) -> str:
    """Store a request of parts that the queries look for; its id."""
    part = rnd.choice(["bc", "订单", "订 单", "😀", "zK", "KK", "\u017f", "", "é", "x" * 20_000])
    value = rnd.choice([part, rnd.randrange(99)])
    body = json.dumps({"k": value}, ensure_ascii=rnd.random() < 0.5).encode() if rnd.random() < 0.6 else part.encode()
    if rnd.random() < 0.2:
        body = f"a={quote_plus(body)}&c=%2Bbc+d".encode()
    capture = await add(
        store,
        endpoint.id,
        body,
        target=f"/catch/s/{rnd.choice(['a', 'b', '%E8%AE%A2', 'x'])}",
        headers=(("X", part[:9]),) if rnd.random() < 0.3 else (),
        method=rnd.choice(["POST", "PUT"]),
        response_status=rnd.choice([200, 404]),
        complete=rnd.random() < 0.9,
        delivery=rnd.choice([DeliveryState.NONE, *DeliveryState]),
        source_address=rnd.choice(SOURCES),
        provider=rnd.choice([None, "incomplete", "Stripe"]),
        event=rnd.choice([None, "bc", "É"]),
    )
    return capture.id


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
async def test_found_with_the_index_and_without_is_the_same(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, small_index: None, seed: int
) -> None:
    """Through groups, after deletions, and with some that are not indexed yet."""
    monkeypatch.setattr(search_group, "MOST_ROWS", 12)
    monkeypatch.setattr(search_group, "SAMPLED", 4)
    monkeypatch.setattr(search_group, "MOST_SAMPLES", 10)
    monkeypatch.setattr("app.db.search.scan.FEW", 2_000 if seed == 1 else 10)
    rnd = random.Random(seed)
    ids = [await add_any(store, endpoint, rnd) for _ in range(150)]
    await indexed(store, 140)
    await store.captures.delete([*rnd.sample(ids, 20), *ids[32:64]])
    for _ in range(5):
        await add_any(store, endpoint, rnd)
    for text in QUERIES:
        by_index = await search(store, text, limit=1000)
        with monkeypatch.context() as patch:
            without_index(store, patch)
            patch.setattr("app.db.search.scan.MARKED_MAX", -1)
            by_scan = await search(store, text, limit=1000)
        assert by_index == by_scan, text


async def test_few_long_requests_are_indexed_at_once(
    store: Store, endpoint: Endpoint, small_index: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop waits for them, and they are in memory."""
    sizes: list[int] = []

    def watched(*given: Any, **named: Any) -> tuple[list[Any], bool]:
        batch, more = background_index.read_batch(*given, **named)
        sizes.append(len(batch))
        return batch, more

    for place in "sqlite.search", "postgres.search":
        monkeypatch.setattr(f"app.db.{place}.read_batch", watched)
    monkeypatch.setattr(background_index, "TEXT_AT_ONCE", 1_000)
    # In one commit: of those that come one by one, the last may wait.
    await asyncio.gather(*(add(store, endpoint.id, b"%d " % number * 300) for number in range(20)))
    await indexed(store, 20)
    assert set(sizes) <= {0, 1, 2}
    assert len(await search(store, "19")) == 1


async def test_what_came_on_a_clock_set_back_is_found_once(store: Store, endpoint: Endpoint, small_index: None) -> None:
    """While it is not indexed yet it lies below what is."""
    now = now_us()
    stored = [await add(store, endpoint.id, b"paid", received_at=now + number) for number in range(100)]
    await indexed(store, 90)
    stored += [await add(store, endpoint.id, b"paid", received_at=now - number) for number in range(1, 4)]
    found = [summary.id for summary in await search(store, "paid", limit=1000)]
    assert found == [capture.id for capture in sorted(stored, key=lambda one: one.received_at, reverse=True)]


async def test_a_status_that_changes_after_it_was_indexed_is_found(store: Store, small_index: None) -> None:
    """One target has failed, the other's response becomes the request's."""
    endpoint = await deliveries.two_targets(store)
    first, second = await deliveries.queued(store, endpoint)
    await deliveries.fail(store, second)
    await add_many(store, endpoint.id, 60)
    await indexed(store, 50)
    made = deliveries.attempt(first, status=502, failure=None, error=None)
    await deliveries.finish(store, first, DeliveryState.DELIVERED, made, responded=True)
    assert [one.seq for one in await search(store, "status:502")] == [1]
    assert [one.seq for one in await search(store, "-status:200")] == [1]
