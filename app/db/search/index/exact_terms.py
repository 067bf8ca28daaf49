"""Conditions that the index decides for certain, where what they look for has a term."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from app.core.search.query import HeaderTest, JsonTest, Network, Operator, Range
from app.db.search.index.index_query import AnyOf, HasTerm, IndexQuery, JsonPath, Number, Steps, TermContaining, any_of
from app.db.search.index.terms import (
    BETWEEN,
    MORE,
    UNKNOWN,
    folded,
    header_text,
    is_indexable,
    is_shared,
    term,
    word_term,
)
from app.db.search.json_values import as_number, rounded

NOBODY = AnyOf(parts=())
"""What no request has."""
_UNKNOWN = {"method": MORE, "provider": UNKNOWN, "event": UNKNOWN}


def column_terms(name: str, value: str) -> tuple[IndexQuery, IndexQuery] | None:
    """Those of which a column says this, and those where it is unknown; None for other columns."""
    if (name, value) == ("is", "incomplete"):
        return HasTerm(term=term("i", value)), NOBODY
    if name not in _UNKNOWN:
        return None
    # A method is compared as it is, the others as SQLite does without regard to case.
    written = value if name == "method" else folded(value)
    return HasTerm(term=term(name[0], written)) if is_indexable(value) else NOBODY, HasTerm(term=_UNKNOWN[name])


def status(condition: Range) -> IndexQuery:
    """Those that were answered so."""
    low = max(condition.low or 0, 100)
    high = 999 if condition.high is None else min(condition.high, 999)
    return AnyOf(parts=tuple(HasTerm(term=term("s", text)) for text in _statuses(low, high)))


def _statuses(low: int, high: int) -> Iterator[str]:
    for first in range(low // 100 * 100, high + 1, 100):
        if low <= first and first + 99 <= high:
            yield f"{first // 100}xx"
        else:
            yield from map(str, range(max(low, first), min(high, first + 99) + 1))


def size(condition: Range) -> IndexQuery:
    """Those whose bodies are so long."""
    low, high = (None if end is None else float(end) for end in (condition.low, condition.high))
    return Number(steps=(), low=low, high=high)


def other_size(condition: Range) -> IndexQuery:
    """All others."""
    shorter = Number(steps=(), high=float(condition.low), strictly=True) if condition.low is not None else None
    longer = Number(steps=(), low=float(condition.high), strictly=True) if condition.high is not None else None
    return AnyOf(parts=tuple(part for part in (shorter, longer) if part is not None))


def source(condition: Network) -> IndexQuery | None:
    """Those that came from an address, or from a network whose addresses begin alike."""
    if "/" not in condition.network:
        return HasTerm(term=term("a", condition.network))
    network = ipaddress.ip_network(condition.network)
    if network.version != 4 or network.prefixlen % 8 or not network.prefixlen:
        return None
    return HasTerm(term=term("f", start_of(network, network.prefixlen)))


def start_of(network: ipaddress.IPv4Network | ipaddress.IPv6Network, bits: int) -> str:
    """What all addresses begin with that have these first bits with the network, as far as there is a term of it."""
    if network.version == 6:
        first = int(network.network_address) >> 112
        return f"{first:x}:" if bits >= 16 and first else ""
    octets = str(network.network_address).split(".")
    return ".".join(octets) if bits == 32 else "".join(f"{octet}." for octet in octets[: bits // 8])


def header(test: HeaderTest) -> IndexQuery | None:
    """Those that have such a header."""
    if test.operator == "exists":
        return HasTerm(term=term("h", test.name.lower())) if is_indexable(test.name) else None
    whole = header_text(test.name, test.value)
    return HasTerm(term=term("v", whole)) if test.operator == "=" and is_shared(whole) else None


def text_at(test: JsonTest) -> IndexQuery | None:
    """Those with such a text at a path of their JSON."""
    is_term = test.operator == "=" and as_number(test.value) is None and is_shared(test.value)
    return JsonPath(steps=test.path, value=test.value) if is_term else None


def number_at(test: JsonTest) -> IndexQuery | None:
    """Those whose number at a path compares so. Where a number is rounded in the index, those too of which it may."""
    value = as_number(test.value)
    if value is None or test.operator in ("exists", "!=", "~"):
        return None
    number, exact = rounded(value)
    low = number if test.operator in ("=", ">", ">=") else None
    high = number if test.operator in ("=", "<", "<=") else None
    return Number(steps=test.path, low=low, high=high, strictly=exact and test.operator in ("<", ">"))


_OTHERS: dict[Operator, tuple[Operator, ...]] = {
    "=": ("<", ">"),
    "<": (">=",),
    "<=": (">",),
    ">": ("<=",),
    ">=": ("<",),
}


def other_number_at(test: JsonTest) -> IndexQuery | None:
    """Those that have another number at the path."""
    if as_number(test.value) is None:
        return None
    tests = [JsonTest(path=test.path, operator=other, value=test.value) for other in _OTHERS.get(test.operator, ())]
    return any_of(map(number_at, tests)) if tests else None


def single(steps: Steps) -> bool:
    """Whether there is at most one place for the path in a body, and it is written in one way."""
    return all(step is not None and step != "*" and not step.isdecimal() and is_indexable(step) for step in steps)


_SINGLE_KINDS = frozenset(term(kind, "") for kind in "mpe")


def one_of_a_kind(query: HasTerm | TermContaining | JsonPath) -> str | None:
    """The kind of a term of which no request has two; None for others."""
    if isinstance(query, JsonPath) and query.value is not None and single(query.steps):
        return BETWEEN.join(step for step in query.steps if step is not None)
    return query.term[0] if isinstance(query, HasTerm) and query.term[0] in _SINGLE_KINDS else None


def term_containing(kind: str, text: str) -> IndexQuery | None:
    """Those that have a term of a kind ("": words) in which the text stands."""
    written = text.casefold()
    # Terms of other kinds have no plain letters: what is a sign only is not looked for among words.
    if not is_indexable(written) or not any(sign.isalnum() for sign in written):
        return None
    return TermContaining(kind=kind, text=term(kind, written)[1:] if kind else word_term(written))
