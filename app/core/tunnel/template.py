"""Fills in `{name}` in what the catalogue says about a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

_NAME = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def names_in(text: str) -> list[str]:
    return _NAME.findall(text)


def is_complete(text: str, values: Mapping[str, str]) -> bool:
    """Whether each name in `text` has a value that is not empty."""
    return all(values.get(name) for name in names_in(text))


def filled(text: str, values: Mapping[str, str], quoted: Callable[[str], str] = str) -> str:
    """`text` with the values, each passed through `quoted`."""
    return _NAME.sub(lambda found: quoted(values.get(found[1], "")), text)


def arguments_of(
    given: Sequence[str | tuple[str, ...]], values: Mapping[str, str], words: Mapping[str, Sequence[str]]
) -> list[str]:
    """A command's arguments. One that is `{name}` alone and has `words` becomes those.

    A group is left out if a name in it has no value. The first of a group may be a condition that is no argument:
    `?name` (it has a value) or `!name` (it has none).
    """
    arguments: list[str] = []
    for one in given:
        group = (one,) if isinstance(one, str) else one
        if not isinstance(one, str):
            if group[0][:1] in ("?", "!"):
                if bool(values.get(group[0][1:])) is (group[0][0] == "!"):
                    continue
                group = group[1:]
            if not all(is_complete(text, values) for text in group):
                continue
        for text in group:
            found = _NAME.fullmatch(text)
            arguments.extend(words[found[1]] if found and found[1] in words else [filled(text, values)])
    return arguments
