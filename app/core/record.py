"""What all records share, and the fields of them that the user sets, each declared once beside its type: its name and
meaning for people, and its values. Rules, database, API and command line read the declarations. A field's choices and
default are those of its type.

Records are frozen: a change makes a new record. Times are whole microseconds since 1970-01-01 UTC. Headers are ordered
`(name, value)` pairs as sent, each byte as one Latin-1 character.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from app.core.sizes import exact_size

Headers = tuple[tuple[str, str], ...]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Base of the frozen records. They are values, so none is part of a cycle: looking for garbage among thousands of
    them took a tenth of the processor time of a capture."""


Unit = Literal["", "bytes", "days", "ms", "requests a second", "per second", "port", "file"]
"""Of a number, or what it counts; `port`: its digits are not grouped. `file`: the path of one."""


class Field(Record, frozen=True):
    """`low` and `high` bound a number, the characters of a text, or how many of a list, whose items are as
    `item_pattern`, and `item_help` in words. `choices` are words for those of the type, in its order. `secret` values
    are shown to nobody but the user.

    These are no bounds of msgspec's own, which refuses values without naming the field, and allows none on what may be
    None.
    """

    title: str
    help: str = ""
    low: float | None = None
    high: float | None = None
    unit: Unit = ""
    choices: tuple[str, ...] = ()
    secret: bool = False
    item_pattern: str = ""
    item_help: str = ""

    @property
    def bounds(self) -> tuple[int, int]:
        """Of a whole number that has them."""
        assert self.low is not None, self.title
        assert self.high is not None, self.title
        return int(self.low), int(self.high)

    def bounds_text(self) -> str:
        """`100 to 30,000 ms`, "" without bounds."""
        if self.low is None or self.high is None:
            return ""
        unit = "" if self.unit in ("bytes", "port") else f" {self.unit}"
        return f"{self._text(self.low)} to {self._text(self.high)}{unit}".rstrip()

    def error(self, value: Any) -> str | None:
        """Why `value` is not within the bounds."""
        if self.low is None or self.high is None or value is None:
            return None
        if isinstance(value, str):
            if len(value) < self.low:
                verb = "must have" if value else "is required:"
                return f"{self.title} {verb} {self.bounds_text()} characters."
            if len(value) > self.high:
                return f"{self.title} can have at most {self.high:,} characters, not {len(value):,}."
            return unstorable_error(self.title, value)
        if isinstance(value, tuple):
            return self._items_error(value)
        if self.low <= value <= self.high:
            return None
        return f"{self.title} must be {self.bounds_text()}, not {self._text(value)}."

    def _items_error(self, values: tuple[str, ...]) -> str | None:
        if len(values) > self.bounds[1]:
            return f"{self.title} can be at most {self.bounds[1]}, not {len(values)}."
        for one in values:
            if not re.fullmatch(self.item_pattern, one):
                return f"{self.title} must be {self.item_help}, not {one!r}."
        twice = next((one for one in values if values.count(one) > 1), None)
        return None if twice is None else f"{self.title}: {twice!r} is there twice."

    def _text(self, number: float) -> str:
        if self.unit == "bytes":
            size = int(number)
            return exact_size(size) if size > 0 else str(size)
        if self.unit == "port":
            return str(number)
        return f"{number:,}" if isinstance(number, int) else f"{number:,g}"


def unstorable_error(title: str, text: str) -> str | None:
    """A text has no NUL and no lone surrogates."""
    broken = next((char for char in text if char == "\0" or "\ud800" <= char <= "\udfff"), None)
    return None if broken is None else f"{title} cannot contain the character {broken!a}: it cannot be stored."


@cache
def fields_of(record: type[Record]) -> Mapping[str, Field]:
    """The declared fields of `record`, by name."""
    found = {}
    for name, kind in get_type_hints(record, include_extras=True).items():
        for one in getattr(kind, "__metadata__", ()):
            if isinstance(one, Field):
                found[name] = one
    return found


@cache
def types_of(record: type[Record]) -> Mapping[str, Any]:
    """The types of the fields of `record`, in order, without None."""
    hints = _hints(record)
    return {name: _without_none(hints[name]) for name in record.__struct_fields__}


@cache
def _hints(record: type[Record]) -> Mapping[str, Any]:
    return get_type_hints(record)


def declared_at(record: type[Record], path: str) -> tuple[type[Record], str]:
    """The record that declares the field at this path (`response.status`), and its name there."""
    *parents, name = path.split(".")
    for parent in parents:
        record = types_of(record)[parent]
    return record, name


def choices_of(record: type[Record], name: str) -> tuple[str, ...]:
    """The values that a field can have, () unless they are named by its type."""
    kind = types_of(record)[name]
    return get_args(kind) if get_origin(kind) is Literal else ()


def choice_words(record: type[Record], name: str) -> Mapping[str, str]:
    """The values that a field can have, each with its words."""
    return dict(zip(choices_of(record, name), fields_of(record)[name].choices, strict=True))


def nullable(record: type[Record], name: str) -> bool:
    """Whether a field may be None."""
    return type(None) in get_args(_hints(record)[name])


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in (Union, UnionType):
        return kind
    others = [one for one in get_args(kind) if one is not type(None)]
    return others[0] if len(others) == 1 else kind
