"""Queries of an index: texts, terms and numbers that a request has or lacks, combined by AND and OR; and a search as
such a query. Conditions that an index cannot decide are left out, so no match is lost.

Conditions that have a term in the index are decided exactly, and so can be negated.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator

from app.core.record import Record
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
    Operator,
    Range,
    Term,
    Word,
)
from app.db.search.candidate import as_number, rounded
from app.db.search.index_terms import (
    BETWEEN,
    ITEM,
    MORE,
    OPEN,
    UNKNOWN,
    Steps,
    folded,
    header_text,
    is_indexable,
    is_shared,
    is_single,
    json_term,
    path_of,
    plain,
    term,
)


class Substring(Record, frozen=True):
    """A text that occurs in the request, as the index writes it. Its result may include other requests."""

    text: str


class HasTerm(Record, frozen=True):
    term: str


class TermContaining(Record, frozen=True):
    """A text that occurs in one of the request's terms of a kind ("": in a word). Its result may miss some requests."""

    kind: str
    text: str


class JsonPath(Record, frozen=True):
    """A path in the request's JSON body; with `value`, one with this text at it."""

    steps: Steps
    value: str | None = None


class Number(Record, frozen=True):
    """A number from `low` to `high`, both inclusive unless `strictly`, at a path; () is the size of the body."""

    steps: Steps
    low: float | None = None
    high: float | None = None
    strictly: bool = False


class AllOf(Record, frozen=True):
    parts: tuple[IndexQuery, ...]


class AnyOf(Record, frozen=True):
    parts: tuple[IndexQuery, ...]


class Without(Record, frozen=True):
    """The part must not match. Only parts that the index decides exactly can be negated."""

    part: IndexQuery


OfTerms = HasTerm | TermContaining | JsonPath
IndexQuery = Substring | OfTerms | Number | AllOf | AnyOf | Without


def all_of(parts: Iterable[IndexQuery | None]) -> IndexQuery | None:
    """The parts that the index can decide, all required; None when there are none."""
    known = [part for part in parts if part is not None]
    flat = tuple(inner for part in known for inner in (part.parts if isinstance(part, AllOf) else (part,)))
    return (flat[0] if len(flat) == 1 else AllOf(parts=flat)) if flat else None


def any_of(parts: Iterable[IndexQuery | None]) -> IndexQuery | None:
    """Any of the parts; None when the index cannot decide one of them."""
    known = tuple(parts)
    parts_known = tuple(part for part in known if part is not None)
    return AnyOf(parts=parts_known) if parts_known and len(parts_known) == len(known) else None


def to_index_query(terms: Iterable[Term]) -> IndexQuery | None:
    """A query that every request meeting all `terms` matches; None when the index cannot decide."""
    return all_of(_decided(term, holds=True) for term in terms)


def _decided(node: Term, *, holds: bool) -> IndexQuery | None:
    """A query that every request matches for which the term `holds`, or does not."""
    if isinstance(node, Not):
        return _decided(node.term, holds=not holds)
    if isinstance(node, All | Either):
        join = all_of if isinstance(node, All) is holds else any_of
        return join(_decided(part, holds=holds) for part in node.terms)
    if isinstance(node, Word):
        return _text(node.text) if holds else _without(_term_containing("", node.text))
    return _filter(node)[0 if holds else 1]


def _filter(node: Filter) -> tuple[IndexQuery | None, IndexQuery | None]:
    """The queries for requests that meet the condition, and for those that do not."""
    condition = node.condition
    if isinstance(condition, Choice):
        named = _column_terms(node.name, condition.value)
        return (None, None) if named is None else (AnyOf(parts=named), Without(part=named[0]))
    if isinstance(condition, Range):
        if node.name == "size":
            return _size(condition), _other_size(condition)
        status = _status(condition)
        return AnyOf(parts=(status, HasTerm(term=OPEN))), Without(part=status)
    if isinstance(condition, Network):
        source = _source(condition)
        return _or_more(source or _network(condition)), _without(source)
    if isinstance(condition, Contains):
        return _text(condition.text), _without(_term_containing("/", condition.text))
    if isinstance(condition, HeaderTest):
        exact = _exact_header(condition)
        return _or_more(exact) or _header(condition), _without(exact)
    if isinstance(condition, JsonTest):
        return _json(condition), _not_json(condition)
    return None, None


def _text(text: str) -> IndexQuery | None:
    return Substring(text=plain(text.casefold())) if text else None


def _without(found: IndexQuery | None) -> IndexQuery | None:
    return None if found is None else Without(part=found)


