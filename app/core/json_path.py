"""Paths that select values in JSON: `data.*.id`, `items[0].id`, `$..timestamp`, `data["odd name"]`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache

_STEP = re.compile(r"""\[(?P<index>\*|[0-9]{1,9})\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]|\.(?P<name>\*|[^.\[\]*"'\s]+)""")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

Key = str | int
"""A member's name, or an item's index."""
_ANY = "any"
_DEEPER = "deeper"
_Step = tuple[str, Key]
"""`("key", name or index)`, `("any", "")` for `*`, or `("deeper", "")` for `..`. The name `0` is item 0, too."""


def json_path_error(text: str) -> str | None:
    """What is wrong with a path, in a sentence; None if it is valid."""
    try:
        _parsed(text)
    except ValueError as error:
        return str(error)
    return None


class PathMatcher:
    """Follows several paths down a value at once, so that each step of the walk costs the same at any depth. Invalid
    ones select nothing."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._all = tuple(_parsed(path) for path in paths if json_path_error(path) is None)
        self.start = frozenset((number, 0) for number in range(len(self._all)))

    def below(self, states: frozenset[tuple[int, int]], key: Key) -> frozenset[tuple[int, int]] | None:
        """The states of a child; None if a path selects it."""
        found: set[tuple[int, int]] = set()
        for number, position in states:
            steps = self._all[number]
            if steps[position][0] == _DEEPER:
                found.add((number, position))
                position += 1  # noqa: PLW2901 - `..` also stands for no level at all
            kind, wanted = steps[position]
            if kind == _ANY or wanted in (key, str(key)):
                if position + 1 == len(steps):
                    return None
                found.add((number, position + 1))
        return frozenset(found)


def path_text(keys: Iterable[Key]) -> str:
    """`data.items[0]["odd name"]`; `$` for the whole value."""
    parts = []
    for key in keys:
        if isinstance(key, int):
            parts.append(f"[{key}]")
        else:
            parts.append(f".{key}" if _PLAIN.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]")
    return "".join(parts).removeprefix(".") or "$"


@lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[_Step, ...]:
    """ValueError says what is wrong with it, in a sentence."""
    rest = text.strip()
    if rest == "$" or rest.startswith(("$.", "$[")):
        rest = rest[1:]
    elif rest and rest[0] not in ".[":
        rest = f".{rest}"
    steps: list[_Step] = []
    while rest:
        if rest.startswith(".."):
            steps.append((_DEEPER, ""))
            rest = rest[2:] if rest.startswith("..[") else rest[1:]
        step = _STEP.match(rest)
        if step is None:
            raise _invalid(text, rest)
        if "*" in (step["index"], step["name"]):
            steps.append((_ANY, ""))
        elif step["index"]:
            steps.append(("key", int(step["index"])))
        else:
            steps.append(("key", step["name"] or _unquoted(step["quoted"], text)))
        rest = rest[step.end() :]
        if rest and rest[0] not in ".[":
            raise _invalid(text, rest)
    if not steps:
        raise ValueError("A JSON path names a value, such as data.id, data.*.id or $..timestamp.")
    return tuple(steps)


def _unquoted(literal: str, text: str) -> str:
    try:
        return str(json.loads(literal))
    except ValueError:
        raise _invalid(text, literal) from None


def _invalid(text: str, rest: str) -> ValueError:
    return ValueError(f"{text[:80]!r} is not a JSON path: {rest[:20]!r} is not understood.")
