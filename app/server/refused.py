"""The newest requests that were not captured, and why; kept in memory only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from msgspec.structs import replace

from app.core.events import Event, Refused
from app.core.model import Refusal

KEPT = 1_000
TEXT_MAX = 2_000
"""Characters kept of a method, a target or a reason, so that the list stays small whatever senders send."""


class RefusedLog:
    """A list of at most 1,000 refusals. Each is published as it comes."""

    def __init__(self, publish: Callable[[Event], None]) -> None:
        self._publish = publish
        self._refusals: deque[Refusal] = deque(maxlen=KEPT)
        self.total = 0
        """Refusals since the start, also those no longer kept."""

    def add(self, refusal: Refusal) -> None:
        """Keep `refusal` (long texts cut short) and tell of it."""
        if max(len(refusal.method), len(refusal.target), len(refusal.reason)) > TEXT_MAX:
            method, target, reason = map(_cut, (refusal.method, refusal.target, refusal.reason))
            refusal = replace(refusal, method=method, target=target, reason=reason)
        self._refusals.appendleft(refusal)
        self.total += 1
        self._publish(Refused(refusal=refusal))

    def newest(self) -> list[Refusal]:
        """All that are kept, newest first."""
        return list(self._refusals)

    def clear(self) -> None:
        """Forget all that are kept; `total` goes on counting."""
        self._refusals.clear()


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_MAX else text[: TEXT_MAX - 1] + "…"
