"""What the index is asked for a query. What it cannot tell is left out, so that nothing is lost."""

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
    Not,
    Range,
    Term,
    Word,
)
from app.db.search.index import exactly
from app.db.search.index.grams import LITERAL, plain
from app.db.search.index.leaves import BETWEEN
from app.db.search.index.tellable import tellable
from app.db.search.index.terms import MORE, term
from app.db.search.index.wanted import AnyOf, Has, Piece, Place, Wanted, Without, any_of, both


def wanted(terms: Iterable[Term]) -> Wanted | None:
    """What every request has that meets all `terms`; None when the index cannot tell."""
    return both(map(_having, terms))


def _having(asked: Term) -> Wanted | None:
    """What every request has that meets the term."""
    if isinstance(asked, Word):
        return _piece(asked.text)
    if isinstance(asked, Not):
        return _lacking(asked.term)
    if isinstance(asked, All):
        return both(map(_having, asked.terms))
    if isinstance(asked, Either):
        return any_of(map(_having, asked.terms))
    return _filter(asked)


def _lacking(asked: Term) -> Wanted | None:
    """What every request has that does not meet the term."""
    if isinstance(asked, Word):
        return _without(exactly.holds("", asked.text))
    if isinstance(asked, Not):
        return _having(asked.term)
    if isinstance(asked, All):
        return any_of(map(_lacking, asked.terms))
    if isinstance(asked, Either):
        return both(map(_lacking, asked.terms))
    return _other(asked)


def _filter(asked: Filter) -> Wanted | None:
    condition = asked.condition
    if isinstance(condition, Choice):
        named = exactly.named(asked.name, condition.value)
        return None if named is None else AnyOf(parts=named)
    if isinstance(condition, Range):
        return exactly.status(condition) if asked.name == "status" else exactly.size(condition)
    if isinstance(condition, Network):
        return _or_more(exactly.source(condition) or _network(condition))
    if isinstance(condition, Contains):
        return _piece(condition.text)
    if isinstance(condition, HeaderTest):
        return _header(condition)
    return _json(condition) if isinstance(condition, JsonTest) else None


def _other(asked: Filter) -> Wanted | None:
    """What all others have."""
    condition = asked.condition
    if isinstance(condition, Choice):
        named = exactly.named(asked.name, condition.value)
        return None if named is None else Without(part=named[0])
    if isinstance(condition, Range):
        return Without(part=exactly.status(condition)) if asked.name == "status" else exactly.other_size(condition)
    if isinstance(condition, Network):
        return _without(exactly.source(condition))
    if isinstance(condition, Contains):
        return _without(exactly.holds("/", condition.text))
    if isinstance(condition, HeaderTest):
        return _without(exactly.header(condition))
    return _other_json(condition) if isinstance(condition, JsonTest) else None


def _piece(text: str) -> Wanted | None:
    return Piece(text=plain(text.casefold())) if text else None


def _without(found: Wanted | None) -> Wanted | None:
    return None if found is None else Without(part=found)


def _or_more(found: Wanted | None) -> Wanted | None:
    return None if found is None else AnyOf(parts=(found, Has(term=MORE)))


def _network(asked: Network) -> Wanted | None:
    network = ipaddress.ip_network(asked.network)
    start = exactly.start_of(network, network.prefixlen)
    return Has(term=term("f", start)) if start else None


def _header(test: HeaderTest) -> Wanted | None:
    name = f"\n{test.name}:"
    exact = exactly.header(test)
    if exact is not None:
        return _or_more(exact)
    if test.operator == "=":
        return _piece(f"{name} {test.value.strip()}\n")
    return both(map(_piece, (name, test.value.strip())))


def _json(test: JsonTest) -> Wanted | None:
    if not all(step is None or tellable(step) for step in test.path):
        return Has(term=MORE)
    exact = exactly.text_at(test) or exactly.number_at(test)
    if exact is not None:
        return _or_more(exact)
    there = _or_more(Place(steps=test.path))
    if test.operator == "!=" and exactly.single(test.path):
        same = exactly.text_at(JsonTest(path=test.path, operator="=", value=test.value))
        return both([there, _without(same)])
    return both([there, *map(_piece, _texts(test))])


def _texts(test: JsonTest) -> list[str]:
    """What of a text stands in the body as it is; a number can be written in many ways."""
    if test.operator == "=" or (test.operator == "~" and not re.fullmatch(r"[0-9.e+-]*", test.value.casefold())):
        return LITERAL.findall(test.value.casefold())
    return []


def _other_json(test: JsonTest) -> Wanted | None:
    if not exactly.single(test.path):
        return None
    if test.operator == "exists":
        return Without(part=Place(steps=test.path))
    same = exactly.text_at(test)
    if same is not None:
        return Without(part=same)
    number = exactly.other_number_at(test)
    path = BETWEEN.join(step for step in test.path if step is not None)
    return None if number is None else AnyOf(parts=(number, Without(part=Has(term=term("n", path)))))
