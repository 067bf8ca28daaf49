"""Reads single values of a body without parsing the rest of it."""

from __future__ import annotations

from collections.abc import KeysView
from functools import lru_cache
from urllib.parse import parse_qsl, quote_plus

import msgspec

JSON, FORM = "json", "form"

_Level = dict[str, msgspec.Raw] | list[msgspec.Raw]
_level = msgspec.json.Decoder(_Level)
_scalar = msgspec.json.Decoder(str | int | float | bool | None)
_MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError)
_FIRST: KeysView[str] = {"0": None}.keys()
FIELDS_MAX = 200
"""No provider sends forms with more fields."""


@lru_cache(maxsize=256)
def kind_of(content_type: str) -> str | None:
    """`JSON` or `FORM`, by the content type."""
    text = content_type[:100].lower()
    if "json" in text:
        return JSON
    return FORM if text.startswith("application/x-www-form-urlencoded") else None


@lru_cache(maxsize=256)
def _encoded(names: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(quote_plus(name).encode() for name in names)


class Contents:
    """The beginning of a body. Malformed, truncated or other data counts as empty."""

    __slots__ = ("_data", "_fields", "_kind", "_top")

    def __init__(self, kind: str | None, data: bytes) -> None:
        self._kind, self._data = kind, data
        self._top: _Level | None = None
        self._fields: dict[str, str] | None = None

    def top(self) -> KeysView[str]:
        """The keys of a JSON body, or of its first line for NDJSON; for a list, only the first index."""
        if self._top is None:
            self._top = _open(self._data) if self._kind == JSON else {}
            if not self._top and self._kind == JSON and b"\n" in self._data:
                self._top = _open(self._data[: self._data.index(b"\n")])
        return self._top.keys() if isinstance(self._top, dict) else _FIRST

    def has(self, path: tuple[str, ...]) -> bool:
        """Whether a JSON body has this path."""
        return self._at(path) is not None

    def text(self, path: tuple[str, ...]) -> str | None:
        """The text or number at a path of a JSON body."""
        return _text(self._at(path))

    def has_fields(self, names: tuple[str, ...]) -> bool:
        # Searched as bytes first: parsing a form is the slowest part.
        if self._kind != FORM:
            return False
        for name in _encoded(names):
            if name not in self._data:
                return False
        fields = self._form()
        return all(name in fields for name in names)

    def form_text(self, longest: int) -> str:
        """A complete form as sent; empty if it is too long."""
        return self._data.decode("latin-1") if self._kind == FORM and len(self._data) <= longest else ""

    def field(self, path: tuple[str, ...]) -> str | None:
        """A field of the form, or the value at the rest of the path in the JSON of the field."""
        text = self._form().get(path[0]) if self._kind == FORM else None
        if text is None or len(path) == 1:
            return text
        return Contents(JSON, text.encode("utf-8", "replace")).text(path[1:])

    def _at(self, path: tuple[str, ...]) -> msgspec.Raw | None:
        self.top()
        level: _Level = self._top or {}
        found: msgspec.Raw | None = None
        for depth, key in enumerate(path):
            if depth:
                level = _open(found)
            found = _step(level, key)
            if found is None:
                return None
        return found

    def _form(self) -> dict[str, str]:
        if self._fields is None:
            try:
                pairs = parse_qsl(self._data.decode("latin-1"), max_num_fields=FIELDS_MAX)
            except ValueError:
                pairs = []
            self._fields = dict(reversed(pairs))
        return self._fields


def _open(data: bytes | msgspec.Raw | None) -> _Level:
    """An object or a list with undecoded values."""
    if data is None:
        return {}
    try:
        level: _Level = _level.decode(data)
    except _MALFORMED:
        return {}
    return level


def _step(level: _Level, key: str) -> msgspec.Raw | None:
    if isinstance(level, dict):
        return level.get(key)
    return level[int(key)] if key.isdecimal() and int(key) < len(level) else None


def _text(data: msgspec.Raw | None) -> str | None:
    if data is None:
        return None
    try:
        value = _scalar.decode(data)
    except _MALFORMED:
        return None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
