"""What a replay is asked to do, what of that is allowed, how far it is, and the sends that it makes: in which order,
when, and with which faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, NamedTuple

from msgspec.structs import replace

from app.core.delivery import RequestEdit
from app.core.model import DeliveryState
from app.core.raw_request import FRAMING
from app.core.record import Field, Record
from app.core.rules import FieldError, field_errors, forward_url_error, headers_error, slug_error
from app.core.target import full_url

CONCURRENCY_MAX = 64
TIMES_MAX = 100_000
REPLAYS_KEPT = 200
"""The newest; the deliveries of others stay as long as their requests."""
RATE_MIN, RATE_MAX = 0.001, 10_000
SCALE_MAX = 1_000
GAP_MAX_MS, DELAY_MAX_MS = 24 * 3_600_000, 600_000
SEED_MAX = 2**63 - 1
"""The store's integers are signed and have 64 bits."""


class ChosenRequests(Record, frozen=True, tag="ids"):
    """These requests."""

    ids: tuple[str, ...]


class MatchingRequests(Record, frozen=True, tag="query"):
    """All requests of an endpoint (None: of all endpoints) that match `query`, in the language of the filter field.

    `received_after` is the first microsecond included, `received_before` the first one that is not; None: no limit.
    """

    endpoint_id: int | None = None
    query: str = ""
    received_after: int | None = None
    received_before: int | None = None

    @property
    def narrowed(self) -> bool:
        """Whether these are only some of the endpoint's."""
        return bool(self.query.strip()) or self.received_after is not None or self.received_before is not None


ReplaySource = ChosenRequests | MatchingRequests


class OwnTargets(Record, frozen=True, tag="targets"):
    """To the active targets of each request's endpoint, or to `target_id` alone."""

    target_id: int | None = None


class OneUrl(Record, frozen=True, tag="url"):
    """To this URL."""

    url: str


class OtherEndpoint(Record, frozen=True, tag="endpoint"):
    """To another endpoint of Hookline."""

    slug: str


ReplayDestination = OwnTargets | OneUrl | OtherEndpoint


class BackToBack(Record, frozen=True, tag="back_to_back"):
    """Each as soon as a connection is free."""


class FixedRate(Record, frozen=True, tag="rate"):
    """Evenly spaced."""

    per_second: Annotated[float, Field(title="Rate", low=RATE_MIN, high=RATE_MAX, unit="per second")]


class OriginalGaps(Record, frozen=True, tag="gaps"):
    """With the gaps they were received with.

    `scale` multiplies every gap: 0.5 is twice as fast. No scaled gap is longer than `longest_gap_ms` (None: no limit).
    """

    scale: Annotated[float, Field(title="Scale", low=0, high=SCALE_MAX)] = 1.0
    longest_gap_ms: Annotated[int | None, Field(title="Longest gap", low=0, high=GAP_MAX_MS, unit="ms")] = None


Pace = BackToBack | FixedRate | OriginalGaps


class Faults(Record, frozen=True):
    """Probabilities, 0 to 1, of faults made on purpose.

    `duplicate`: sent twice. `swap`: exchanged with the next one, which then is not exchanged again. `drop`: not sent.
    `delay`: sent up to `delay_max_ms` late, without holding up the others. `cut_off`: the connection is closed after
    the first part of the body.
    """

    duplicate: Annotated[float, Field(title="Duplicate", low=0, high=1)] = 0.0
    swap: Annotated[float, Field(title="Swap", low=0, high=1)] = 0.0
    drop: Annotated[float, Field(title="Drop", low=0, high=1)] = 0.0
    delay: Annotated[float, Field(title="Delay", low=0, high=1)] = 0.0
    delay_max_ms: Annotated[int, Field(title="Longest delay", low=0, high=DELAY_MAX_MS, unit="ms")] = 1_000
    cut_off: Annotated[float, Field(title="Cut off", low=0, high=1)] = 0.0

    @property
    def enabled(self) -> bool:
        """Whether there can be a fault."""
        return any((self.duplicate, self.swap, self.drop, self.delay, self.cut_off))


class ReplaySpec(Record, frozen=True):
    """Requests are sent oldest first, each `times` times in a row, at most `concurrency` at once.

    The same `seed` makes the same faults. `incomplete`: also requests whose sender disconnected before the end of the
    body; otherwise they are left out, unless the body is edited.
    """

    source: ReplaySource
    destination: ReplayDestination = OwnTargets()
    pace: Pace = BackToBack()
    concurrency: Annotated[int, Field(title="Concurrency", low=1, high=CONCURRENCY_MAX)] = 1
    times: Annotated[int, Field(title="Times", low=1, high=TIMES_MAX)] = 1
    faults: Faults = Faults()
    seed: Annotated[int, Field(title="Seed", low=0, high=SEED_MAX)] = 0
    incomplete: bool = False
    edit: RequestEdit | None = None


