"""Keeps the rate limit of a target: requests leave one by one, each a part of a second after the one before."""

from __future__ import annotations

from collections.abc import Callable


class RateLimit:
    """`clock` counts seconds. A rate is requests a second, None: any number."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._next = clock, 0.0

    def wait_us(self, rate: float | None) -> int:
        """How long until the next request may leave."""
        if rate is None:
            return 0
        # The rate may have been lower when the last one left.
        return max(0, round(min(self._next - self._clock(), 1 / rate) * 1_000_000))

    def use(self, rate: float | None) -> None:
        """One leaves now. One that leaves a little late does not delay those after it."""
        if rate is not None:
            now = self._clock()
            late = 0 <= now - self._next < 1 / rate
            self._next = (self._next if late else now) + 1 / rate
