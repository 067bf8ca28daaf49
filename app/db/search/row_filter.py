"""Conditions that SQLite cannot evaluate, a function for each kind: headers, JSON, paths, networks, words."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from app.core.search.query import All, Choice, Contains, Either, Filter, HeaderTest, JsonTest, Network, Not, Term, Word
from app.db.search.candidate import NO_JSON, Candidate
from app.db.search.json_values import NAMES, as_number

VALUES_MAX = 10_000
"""How many values at a path with `*` are examined."""


def meets_all(candidate: Candidate, terms: Iterable[Term]) -> bool | None:
    """Whether the request meets all terms; None when that depends on the part of its body that was not unpacked."""
    return _all(meets(candidate, term) for term in terms)


def meets(candidate: Candidate, term: Term) -> bool | None:
    """The same for one term."""
    if isinstance(term, Word):
        return candidate.has(term.text.casefold())
    if isinstance(term, Not):
        return _opposite(meets(candidate, term.term))
    if isinstance(term, All):
        return meets_all(candidate, term.terms)
    if isinstance(term, Either):
        return _opposite(_all(_opposite(meets(candidate, part)) for part in term.terms))
    return _meets_filter(candidate, term)


def _all(results: Iterable[bool | None]) -> bool | None:
    result: bool | None = True
    for met in results:
        if met is False:
            return False
        result = result and met
    return result


def _opposite(met: bool | None) -> bool | None:
    return None if met is None else not met


def _meets_filter(candidate: Candidate, term: Filter) -> bool | None:
    result = candidate.column_results.get(term.start)
    if result is not None:
        return result
    condition = term.condition
    if isinstance(condition, HeaderTest):
        return _header(candidate, condition)
    if isinstance(condition, JsonTest):
        return _json(candidate, condition)
    if isinstance(condition, Contains):
        return condition.text.casefold() in candidate.target.partition("?")[0].casefold()
    if isinstance(condition, Choice):
        from app.db.search.redacted import RedactedCandidate  # start-up time: a tenth of it, with all that redacts

        assert isinstance(candidate, RedactedCandidate)
        return (candidate.shown_event or "").casefold() == condition.value.casefold()
    if isinstance(condition, Network):
        return _is_in_network(candidate.source, condition.network)
    raise TypeError(f"no filter function for {term.name}:")


def _header(candidate: Candidate, test: HeaderTest) -> bool:
    name, expected = test.name.lower(), test.value.strip().casefold()
    values = [value.strip().casefold() for key, value in candidate.headers if key.lower() == name]
    if test.operator == "exists":
        return bool(values)
    return expected in values if test.operator == "=" else any(expected in value for value in values)


@lru_cache(4096)
def _is_in_network(address: str, network: str) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found) in ipaddress.ip_network(network)


def _json(candidate: Candidate, test: JsonTest) -> bool | None:
    if candidate.json is NO_JSON:
        return False if candidate.is_whole else None
    values = _at(candidate.json, test.path, [VALUES_MAX])
    if test.operator == "exists":
        return next(values, NO_JSON) is not NO_JSON
    return any(_compare(value, test) for value in values)


def _at(value: Any, path: tuple[str | None, ...], remaining: list[int]) -> Iterator[Any]:
    """The values at `path`; at most `remaining[0]` steps are taken."""
    remaining[0] -= 1
    if remaining[0] < 0:
        return
    if not path:
        yield value
        return
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        inner = list(value.values()) if step is None else [value[step]] if step in value else []
    elif isinstance(value, list):
        number = int(step) if step is not None and step.isascii() and step.isdigit() and len(step) < 10 else -1
        inner = value if step is None else value[number : number + 1] if number >= 0 else []
    else:
        inner = []
    for one in inner:
        yield from _at(one, rest, remaining)


_BY_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
}


def _compare(value: Any, test: JsonTest) -> bool:
    if isinstance(value, dict | list):
        return False
    if test.operator == "~":
        text = NAMES[value] if value is None or isinstance(value, bool) else str(value)
        return test.value.casefold() in text.casefold()
    compare = _BY_ORDER[test.operator]
    if value is None or isinstance(value, bool):
        return test.operator in ("=", "!=") and compare(NAMES[value], test.value)
    number, expected = as_number(value), as_number(test.value)
    if number is not None and expected is not None:
        return compare(number, expected)
    if isinstance(value, str) and (expected is None or test.operator in ("=", "!=")):
        return compare(value, test.value)
    return test.operator == "!="