def _or_more(found: IndexQuery | None) -> IndexQuery | None:
    return None if found is None else AnyOf(parts=(found, HasTerm(term=MORE)))


def _network(node: Network) -> IndexQuery | None:
    network = ipaddress.ip_network(node.network)
    start = _network_start(network, network.prefixlen)
    return HasTerm(term=term("f", start)) if start else None


def _header(test: HeaderTest) -> IndexQuery | None:
    """Requests with the texts of such a header."""
    name = f"\n{test.name}:"
    if test.operator == "=":
        return _text(f"{name} {test.value.strip()}\n")
    return all_of(map(_text, (name, test.value.strip())))


def _json(test: JsonTest) -> IndexQuery | None:
    if not all(step is None or is_indexable(step) for step in test.path):
        return HasTerm(term=MORE)
    exact = _text_at(test) or _number_at(test)
    if exact is not None:
        return _or_more(exact)
    there = _or_more(JsonPath(steps=test.path))
    if test.operator == "!=" and is_single(test.path):
        same = _text_at(JsonTest(path=test.path, operator="=", value=test.value))
        return all_of([there, _without(same)])
    return all_of([there, *map(_text, literal_pieces(test))])


LITERAL = re.compile(r"[ !#-%(-*,\-.0-;?-\[\]-~]+")
"""Characters that JSON writes literally, or as an escape that is examined in every search: no quotes or backslashes, no
other alphabets, and none of the characters that many programs escape for HTML pages."""


def literal_pieces(test: JsonTest) -> list[str]:
    """The pieces of a text that occur literally in the body; a number can be written in many ways."""
    if test.operator == "=" or (test.operator == "~" and not re.fullmatch(r"[0-9.e+-]*", test.value.casefold())):
        return LITERAL.findall(test.value.casefold())
    return []


def _not_json(test: JsonTest) -> IndexQuery | None:
    if not is_single(test.path):
        return None
    if test.operator == "exists":
        return Without(part=JsonPath(steps=test.path))
    same = _text_at(test)
    if same is not None:
        return Without(part=same)
    number = _other_number_at(test)
    return None if number is None else AnyOf(parts=(number, Without(part=HasTerm(term=term("n", path_of(test.path))))))


_NO_REQUEST = AnyOf(parts=())
"""A query that no request matches."""
_UNKNOWN = {"method": MORE, "provider": UNKNOWN, "event": UNKNOWN}


def _column_terms(name: str, value: str) -> tuple[IndexQuery, IndexQuery] | None:
    """Requests with this value in a column, and those where it is unknown; None for other columns."""
    if (name, value) == ("is", "incomplete"):
        return HasTerm(term=term("i", value)), _NO_REQUEST
    if name not in _UNKNOWN:
        return None
    # A method is compared exactly, the others as SQLite does without regard to case.
    written = value if name == "method" else folded(value)
    return HasTerm(term=term(name[0], written)) if is_indexable(value) else _NO_REQUEST, HasTerm(term=_UNKNOWN[name])


def _status(condition: Range) -> IndexQuery:
    """Requests whose response has such a status."""
    low = max(condition.low or 0, 100)
    high = 999 if condition.high is None else min(condition.high, 999)
    return AnyOf(parts=tuple(HasTerm(term=term("s", text)) for text in _statuses(low, high)))


