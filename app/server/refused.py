"""The newest refused requests, and why; kept in memory only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec.structs import replace

from app.core.events import Event, Refused
from app.core.model import Refusal
from app.core.text import shortened

KEPT = 1_000
TEXT_MAX = 2_000
"""The most characters kept of a method, a target or a reason, so that the list stays small whatever senders send."""


RAW_KEPT = 16 * 1024 * 1024
"""Bytes kept of all refused requests together."""


class RefusedLog:
    """The newest 1,000 refused requests. Each is published. The bytes of the oldest are dropped first."""

    def __init__(self, publish: Callable[[Event], None]) -> None:
        self._publish = publish
        self._refusals: deque[Refusal] = deque(maxlen=KEPT)
        self._raw: dict[int, bytes] = {}
        self._raw_bytes = 0
        self.total = 0
        """Refused requests since the start, including those no longer kept."""

    def add(self, refusal: Refusal, raw: bytes = b"") -> None:
        """Keep `refusal` (long texts shortened) and the request's received bytes `raw`; number and publish it."""
        self.total += 1
        refusal = replace(refusal, id=self.total, raw_size=len(raw))
        if max(len(refusal.method), len(refusal.target), len(refusal.reason)) > TEXT_MAX:
            texts = (refusal.method, refusal.target, refusal.reason)
            method, target, reason = (shortened(text, TEXT_MAX) for text in texts)
            refusal = replace(refusal, method=method, target=target, reason=reason)
        if len(self._refusals) == KEPT:
            self._drop(self._refusals[-1].id)
        self._refusals.appendleft(refusal)
        if raw:
            self._raw[refusal.id] = raw
            self._raw_bytes += len(raw)
            while self._raw_bytes > RAW_KEPT:
                self._drop(next(iter(self._raw)))
        self._publish(Refused(refusal=refusal))

    def raw(self, refusal_id: int) -> bytes | None:
        """A refused request as received; None when it is no longer kept."""
        return self._raw.get(refusal_id)

    def newest(self) -> list[Refusal]:
        """All that are kept, newest first."""
        return list(self._refusals)

    def clear(self) -> None:
        """Delete all that are kept; `total` continues."""
        self._refusals.clear()
        self._raw.clear()
        self._raw_bytes = 0

    def _drop(self, refusal_id: int) -> None:
        self._raw_bytes -= len(self._raw.pop(refusal_id, b""))
