"""Turns a search into a query of the index. What the index cannot decide is left out, so that nothing is lost."""

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
from app.db.search.index.index_query import AnyOf, HasTerm, IndexQuery, JsonPath, Substring, Without, all_of, any_of
from app.db.search.index.terms import BETWEEN, MORE, is_indexable, term
from app.db.search.index.trigrams import LITERAL, plain


def to_index_query(terms: Iterable[Term]) -> IndexQuery | None:
    """What every request has that meets all `terms`; None when the index cannot decide."""
    return all_of(map(_having, terms))


def _having(node: Term) -> IndexQuery | None:
    """What every request has that meets the term."""
    if isinstance(node, Word):
        return _piece(node.text)
    if isinstance(node, Not):
        return _lacking(node.term)
    if isinstance(node, All):
        return all_of(map(_having, node.terms))
    if isinstance(node, Either):
        return any_of(map(_having, node.terms))
    return _filter(node)


def _lacking(node: Term) -> IndexQuery | None:
    """What every request has that does not meet the term."""
    if isinstance(node, Word):
        return _without(exact_terms.term_containing("", node.text))
    if isinstance(node, Not):
        return _having(node.term)
    if isinstance(node, All):
        return any_of(map(_lacking, node.terms))
    if isinstance(node, Either):
        return all_of(map(_lacking, node.terms))
    return _other(node)


def _filter(node: Filter) -> IndexQuery | None:
    condition = node.condition
    if isinstance(condition, Choice):
        named = exact_terms.column_terms(node.name, condition.value)
        return None if named is None else AnyOf(parts=named)
    if isinstance(condition, Range):
        return exact_terms.status(condition) if node.name == "status" else exact_terms.size(condition)
    if isinstance(condition, Network):
        return _or_more(exact_terms.source(condition) or _network(condition))
    if isinstance(condition, Contains):
        return _piece(condition.text)
    if isinstance(condition, HeaderTest):
        return _header(condition)
    return _json(condition) if isinstance(condition, JsonTest) else None


def _other(node: Filter) -> IndexQuery | None:
    """What all others have."""
    condition = node.condition
    if isinstance(condition, Choice):
        named = exact_terms.column_terms(node.name, condition.value)
        return None if named is None else Without(part=named[0])
    if isinstance(condition, Range):
        return (
            Without(part=exact_terms.status(condition)) if node.name == "status" else exact_terms.other_size(condition)
        )
    if isinstance(condition, Network):
        return _without(exact_terms.source(condition))
    if isinstance(condition, Contains):
        return _without(exact_terms.term_containing("/", condition.text))
    if isinstance(condition, HeaderTest):
        return _without(exact_terms.header(condition))
    return _other_json(condition) if isinstance(condition, JsonTest) else None


def _piece(text: str) -> IndexQuery | None:
    return Substring(text=plain(text.casefold())) if text else None


def _without(found: IndexQuery | None) -> IndexQuery | None:
    return None if found is None else Without(part=found)


def _or_more(found: IndexQuery | None) -> IndexQuery | None:
    return None if found is None else AnyOf(parts=(found, HasTerm(term=MORE)))


def _network(node: Network) -> IndexQuery | None:
    network = ipaddress.ip_network(node.network)
    start = exact_terms.start_of(network, network.prefixlen)
    return HasTerm(term=term("f", start)) if start else None


def _header(test: HeaderTest) -> IndexQuery | None:
    name = f"\n{test.name}:"
    exact = exact_terms.header(test)
    if exact is not None:
        return _or_more(exact)
    if test.operator == "=":
        return _piece(f"{name} {test.value.strip()}\n")
    return all_of(map(_piece, (name, test.value.strip())))


def _json(test: JsonTest) -> IndexQuery | None:
    if not all(step is None or is_indexable(step) for step in test.path):
        return HasTerm(term=MORE)
    exact = exact_terms.text_at(test) or exact_terms.number_at(test)
    if exact is not None:
        return _or_more(exact)
    there = _or_more(JsonPath(steps=test.path))
    if test.operator == "!=" and exact_terms.single(test.path):
        same = exact_terms.text_at(JsonTest(path=test.path, operator="=", value=test.value))
        return all_of([there, _without(same)])
    return all_of([there, *map(_piece, _texts(test))])


def _texts(test: JsonTest) -> list[str]:
    """What of a text stands in the body as it is; a number can be written in many ways."""
    if test.operator == "=" or (test.operator == "~" and not re.fullmatch(r"[0-9.e+-]*", test.value.casefold())):
        return LITERAL.findall(test.value.casefold())
    return []


def _other_json(test: JsonTest) -> IndexQuery | None:
    if not exact_terms.single(test.path):
        return None
    if test.operator == "exists":
        return Without(part=JsonPath(steps=test.path))
    same = exact_terms.text_at(test)
    if same is not None:
        return Without(part=same)
    number = exact_terms.other_number_at(test)
    path = BETWEEN.join(step for step in test.path if step is not None)
    return None if number is None else AnyOf(parts=(number, Without(part=HasTerm(term=term("n", path)))))
