"""Runs one replay: sends what is planned when it is due, and counts what comes back."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from itertools import islice
from typing import TYPE_CHECKING

from app.core.clock import now_us
from app.core.delivery import FAILURES, Delivery, FailureKind, QueuedDelivery, result_text
from app.core.errors import NotAllowedError
from app.core.ids import first_id, uuid7, uuid7_us
from app.core.model import Capture, DeliveryState, PageKey
from app.core.replay import (
    BackToBack,
    ChosenRequests,
    EarlierResults,
    MatchingRequests,
    OneUrl,
    OtherEndpoint,
    OwnTargets,
    PlannedSend,
    Replay,
    ReplayProgress,
    ReplaySource,
    TargetProgress,
    plan,
)
from app.core.replay_summary import Histogram
from app.core.retry import after
from app.core.search.parse import parse
from app.core.target import Target
from app.core.text import count_of
from app.server.addresses import Addresses
from app.server.forward.lazy_sender import LazySender, stored

if TYPE_CHECKING:
    from app.db.captures import Captures
    from app.db.store import Store

log = logging.getLogger(__name__)

_ID_BYTES = 16
_PAGE = 500


class Selection:
    """The ids of requests, newest first while they are added; iterating gives `(id, received_at)`, oldest first."""

    def __init__(self) -> None:
        self._packed = bytearray()

    def add(self, capture_id: str) -> None:
        self._packed += bytes.fromhex(capture_id.replace("-", ""))

    def __len__(self) -> int:
        return len(self._packed) // _ID_BYTES

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for end in range(len(self._packed), 0, -_ID_BYTES):
            text = self._packed[end - _ID_BYTES : end].hex()
            capture_id = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
            yield capture_id, uuid7_us(capture_id)


async def select(source: ReplaySource, captures: Captures) -> Selection:
    """Raises StorageUnavailableError, or QueryError if the query is wrong."""
    if isinstance(source, ChosenRequests):
        selection = Selection()
        for capture_id in sorted(set(source.ids), reverse=True):
            selection.add(capture_id)
        return selection
    return await _matching(source, captures)


async def _matching(source: MatchingRequests, captures: Captures) -> Selection:
    selection, before = Selection(), None
    if source.received_before is not None:
        before = PageKey(received_at=source.received_before, id=first_id(source.received_before))
    after = source.received_after or 0
    query = parse(source.query) if source.query.strip() else None
    if query is not None:
        found = captures.search(query, source.endpoint_id, before=before, limit=2**31)
        async with aclosing(found) as batches:
            async for batch in batches:
                for row in batch:
                    if row.received_at >= after:
                        selection.add(row.id)
                if batch and batch[-1].received_at < after:
                    break
        return selection
    while page := await captures.page(source.endpoint_id, before=before, limit=_PAGE):
        for row in page:
            if row.received_at < after:
                return selection
            selection.add(row.id)
        before = PageKey(received_at=page[-1].received_at, id=page[-1].id)
    return selection


_AHEAD = 64
"""How many requests are read at once."""
_WAITING = 512
"""How many sends may be under way, delayed ones included."""
_RATE_S = 2.0


class ReplayRunner:
    """`run` sends until everything is sent or `cancel` is called. Everything runs on the loop's thread."""

    def __init__(
        self,
        replay: Replay,
        selection: Selection,
        before: EarlierResults,
        store: Store,
        *,
        sender: LazySender,
        addresses: Addresses,
    ) -> None:
        """`before` is what came of the deliveries before an end interrupted the replay: those that had ended are
        counted, and not sent again."""
        self.replay = replay
        self._spec, self._selection = replay.spec, selection
        self._before, self._interrupted = dict(before.ended), Counter(before.interrupted)
        self._deliveries, self._endpoints = store.deliveries, store.endpoints
        self._sender, self._addresses = sender, addresses
        self._counted = Counter(total=len(selection) * self._spec.times, repeated=before.repeated)
        """What `ReplayProgress` counts of requests."""
        self.resumed = bool(before.ended or before.interrupted)
        self.counts = _DeliveryCounts()
        self._skipped = 0
        self._free = asyncio.Semaphore(self._spec.concurrency)
        self._under_way = asyncio.Semaphore(_WAITING)
        self._running = asyncio.Event()
        self._running.set()
        self._began_at, self._paused_at, self._paused_us = _monotonic_us(), 0, 0
        self._cancelled = asyncio.Event()
        self._refused: NotAllowedError | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._moments: list[float] = []

    @property
    def progress(self) -> ReplayProgress:
        now = time.monotonic()
        running_us = (self._paused_at if self.paused else _monotonic_us()) - self._began_at - self._paused_us
        self._moments = [moment for moment in self._moments if moment > now - _RATE_S]
        return ReplayProgress(
            **self._counted,
            delivered=self.counts.delivered,
            failed=self.counts.failed,
            rate=round(len(self._moments) / _RATE_S, 1),
            targets=self.counts.by_target(running_us / 1_000_000),
        )

    @property
    def problem(self) -> str | None:
        """What kept requests from being sent."""
        problems = [] if self._refused is None else [f"The replay stopped: {self._refused}"]
        if self._skipped:
            skipped = count_of(self._skipped, "request")
            problems.append(
                f"{skipped} could not be sent: no longer stored, or without a target. Add a target, or replay to a URL."
            )
        if incomplete := self._counted["incomplete"]:
            were = "request was" if incomplete == 1 else "requests were"
            problems.append(f"{incomplete:,} incomplete {were} left out.")
        return " ".join(problems) or None

    @property
    def paused(self) -> bool:
        return not self._running.is_set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    def pause(self) -> None:
        """Begin no further send."""
        if self._running.is_set():
            self._paused_at = _monotonic_us()
            self._running.clear()

    def resume(self) -> None:
        """Continue with the planned gaps."""
        if not self._running.is_set():
            self._paused_us += _monotonic_us() - self._paused_at
            self._running.set()

    def cancel(self) -> None:
        """Begin no further send, and let those under way end."""
        self._cancelled.set()
        self._running.set()

    async def run(self) -> None:
        """Cancelling the task gives up those under way: they are stored as interrupted at the next start."""
        sends = plan(self._selection, self._spec)
        start_us: int | None = None
        try:
            await self._sender.get()
            while not self.cancelled and (batch := list(islice(sends, _AHEAD))):
                requests = await self._requests(batch)
                for send in batch:
                    request = requests.get(send.capture_id)
                    if send.dropped:
                        self._counted["dropped"] += 1
                    elif request is not None and self._is_left_out(request[0]):
                        self._counted["incomplete"] += not send.duplicate
                    elif not self._was_sent(send, request):
                        start_us = _monotonic_us() - send.at_us if start_us is None else start_us
                        await self._due(start_us + send.at_us)
                        if self.cancelled:
                            break
                        await self._begin(send, request)
            while self._tasks:
                await asyncio.wait(self._tasks)
        finally:
            for task in self._tasks:
                task.cancel()

    def _was_sent(self, send: PlannedSend, request: tuple[Capture, bytes | None] | None) -> bool:
        """Whether it was sent, to all its targets, before the replay was interrupted; then it is counted."""
        if not self._before or request is None:
            return False
        targets = tuple(self._targets(request[0]))
        if not targets or not all(self._before.get((send.capture_id, target.id or None)) for target in targets):
            return False
        self._counted.update(sent=1, duplicated=send.duplicate)
        self._count_earlier(send, targets)
        return True

    def _count_earlier(self, send: PlannedSend, targets: Sequence[Target]) -> list[Target]:
        """Count its deliveries that had ended before the interruption; returns the targets it was not sent to."""
        left = []
        for target in targets:
            key = send.capture_id, target.id or None
            if results := self._before.get(key):
                self._before[key] = results[1:]
                self.counts.add(target.url, results[0])
            else:
                left.append(target)
        return left

    def _is_left_out(self, capture: Capture) -> bool:
        edited = self._spec.edit is not None and self._spec.edit.body is not None
        return not (capture.complete or self._spec.incomplete or edited)

    async def _requests(self, batch: list[PlannedSend]) -> dict[str, tuple[Capture, bytes | None]]:
        ids = list({send.capture_id for send in batch if not send.dropped})
        return await stored(lambda: self._deliveries.requests(ids))

    async def _due(self, at_us: int) -> None:
        """Wait until a send is due; pauses put it off."""
        while True:
            await self._running.wait()
            left_us = at_us + self._paused_us - _monotonic_us()
            if left_us <= 0 or self.cancelled or isinstance(self._spec.pace, BackToBack):
                return
            await asyncio.sleep(min(left_us / 1_000_000, 0.2))

    async def _begin(self, send: PlannedSend, request: tuple[Capture, bytes | None] | None) -> None:
        """Start a send once there is room; a delayed one waits without holding up the others."""
        await self._under_way.acquire()
        if not send.delay_ms:
            await self._free.acquire()
        await self._running.wait()
        targets = () if request is None else tuple(self._targets(request[0]))
        if self.cancelled or request is None or not targets:
            self._under_way.release()
            if not send.delay_ms:
                self._free.release()
            if not self.cancelled:
                self._count(send)
                self.counts.add("", DeliveryState.NOT_SENT, FAILURES[FailureKind.NOT_SENT])
                self._skipped += 1
            return
        if not send.delay_ms:
            self._count(send)
        task = asyncio.create_task(self._send(send, *request, targets), name=f"replay-{send.position}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _count(self, send: PlannedSend) -> None:
        self._counted.update(sent=1, duplicated=send.duplicate)
        self._moments.append(time.monotonic())

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._under_way.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            if isinstance(error, NotAllowedError):  # the role in the store was taken away
                self._refused = error
                self.cancel()
                return
            log.error("a send of replay %s failed", self.replay.id, exc_info=error)
            self.counts.add("", DeliveryState.FAILED, FAILURES[FailureKind.INTERNAL])

    async def _send(self, send: PlannedSend, capture: Capture, body: bytes | None, targets: tuple[Target, ...]) -> None:
        if send.delay_ms:
            await self._delay(send.delay_ms)
            if self.cancelled:
                return
            self._count(send)
        try:
            for target in self._count_earlier(send, targets):
                await self._deliver(send, capture, body, target)
        finally:
            self._free.release()

    async def _delay(self, ms: int) -> None:
        """Wait, and then for a free place; not any longer once the replay is cancelled."""
        with suppress(TimeoutError):
            async with asyncio.timeout(ms / 1_000):
                await self._cancelled.wait()
        await self._running.wait()
        if not self.cancelled:
            await self._free.acquire()
            if self.cancelled:
                self._free.release()

    async def _deliver(self, send: PlannedSend, capture: Capture, body: bytes | None, target: Target) -> None:
        at, key = now_us(), (capture.id, target.id or None)
        delivery = Delivery(
            id=uuid7(at),
            capture_id=capture.id,
            endpoint_id=capture.endpoint_id,
            url=(self._spec.edit and self._spec.edit.url) or target.request_url(capture.target),
            state=DeliveryState.QUEUED,
            queued_at=at,
            target_id=target.id or None,
            replay_id=self.replay.id,
            interrupted=self._interrupted[key] > 0,
            captured_method=capture.method,
            captured_target=capture.target,
            captured_event=capture.event,
            captured_gist=capture.gist,
        )
        self._interrupted[key] -= delivery.interrupted  # before anything is awaited: the next copy repeats another
        if not await stored(lambda: self._deliveries.add_replay(delivery)):
            self._skipped += 1
            self.counts.add(target.url, DeliveryState.NOT_SENT, FAILURES[FailureKind.NOT_SENT])
            return
        self._counted["repeated"] += delivery.interrupted
        queued = QueuedDelivery(delivery=delivery, capture=capture, body=body)
        edit, to_hookline = self._spec.edit, isinstance(self._spec.destination, OtherEndpoint)
        made = await self._sender.attempts(queued, target, edit, cut_off=send.cut_off, to_hookline=to_hookline)
        last, ended = made[-1][0], after(delivery, made, None)
        await stored(lambda: self._deliveries.finish(ended, made))
        ms = None if ended.state is DeliveryState.NOT_SENT else last.ms
        self.counts.add(target.url, ended.state, result_text(last.failure, last.status), ms)

    def _targets(self, capture: Capture) -> Iterator[Target]:
        destination = self._spec.destination
        if isinstance(destination, OwnTargets):
            endpoint = self._endpoints.by_id(capture.endpoint_id)
            for target in endpoint.targets if endpoint else ():
                if target.active and destination.target_id in (None, target.id):
                    yield target
            return
        url = destination.url if isinstance(destination, OneUrl) else self._addresses.local_url(destination.slug)
        yield Target(id=0, endpoint_id=capture.endpoint_id, url=url, parallel=self._spec.concurrency)


def _monotonic_us() -> int:
    """So that a change of the system's time changes no gap."""
    return time.monotonic_ns() // 1_000


class _TargetCounts:
    """`latencies` are those since an interruption."""

    def __init__(self) -> None:
        self.states, self.latencies = Counter[DeliveryState](), Histogram()

    def progress(self, url: str, running_s: float) -> TargetProgress:
        states, latencies = self.states, self.latencies
        return TargetProgress(
            url=url,
            delivered=states[DeliveryState.DELIVERED],
            failed=states[DeliveryState.FAILED],
            not_sent=states[DeliveryState.NOT_SENT],
            per_second=round(latencies.count / running_s, 1) if running_s > 0 else 0.0,
            median_ms=latencies.percentile(50) if latencies.count else None,
            p95_ms=latencies.percentile(95) if latencies.count else None,
        )


class _DeliveryCounts:
    """Of all targets and of each. `results` counts them by `result_text`; without those from before an interruption,
    whose results and latencies are not known."""

    def __init__(self) -> None:
        self._by_url: dict[str, _TargetCounts] = {}
        self.delivered = self.failed = 0
        """The failed with those that were not sent."""
        self.results, self.latencies = Counter[str](), Histogram()

    def by_target(self, running_s: float) -> tuple[TargetProgress, ...]:
        """In the order in which they were first sent to, requests without a target last."""
        found = [target.progress(url, running_s) for url, target in self._by_url.items()]
        return tuple(sorted(found, key=lambda one: not one.url))

    def add(self, url: str, state: DeliveryState, result: str | None = None, ms: float | None = None) -> None:
        """`url` is the target's, empty if it is not known which target a request would have gone to. `ms` is how long
        its attempt took, None if nothing was sent."""
        target = self._by_url.setdefault(url, _TargetCounts())
        target.states[state] += 1
        self.delivered += state is DeliveryState.DELIVERED
        self.failed += state is not DeliveryState.DELIVERED
        if result is not None:
            self.results[result] += 1
        if ms is not None:
            target.latencies.add(ms)
            self.latencies.add(ms)
