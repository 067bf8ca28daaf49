"""The bars being selected by drag or keys, stored by their times because the bars move on."""

from __future__ import annotations

from app.core.activity import Axis


class Marks:
    """The range from the first bar to the current one; empty at first."""

    def __init__(self) -> None:
        self._anchor: int | None = None
        self._cursor: int | None = None

    def __bool__(self) -> bool:
        return self._cursor is not None

    def clear(self) -> None:
        self._anchor = self._cursor = None

    def put(self, axis: Axis, bar: int, *, extend: bool) -> None:
        """Mark this bar, or with `extend` all bars from the first one on."""
        self._cursor = axis.edges[bar]
        if self._anchor is None or not extend:
            self._anchor = self._cursor

    def move(self, axis: Axis, step: int, *, extend: bool) -> None:
        """Move by this many bars, within the chart; the first single step goes to the newest bar."""
        last = axis.bars - 1
        now = axis.bar_of(self._cursor) if self._cursor is not None else None
        target = last if now is None and abs(step) == 1 else (last if now is None else now) + step
        self.put(axis, max(0, min(last, target)), extend=extend)

    def bars(self, axis: Axis) -> tuple[int, int] | None:
        """The first and the last marked bar; None if nothing is marked, or if an end has moved out of the chart."""
        ends = [axis.bar_of(at) for at in (self._anchor, self._cursor) if at is not None]
        found = [bar for bar in ends if bar is not None]
        return (min(found), max(found)) if len(found) == 2 else None
