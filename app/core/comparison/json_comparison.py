"""Compares two JSON values member by member. Numbers are compared by value, the order of members does not matter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from app.core.comparison.difference import Difference, difference, quoted
from app.core.comparison.json_path import JsonPath, Key, PathMatcher, path_text
from app.core.text import count_of

MISSING = object()
"""In place of a value that one of two does not have."""


class _Pair(NamedTuple):
    """Values of the same place in both; `MISSING` where one has none."""

    keys: tuple[Key, ...]
    first: Any
    second: Any
    states: frozenset[tuple[int, int]]


def parse_json(text: str) -> Any:
    """ValueError if this is no JSON, or JSON that cannot be compared: a name twice, numbers out of bounds, too deep."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_members)
    except (ArithmeticError, RecursionError) as error:
        raise ValueError("This JSON cannot be compared") from error


def json_differences(first: Any, second: Any, ignored: Iterable[JsonPath]) -> Iterator[Difference]:
    """In the order of the first value, with what only the second has at the end of each object or array."""
    matcher = PathMatcher(ignored)
    waiting = [_Pair((), first, second, matcher.start)]
    while waiting:
        pair = waiting.pop()
        children = child_keys(pair.first, pair.second)
        if children is not None:
            below = ((key, states) for key in children if (states := matcher.below(pair.states, key)) is not None)
            pairs = [
                _Pair((*pair.keys, key), child(pair.first, key), child(pair.second, key), states)
                for key, states in below
            ]
            waiting.extend(reversed(pairs))
        elif not same_value(pair.first, pair.second):
            yield difference("body", path_text(pair.keys), _value_text(pair.first), _value_text(pair.second))


def child_keys(first: Any, second: Any) -> list[Key] | None:
    """The keys of either; None unless both are objects or both arrays."""
    if isinstance(first, dict) and isinstance(second, dict):
        return [*first, *(key for key in second if key not in first)]
    if isinstance(first, list) and isinstance(second, list):
        return list(range(max(len(first), len(second))))
    return None


def child(value: Any, key: Key) -> Any:
    """The value below `key`, or `MISSING`."""
    if isinstance(value, dict):
        return value.get(key, MISSING)
    return value[key] if isinstance(key, int) and key < len(value) else MISSING


def same_value(first: Any, second: Any) -> bool:
    """Python's `True == 1` is not JSON's."""
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


def _value_text(value: Any) -> str | None:
    if value is MISSING:
        return None
    if isinstance(value, dict):
        return f"{{{count_of(len(value), 'member')}}}"
    if isinstance(value, list):
        return f"[{count_of(len(value), 'item')}]"
    if isinstance(value, str):
        return quoted(value)
    return str(value)[:60] if isinstance(value, int | Decimal) and not isinstance(value, bool) else json.dumps(value)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("A name occurs twice")
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
