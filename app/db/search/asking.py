"""What the index is asked for a query. Whatever it cannot tell is left out, so that nothing is lost."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from app.core.search.query import (
    All,
    Choice,
    Contains,
    Either,
    Filter,
    HeaderTest,
    JsonTest,
    Network,
    Range,
    Term,
    Word,
)
from app.db.search.checks import as_number
from app.db.search.grams import ALWAYS, MOST_BITS, UNKNOWN, plain, size_bits, tag
from app.db.search.wanted import AnyOf, Piece, Wanted, any_of, both

SMALL, LARGE = 2**8, 2**14
"""Sizes in bytes below and above which there are few requests; to ask for those between leaves too few of them out."""
_LITERAL = re.compile(r"[ !#-.0-\[\]-~]+")
"""What JSON writes as it is, or as an escape that is looked at in every search: no quote, stroke or other alphabet."""


def wanted(terms: Iterable[Term]) -> Wanted | None:
    """What every request has that meets all `terms`; None when the index cannot tell."""
    found = both(map(_term, terms))
    return None if found is None else AnyOf(parts=(found, Piece(text=ALWAYS)))


def _term(term: Term) -> Wanted | None:
    if isinstance(term, Word):
        return _piece(term.text)
    if isinstance(term, All):
        return both(map(_term, term.terms))
    if isinstance(term, Either):
        return any_of(map(_term, term.terms))
    return _filter(term) if isinstance(term, Filter) else None


def _filter(term: Filter) -> Wanted | None:
    condition = term.condition
    if isinstance(condition, Choice):
        return _choice(term.name, condition.value)
    if isinstance(condition, Range):
        return _status(condition) if term.name == "status" else _size(condition) if term.name == "size" else None
    if isinstance(condition, Network):
        return _network(condition.network)
    if isinstance(condition, Contains):
        return _piece(condition.text)
    if isinstance(condition, HeaderTest):
        return _header(condition)
    return _json(condition) if isinstance(condition, JsonTest) else None


def _piece(text: str) -> Wanted | None:
    return Piece(text=plain(text.casefold())) if text else None


def _choice(name: str, value: str) -> Wanted | None:
    if name == "method":
        return Piece(text=tag("m", value))
    if name in ("provider", "event"):
        return AnyOf(parts=(Piece(text=tag(name[0], value)), Piece(text=UNKNOWN)))
    return Piece(text=tag("i", value)) if (name, value) == ("is", "incomplete") else None


def _status(condition: Range) -> Wanted | None:
    low, high = condition.low or 100, min(condition.high or 599, 599)
    if low == high:
        return Piece(text=tag("s", str(low)))
    return any_of(Piece(text=tag("s", f"{number}xx")) for number in range(low // 100, high // 100 + 1))


def _size(condition: Range) -> Wanted | None:
    low = condition.low or 0
    high = 2**MOST_BITS if condition.high is None else condition.high
    if low < LARGE and high > SMALL and size_bits(low) != size_bits(high):
        return None
    return any_of(Piece(text=tag("z", str(bits))) for bits in range(size_bits(low), size_bits(high) + 1))


def _network(text: str) -> Wanted | None:
    if "/" not in text:
        return Piece(text=tag("f", text))
    network = ipaddress.ip_network(text)
    if network.version == 4:
        octets = str(network.network_address).split(".")[: network.prefixlen // 8]
        start = "".join(f"{octet}." for octet in octets)
    else:
        first = int(network.network_address) >> 112
        start = f"{first:x}:" if network.prefixlen >= 16 and first else ""
    return Piece(text=tag("f", start, whole=False)) if start else None


def _header(test: HeaderTest) -> Wanted | None:
    name = f"\n{test.name}:"
    if test.operator == "=":
        return _piece(f"{name} {test.value.strip()}\n")
    return both(map(_piece, (name, test.value.strip())))


def _json(test: JsonTest) -> Wanted | None:
    keys = [step for step in test.path if step is not None and not step.isdecimal() and _LITERAL.fullmatch(step)]
    return both(_piece(text) for text in [*(f'"{key}"' for key in keys), *_json_value(test)])


def _json_value(test: JsonTest) -> list[str]:
    """What of a text stands in the body; a number can be written in many ways."""
    if test.operator == "=" and as_number(test.value) is None:
        quoted = _LITERAL.fullmatch(test.value) and test.value not in ("true", "false", "null")
        return [f'"{test.value}"'] if quoted else _LITERAL.findall(test.value.casefold())
    if test.operator == "~" and not re.fullmatch(r"[0-9.e+-]*", test.value.casefold()):
        return _LITERAL.findall(test.value.casefold())
    return []
