"""Values in JSON by their paths, as in Hookline's search: `data.items[0].id`, `data["odd name"]`."""

from __future__ import annotations

import json
import re
from typing import Any

_STEP = re.compile(r"""\.?(?P<name>[^.\[\]"]+)|\[(?P<index>[0-9]+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]""")


class _Missing:
    def __repr__(self) -> str:
        return "nothing there"


MISSING = _Missing()
"""Stands for a value that is not there."""


def steps_of(path: str) -> tuple[str | int, ...]:
    """The names and indexes in a path; ValueError if it is none. `$` is the whole value."""
    steps: list[str | int] = []
    rest = path.removeprefix("$")
    while rest:
        found = _STEP.match(rest)
        if found is None:
            text = f'{path!r} is no JSON path. Write names and indexes, such as data.items[0].id or data["odd name"].'
            raise ValueError(text)
        if found["index"]:
            steps.append(int(found["index"]))
        else:
            steps.append(json.loads(found["quoted"]) if found["quoted"] else found["name"])
        rest = rest[found.end() :]
    return tuple(steps)


def value_at(value: Any, path: str) -> Any:
    """The value at `path`, `MISSING` if there is none."""
    for step in steps_of(path):
        if isinstance(value, dict) and isinstance(step, str) and step in value:
            value = value[step]
        elif isinstance(value, list) and re.fullmatch("[0-9]{1,9}", str(step)) and int(step) < len(value):
            value = value[int(step)]
        else:
            return MISSING
    return value
