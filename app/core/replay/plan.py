"""The sequence of sends that a replay makes: in which order, when, and with which faults. Constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from app.core.replay.spec import Faults, FixedRate, OriginalGaps, Pace, ReplaySpec


class PlannedSend(NamedTuple):
    """One send of a replay, or a dropped one.

    `position` counts from 0; a duplicate has the position of the send it follows. `copy` counts from 1 to `times`.
    `at_us` is when to send, in microseconds from the start (back to back: 0); it never decreases. `delay_ms` is to be
    added to it. `cut_off` is the part of the body to send before closing the connection, 0 to 1; None: all.
    """

    position: int
    capture_id: str
    copy: int
    at_us: int
    dropped: bool = False
    duplicate: bool = False
    swapped: bool = False
    delay_ms: int = 0
    cut_off: float | None = None


class _Item(NamedTuple):
    """One copy of a capture, and its faults."""

    capture_id: str
    copy: int
    drop: bool = False
    duplicate: bool = False
    swap: bool = False
    delay_ms: int = 0
    cut_off: float | None = None


def plan(source: Iterable[tuple[str, int]], spec: ReplaySpec) -> Iterator[PlannedSend]:
    """The sends for the `(capture_id, received_at)` of `source`, oldest first. Only one capture is read ahead.

    The faults of a capture's copy depend on the seed, its id and the copy's number alone. To continue, give what is
    left of the `source`: the faults are the same, but positions and times start at 0.
    """
    held: tuple[int, _Item, int] | None = None
    for position, item, at_us in _slots(source, spec):
        if held is None:
            if item.swap:
                held = position, item, at_us
            else:
                yield from _sends(position, item, at_us, swapped=False)
            continue
        first_position, first, first_at = held
        held = None
        yield from _sends(first_position, item, first_at, swapped=True)
        yield from _sends(position, first, at_us, swapped=True)
    if held is not None:
        yield from _sends(*held, swapped=False)


def _slots(source: Iterable[tuple[str, int]], spec: ReplaySpec) -> Iterator[tuple[int, _Item, int]]:
    """Each position with its time, and the item that is there before any swap."""
    when, harmed, position = _clock(spec.pace), spec.faults.enabled, 0
    for capture_id, received_at in source:
        for copy in range(1, spec.times + 1):
            item = _draw(spec.seed, capture_id, copy, spec.faults) if harmed else _Item(capture_id, copy)
            yield position, item, when(position, received_at)
            position += 1


def _sends(position: int, item: _Item, at_us: int, *, swapped: bool) -> Iterator[PlannedSend]:
    """A duplicate repeats the request unharmed."""
    sent = PlannedSend(position, item.capture_id, item.copy, at_us, dropped=item.drop, swapped=swapped)
    if item.drop:
        yield sent
        return
    harmed = item.delay_ms or item.cut_off is not None
    yield sent._replace(delay_ms=item.delay_ms, cut_off=item.cut_off) if harmed else sent
    if item.duplicate:
        yield sent._replace(duplicate=True)


def _draw(seed: int, capture_id: str, copy: int, faults: Faults) -> _Item:
    """Seven numbers from 0 to 1, the first 53 bits of each eight bytes of a hash: the same on every Python."""
    digest = blake2b(f"{seed}:{copy}:{capture_id}".encode(), digest_size=56).digest()
    drop, duplicate, swap, delay, how_late, cut_off, how_much = (
        (int.from_bytes(digest[at : at + 8], "big") >> 11) / 2**53 for at in range(0, 56, 8)
    )
    return _Item(
        capture_id,
        copy,
        drop=drop < faults.drop,
        duplicate=duplicate < faults.duplicate,
        swap=swap < faults.swap,
        delay_ms=min(int(how_late * faults.delay_max_ms) + 1, faults.delay_max_ms) if delay < faults.delay else 0,
        cut_off=how_much if cut_off < faults.cut_off else None,
    )


class _GapClock:
    """Measures from the first capture, or from the last one after a shortened gap, so that roundings do not add up."""

    def __init__(self, pace: OriginalGaps) -> None:
        self._scale = pace.scale
        self._longest = None if pace.longest_gap_ms is None else pace.longest_gap_ms * 1_000
        self._first_received: int | None = None
        self._first_at = self._last_at = 0

    def at(self, _: int, received_at: int) -> int:
        if self._first_received is None:
            self._first_received = received_at
        at_us = max(self._last_at, self._first_at + round((received_at - self._first_received) * self._scale))
        if self._longest is not None and at_us - self._last_at > self._longest:
            at_us = self._last_at + self._longest
            self._first_received, self._first_at = received_at, at_us
        self._last_at = at_us
        return at_us


def _clock(pace: Pace) -> Callable[[int, int], int]:
    """Takes a position and when its request was received, and returns when to send it."""
    if isinstance(pace, FixedRate):
        us_each = 1_000_000 / pace.per_second
        return lambda position, _: round(position * us_each)
    return _GapClock(pace).at if isinstance(pace, OriginalGaps) else lambda *_: 0
