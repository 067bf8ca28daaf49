"""A stored request that a search looks at; headers and body are taken apart only when they are asked for."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cached_property
from typing import Any

from app.core.model import Headers
from app.db.bulk import decode_headers
from app.db.search.text import body_text, haystack, plain_body

NO_JSON = object()
_decoder = json.JSONDecoder(parse_float=Decimal)
"""Made once: making it takes as long as reading a small body."""


class Candidate:
    """`told` holds what SQLite said about each filter of columns, by the place of the filter in the search text."""

    def __init__(
        self, *, target: str, content_type: str, source: str, headers: bytes, data: bytes | None, told: dict[int, bool]
    ) -> None:
        self.target, self.content_type, self.source, self.told = target, content_type, source, told
        self._headers, self._data = headers, data or b""

    @cached_property
    def headers(self) -> Headers:
        """As sent."""
        return decode_headers(self._headers)

    @cached_property
    def text(self) -> str:
        """What words are looked for in, case folded."""
        return haystack(self.target, self.headers, self.content_type, self._data)

    @cached_property
    def json(self) -> Any:
        """The body as JSON, `NO_JSON` when it is none (or longer than what is searched)."""
        if not self._data:
            return NO_JSON
        try:
            text = body_text(self.content_type, plain_body(self.headers, self._data))
            return _decoder.decode(text)
        except (ValueError, ArithmeticError, RecursionError):
            return NO_JSON
