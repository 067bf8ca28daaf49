"""Numbers captures, and says in which order they are stored.

A capture gets its number when the first part of its body is stored, or with its commit; so one whose body takes long is
stored after captures with higher numbers. Its ID is older still: it is made from the time the head arrived. Who follows
new captures needs their position in the order of storing. It is made from the number as long as numbers rise; a capture
that is late comes directly after the last one, and `capture_late` keeps its position.
"""

from __future__ import annotations

from itertools import count

STEP = 1 << 16
"""From the position of one number to that of the next: room for the captures that are late in between."""


class CaptureOrder:
    """All methods are called on the loop's thread, which passes captures to the writer in the order it stores them."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._last = 0
        """The position of the capture that was last passed to the writer."""
        self.newest = 0
        """The position of the newest stored capture; later ones have higher positions, also after a restart."""

    def load(self, newest: int, used: int) -> None:
        """Continue after the stored position `newest`; numbers up to `used` are taken."""
        last = max(newest // STEP, used)
        self.newest, self._last = newest, last * STEP
        self._numbers = count(last + 1)

    def next_number(self) -> int:
        """No number is used twice, even after a deletion."""
        return next(self._numbers)

    def next_position(self, seq: int) -> int:
        """The position of capture `seq`, which is about to be passed to the writer."""
        self._last = max(seq * STEP, self._last + 1)
        return self._last