def _statuses(low: int, high: int) -> Iterator[str]:
    for first in range(low // 100 * 100, high + 1, 100):
        if low <= first and first + 99 <= high:
            yield f"{first // 100}xx"
        else:
            yield from map(str, range(max(low, first), min(high, first + 99) + 1))


def _size(condition: Range) -> IndexQuery:
    """Requests whose bodies are so long."""
    low, high = (None if end is None else float(end) for end in (condition.low, condition.high))
    return Number(steps=(), low=low, high=high)


def _other_size(condition: Range) -> IndexQuery:
    """Requests whose bodies are not so long."""
    shorter = Number(steps=(), high=float(condition.low), strictly=True) if condition.low is not None else None
    longer = Number(steps=(), low=float(condition.high), strictly=True) if condition.high is not None else None
    return AnyOf(parts=tuple(part for part in (shorter, longer) if part is not None))


def _source(condition: Network) -> IndexQuery | None:
    """Requests from an address, or from a network whose addresses share a prefix."""
    if "/" not in condition.network:
        return HasTerm(term=term("a", condition.network))
    network = ipaddress.ip_network(condition.network)
    if network.version != 4 or network.prefixlen % 8 or not network.prefixlen:
        return None
    return HasTerm(term=term("f", _network_start(network, network.prefixlen)))


def _network_start(network: ipaddress.IPv4Network | ipaddress.IPv6Network, bits: int) -> str:
    """The prefix of all addresses that share these first bits with the network, as far as there are terms for it."""
    if network.version == 6:
        first = int(network.network_address) >> 112
        return f"{first:x}:" if bits >= 16 and first else ""
    octets = str(network.network_address).split(".")
    return ".".join(octets) if bits == 32 else "".join(f"{octet}." for octet in octets[: bits // 8])


def _exact_header(test: HeaderTest) -> IndexQuery | None:
    """Requests with such a header."""
    if test.operator == "exists":
        return HasTerm(term=term("h", test.name.lower())) if is_indexable(test.name) else None
    text = header_text(test.name, test.value)
    return HasTerm(term=term("v", text)) if test.operator == "=" and is_shared(text) else None


def _text_at(test: JsonTest) -> IndexQuery | None:
    """Requests with such a text at a path of their JSON."""
    is_term = test.operator == "=" and as_number(test.value) is None and is_shared(test.value)
    return JsonPath(steps=test.path, value=test.value) if is_term else None


def _number_at(test: JsonTest) -> IndexQuery | None:
    """Requests whose number at a path compares so, and those whose rounded number may."""
    value = as_number(test.value)
    if value is None or test.operator in ("exists", "!=", "~"):
        return None
    number, exact = rounded(value)
    low = number if test.operator in ("=", ">", ">=") else None
    high = number if test.operator in ("=", "<", "<=") else None
    return Number(steps=test.path, low=low, high=high, strictly=exact and test.operator in ("<", ">"))


_OTHERS: dict[Operator, tuple[Operator, ...]] = {
    "=": ("<", ">"),
    "!=": ("=",),
    "<": (">=",),
    "<=": (">",),
    ">": ("<=",),
    ">=": ("<",),
}


def _other_number_at(test: JsonTest) -> IndexQuery | None:
    """Requests with another number at the path."""
    if as_number(test.value) is None:
        return None
    tests = [JsonTest(path=test.path, operator=other, value=test.value) for other in _OTHERS.get(test.operator, ())]
    return any_of(map(_number_at, tests)) if tests else None


def _term_containing(kind: str, text: str) -> IndexQuery | None:
    """Requests with a term of a kind ("": words) that contains the text."""
    written = text.casefold()
    # Terms of other kinds have no ASCII letters, so punctuation alone is not looked for among words.
    if not is_indexable(written) or not any(sign.isalnum() for sign in written):
        return None
    return TermContaining(kind=kind, text=written)


SIZE = 0
"""Stands for the size of the body in place of a path."""


def fits(path: str, steps: Steps) -> bool:
    """Whether the steps may lead to the path."""
    examined = path.split(BETWEEN)
    return len(examined) == len(steps) and all(
        step is None or step == found or (found == ITEM and step.isdecimal())
        for step, found in zip(steps, examined, strict=True)
    )


def terms_at(paths: Iterable[str], value: str | None) -> list[str]:
    """The terms of these paths, or of a text at one of them."""
    return [term("j", path) if value is None else json_term(path, value) for path in paths]


def all_have_one_of(
    parts: Iterable[IndexQuery], written: Callable[[OfTerms], list[str] | None], all_have: Callable[..., bool]
) -> bool:
    """Whether every request is known to have one of these: to find those without, a group's index goes through all its
    requests. `written`: the terms of which each that matches a part has one; `all_have`: whether each request has one
    of some terms, of which no request has two."""
    alike: dict[str, list[str]] = {}
    for part in _without_any_of(parts):
        terms = written(part) or []
        if any(map(all_have, terms)):
            return True
        kind = _one_of_a_kind(part)
        if kind is not None:
            alike.setdefault(kind, []).extend(terms)
    return any(all_have(*terms) for terms in alike.values())


def _without_any_of(parts: Iterable[IndexQuery]) -> Iterator[OfTerms]:
    """The parts, with each AnyOf replaced by its parts."""
    for part in parts:
        if isinstance(part, AnyOf):
            yield from _without_any_of(part.parts)
        elif isinstance(part, OfTerms):
            yield part


_SINGLE_KINDS = frozenset(term(kind, "") for kind in "mpe")
_STATUS_CLASSES = frozenset(term("s", f"{first}xx") for first in range(1, 10))


def _one_of_a_kind(query: OfTerms) -> str | None:
    """The kind of a term of which no request has two; None for others."""
    if isinstance(query, JsonPath) and query.value is not None and is_single(query.steps):
        return path_of(query.steps)
    if not isinstance(query, HasTerm):
        return None
    return query.term[0] if query.term[0] in _SINGLE_KINDS or query.term in _STATUS_CLASSES else None