class ReplayState(StrEnum):
    """QUEUED: another replay runs before it. INTERRUPTED: Hookline ended before it did."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class TargetProgress(Record, frozen=True):
    """What came of a replay's deliveries to one target so far.

    `url` is empty for requests that had no target, or are no longer stored. `per_second` counts deliveries while the
    replay is not paused. Like the times, it knows only those since the replay was last resumed after an end of
    Hookline; the times are None without any.
    """

    url: str
    delivered: int = 0
    failed: int = 0
    not_sent: int = 0
    per_second: float = 0.0
    median_ms: float | None = None
    p95_ms: float | None = None

    @property
    def sent(self) -> int:
        return self.delivered + self.failed


class ReplayProgress(Record, frozen=True):
    """Counts so far. `total` is requests times `times`, None until they are counted.

    `sent` counts requests, the `duplicated` included. `delivered` and `failed` count deliveries: a request to three
    targets has three. One that could not be sent counts as failed. `incomplete` counts requests that were left out
    because they are not complete, `repeated` deliveries that were sent again because Hookline ended during the first
    time. `rate` is requests per second at present. `targets` has what came of the deliveries to each.
    """

    total: int | None = None
    sent: int = 0
    delivered: int = 0
    failed: int = 0
    dropped: int = 0
    duplicated: int = 0
    incomplete: int = 0
    repeated: int = 0
    rate: float = 0.0
    targets: tuple[TargetProgress, ...] = ()

    @property
    def done(self) -> int:
        """How many of `total` were sent, dropped or left out."""
        return self.sent - self.duplicated + self.dropped + self.incomplete


class EarlierResults(Record, frozen=True):
    """What came of a replay's deliveries before Hookline ended, by request and target (None: a URL that is no target).

    `ended` has the states of those that ended, in order. `interrupted` counts those that were under way and have not
    been repeated, `repeated` all that have.
    """

    ended: dict[tuple[str, int | None], list[DeliveryState]] = {}
    interrupted: dict[tuple[str, int | None], int] = {}
    repeated: int = 0


class Replay(Record, frozen=True):
    """A replay the user started. `problem` says why it ended early or skipped requests, `summary` is its report as text
    once it has ended. Times are in microseconds."""

    id: str
    created_at: int
    spec: ReplaySpec
    state: ReplayState = ReplayState.QUEUED
    progress: ReplayProgress = ReplayProgress()
    started_at: int | None = None
    ended_at: int | None = None
    problem: str | None = None
    summary: str | None = None

    @property
    def ended(self) -> bool:
        return self.state in (ReplayState.DONE, ReplayState.CANCELLED)


def counted(*counts: tuple[int, str]) -> list[str]:
    """`3 failed`, `1 dropped`: of what there is any."""
    return [f"{count:,} {what}" for count, what in counts if count]


def received_until(source: ReplaySource, at: int) -> ReplaySource:
    """Without what was captured from this moment on, such as after the start of the replay that is to be repeated."""
    if isinstance(source, ChosenRequests):
        return source
    return replace(source, received_before=at if source.received_before is None else min(source.received_before, at))


ONE_EDITED = "Only a single request can be edited before it is replayed."
METHOD_PATTERN = "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}$"
_METHOD = re.compile(METHOD_PATTERN)


def with_full_urls(spec: ReplaySpec) -> ReplaySpec:
    """Its URLs as `full_url` has them."""
    if isinstance(spec.destination, OneUrl):
        spec = replace(spec, destination=OneUrl(url=full_url(spec.destination.url)))
    if spec.edit is not None and spec.edit.url is not None:
        spec = replace(spec, edit=replace(spec.edit, url=full_url(spec.edit.url)))
    return spec


def replay_errors(spec: ReplaySpec, own_bases: Sequence[str] = ()) -> list[FieldError]:
    """All rules that a replay breaks, in the order of the form's fields. `own_bases` as in `forward_url_error`."""
    source, destination, edit = spec.source, spec.destination, spec.edit
    others: dict[str, str | None] = {}
    if isinstance(source, ChosenRequests):
        others["source.ids"] = None if source.ids else "Select at least one request to replay."
    elif source.received_after is not None and source.received_before is not None:
        ends = source.received_after < source.received_before
        others["source.received_before"] = None if ends else "The time range must end after it begins."
    if isinstance(destination, OneUrl):
        others["destination.url"] = forward_url_error(full_url(destination.url), own_bases, "Replay URL")
    elif isinstance(destination, OtherEndpoint):
        others["destination.slug"] = slug_error(destination.slug)
    if edit is None:
        return list(field_errors(spec, others))
    if edit.method is not None and not _METHOD.fullmatch(edit.method):
        others["edit.method"] = f"Method: {edit.method[:40]!r} is not an HTTP method."
    if edit.url is not None:
        others["edit.url"] = forward_url_error(full_url(edit.url), own_bases, "URL")
    if edit.headers is not None:
        others["edit.headers"] = headers_error(edit.headers, "Headers", FRAMING)
    of_one = isinstance(source, ChosenRequests) and len(source.ids) == 1
    return [
        *field_errors(replace(spec, edit=None), others),
        *([] if of_one else [FieldError(field="edit", message=ONE_EDITED)]),
        *field_errors(edit, others, "edit."),
    ]


# -- the sends --------------------------------------------------------------------------------------------------------


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
