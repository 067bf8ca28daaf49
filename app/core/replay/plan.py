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


def plan(source: Iterable[tuple[str, int]], spec: ReplaySpec) -> Iterator[PlannedSend]:
    """The sends for the `(capture_id, received_at)` of `source`, oldest first. Only one capture is read ahead.

    The faults of a capture's copy depend on the seed, its id and the copy's number alone. To continue, give what is
    left of the `source`: the faults are the same, but positions and times start at 0.
    """
    if not spec.faults.enabled:
        yield from _drawn(source, spec)
        return
    held: PlannedSend | None = None
    for send in _drawn(source, spec):
        if held is not None:
            yield from _made(send._replace(position=held.position, at_us=held.at_us, swapped=True))
            yield from _made(held._replace(position=send.position, at_us=send.at_us))
            held = None
        elif send.swapped:
            held = send
        else:
            yield from _made(send)
    if held is not None:
        yield from _made(held._replace(swapped=False))


def _drawn(source: Iterable[tuple[str, int]], spec: ReplaySpec) -> Iterator[PlannedSend]:
    """Each copy of a capture with its faults: one that is `swapped` has still to trade places with the next, a
    `duplicate` to be sent twice."""
    when, position = _clock(spec.pace), 0
    for capture_id, received_at in source:
        for copy in range(1, spec.times + 1):
            send = PlannedSend(position, capture_id, copy, when(position, received_at))
            yield _with_faults(send, spec.faults, spec.seed) if spec.faults.enabled else send
            position += 1


def _made(send: PlannedSend) -> Iterator[PlannedSend]:
    """A duplicate repeats the request unharmed; nothing else happens to a dropped one."""
    unharmed = send._replace(duplicate=False, delay_ms=0, cut_off=None)
    if send.dropped:
        yield unharmed
        return
    yield send._replace(duplicate=False)
    if send.duplicate:
        yield unharmed._replace(duplicate=True)


def _with_faults(send: PlannedSend, faults: Faults, seed: int) -> PlannedSend:
    """Seven numbers from 0 to 1, the first 53 bits of each eight bytes of a hash: the same on every Python."""
    digest = blake2b(f"{seed}:{send.copy}:{send.capture_id}".encode(), digest_size=56).digest()
    drop, duplicate, swap, delay, how_late, cut_off, how_much = (
        (int.from_bytes(digest[at : at + 8], "big") >> 11) / 2**53 for at in range(0, 56, 8)
    )
    return send._replace(
        dropped=drop < faults.drop,
        duplicate=duplicate < faults.duplicate,
        swapped=swap < faults.swap,
        delay_ms=min(int(how_late * faults.delay_max_ms) + 1, faults.delay_max_ms) if delay < faults.delay else 0,
        cut_off=how_much if cut_off < faults.cut_off else None,
    )


def _clock(pace: Pace) -> Callable[[int, int], int]:
    """Takes a position and when its request was received, and returns when to send it."""
    if isinstance(pace, FixedRate):
        us_each = 1_000_000 / pace.per_second
        return lambda position, _: round(position * us_each)
    return _gap_clock(pace) if isinstance(pace, OriginalGaps) else lambda *_: 0


def _gap_clock(pace: OriginalGaps) -> Callable[[int, int], int]:
    """Measures from the first capture, or from the last one after a shortened gap, so that roundings do not add up."""
    longest = None if pace.longest_gap_ms is None else pace.longest_gap_ms * 1_000
    first_received: int | None = None
    first_at = last_at = 0

    def at(_: int, received_at: int) -> int:
        nonlocal first_received, first_at, last_at
        if first_received is None:
            first_received = received_at
        at_us = max(last_at, first_at + round((received_at - first_received) * pace.scale))
        if longest is not None and at_us - last_at > longest:
            at_us = last_at + longest
            first_received, first_at = received_at, at_us
        last_at = at_us
        return at_us

    return at
