"""What a replay was asked to do, and how far it is."""

from __future__ import annotations

from enum import StrEnum

from app.core.delivery import RequestEdit
from app.core.record import Record


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

    per_second: float


class OriginalGaps(Record, frozen=True, tag="gaps"):
    """With the gaps they were received with.

    `scale` multiplies every gap: 0.5 is twice as fast. No scaled gap is longer than `longest_gap_ms` (None: no limit).
    """

    scale: float = 1.0
    longest_gap_ms: int | None = None


Pace = BackToBack | FixedRate | OriginalGaps


class Faults(Record, frozen=True):
    """Probabilities, 0 to 1, of faults made on purpose.

    `duplicate`: sent twice. `swap`: exchanged with the next one, which then is not exchanged again. `drop`: not sent.
    `delay`: sent up to `delay_max_ms` late, without holding up the others. `cut_off`: the connection is closed after
    the first part of the body.
    """

    duplicate: float = 0.0
    swap: float = 0.0
    drop: float = 0.0
    delay: float = 0.0
    delay_max_ms: int = 1_000
    cut_off: float = 0.0

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
    concurrency: int = 1
    times: int = 1
    faults: Faults = Faults()
    seed: int = 0
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


class ReplayProgress(Record, frozen=True):
    """Counts so far. `total` is requests times `times`, None until they are counted.

    `sent` counts requests, the `duplicated` included. `delivered` and `failed` count deliveries: a request to three
    targets has three. One that could not be sent counts as failed. `incomplete` counts requests that were left out
    because they are not complete, `repeated` deliveries that were sent again because Hookline ended during the first
    time. `rate` is requests per second at present.
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

    @property
    def done(self) -> int:
        """How many of `total` were sent, dropped or left out."""
        return self.sent - self.duplicated + self.dropped + self.incomplete


class EarlierResults(Record, frozen=True):
    """What came of a replay's deliveries before Hookline ended, by request and target (None: a URL that is no target).

    `ended` has a character for each that ended, in order: `1` if it was delivered. `interrupted` counts those that were
    under way and have not been repeated, `repeated` all that have.
    """

    ended: dict[tuple[str, int | None], str] = {}
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
