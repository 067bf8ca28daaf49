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
from app.db.search.index import exact_terms
from app.db.search.index.index_query import AnyOf, Has, JsonPlace, Piece, Wanted, Without, any_of, both
from app.db.search.index.terms import BETWEEN, MORE, tellable, term
from app.db.search.index.trigrams import LITERAL, plain


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
        return _without(exact_terms.holds("", asked.text))
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
        named = exact_terms.named(asked.name, condition.value)
        return None if named is None else AnyOf(parts=named)
    if isinstance(condition, Range):
        return exact_terms.status(condition) if asked.name == "status" else exact_terms.size(condition)
    if isinstance(condition, Network):
        return _or_more(exact_terms.source(condition) or _network(condition))
    if isinstance(condition, Contains):
        return _piece(condition.text)
    if isinstance(condition, HeaderTest):
        return _header(condition)
    return _json(condition) if isinstance(condition, JsonTest) else None


def _other(asked: Filter) -> Wanted | None:
    """What all others have."""
    condition = asked.condition
    if isinstance(condition, Choice):
        named = exact_terms.named(asked.name, condition.value)
        return None if named is None else Without(part=named[0])
    if isinstance(condition, Range):
        return (
            Without(part=exact_terms.status(condition)) if asked.name == "status" else exact_terms.other_size(condition)
        )
    if isinstance(condition, Network):
        return _without(exact_terms.source(condition))
    if isinstance(condition, Contains):
        return _without(exact_terms.holds("/", condition.text))
    if isinstance(condition, HeaderTest):
        return _without(exact_terms.header(condition))
    return _other_json(condition) if isinstance(condition, JsonTest) else None


def _piece(text: str) -> Wanted | None:
    return Piece(text=plain(text.casefold())) if text else None


def _without(found: Wanted | None) -> Wanted | None:
    return None if found is None else Without(part=found)


def _or_more(found: Wanted | None) -> Wanted | None:
    return None if found is None else AnyOf(parts=(found, Has(term=MORE)))


def _network(asked: Network) -> Wanted | None:
    network = ipaddress.ip_network(asked.network)
    start = exact_terms.start_of(network, network.prefixlen)
    return Has(term=term("f", start)) if start else None


def _header(test: HeaderTest) -> Wanted | None:
    name = f"\n{test.name}:"
    exact = exact_terms.header(test)
    if exact is not None:
        return _or_more(exact)
    if test.operator == "=":
        return _piece(f"{name} {test.value.strip()}\n")
    return both(map(_piece, (name, test.value.strip())))


def _json(test: JsonTest) -> Wanted | None:
    if not all(step is None or tellable(step) for step in test.path):
        return Has(term=MORE)
    exact = exact_terms.text_at(test) or exact_terms.number_at(test)
    if exact is not None:
        return _or_more(exact)
    there = _or_more(JsonPlace(steps=test.path))
    if test.operator == "!=" and exact_terms.single(test.path):
        same = exact_terms.text_at(JsonTest(path=test.path, operator="=", value=test.value))
        return both([there, _without(same)])
    return both([there, *map(_piece, _texts(test))])


def _texts(test: JsonTest) -> list[str]:
    """What of a text stands in the body as it is; a number can be written in many ways."""
    if test.operator == "=" or (test.operator == "~" and not re.fullmatch(r"[0-9.e+-]*", test.value.casefold())):
        return LITERAL.findall(test.value.casefold())
    return []


def _other_json(test: JsonTest) -> Wanted | None:
    if not exact_terms.single(test.path):
        return None
    if test.operator == "exists":
        return Without(part=JsonPlace(steps=test.path))
    same = exact_terms.text_at(test)
    if same is not None:
        return Without(part=same)
    number = exact_terms.other_number_at(test)
    path = BETWEEN.join(step for step in test.path if step is not None)
    return None if number is None else AnyOf(parts=(number, Without(part=Has(term=term("n", path)))))
