"""Forwards queued deliveries: a worker for each target that has any. Writes to the log which failed for good."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.core.delivery import result_text
from app.core.errors import NotAllowedError
from app.core.events import (
    Bus,
    Captured,
    DeletionPurged,
    DeliveriesQueued,
    DeliveryChanged,
    EndpointRemoved,
    EndpointSaved,
    Purged,
    Subscriptions,
    TargetChanged,
)
from app.core.model import DeliveryState
from app.core.target import PausedBy
from app.core.target_text import resume_advice
from app.core.text import count_of
from app.server.forward.lazy_sender import LazySender, end, stored
from app.server.forward.target_worker import TargetWorker
from app.server.target_responses import TargetResponses

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints
    from app.db.store import Store

log = logging.getLogger(__name__)

INTERVAL_S = 60.0
"""Between two lines about failed deliveries to one target: thousands may fail in a second."""


@dataclass
class _Logged:
    """A target with a line in the log: what failed, and how many more have failed since. `timer` ends the interval."""

    what: str
    timer: asyncio.TimerHandle
    more: int = 0
    result: str = ""
    """Of the last one."""


class FailureLog:
    """Names targets by their numbers: their URLs may contain a token."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints
        self._logged: dict[int, _Logged] = {}
        self._paused: set[int] = set()
        """The targets that failures paused. Each change of one tells that it is paused."""

    def add_to(self, subscriptions: Subscriptions) -> None:
        """Write until these end; then call `end`."""
        subscriptions.add(DeliveryChanged, self._delivered)
        subscriptions.add(TargetChanged, self._target_changed)

    def end(self) -> None:
        """Write what has failed since the last lines."""
        for logged in self._logged.values():
            logged.timer.cancel()
            _write_more(logged)
        self._logged.clear()

    def _delivered(self, event: DeliveryChanged) -> None:
        delivery = event.delivery
        if delivery.state is not DeliveryState.FAILED or delivery.target_id is None or delivery.replay_id is not None:
            return
        # Not its error, which may name URLs with a token in them, or quote what the target sent.
        result = result_text(event.failure, delivery.status)
        logged = self._logged.get(delivery.target_id)
        if logged is not None:
            logged.more, logged.result = logged.more + 1, result
            return
        what = f"of {self._name(delivery.endpoint_id)} to target {delivery.target_id}"
        log.info("a delivery %s failed (%s). %s", what, result, delivery.next_step or "")
        self._logged[delivery.target_id] = _Logged(what, self._timer(delivery.target_id))

    def _timer(self, target_id: int) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(INTERVAL_S, self._interval_over, target_id)

    def _interval_over(self, target_id: int) -> None:
        logged = self._logged[target_id]
        if logged.more:
            _write_more(logged)
            logged.timer = self._timer(target_id)
        else:
            del self._logged[target_id]

    def _target_changed(self, event: TargetChanged) -> None:
        target = event.target
        if target.paused is not PausedBy.FAILURES:
            self._paused.discard(target.id)
        elif target.id not in self._paused:
            self._paused.add(target.id)
            failed = count_of(target.pause_after, "failed delivery", "failed deliveries")
            name, advice = self._name(target.endpoint_id), resume_advice(target.id)
            log.warning("target %d of %s is paused after %s in a row. %s", target.id, name, failed, advice)

    def _name(self, endpoint_id: int) -> str:
        endpoint = self._endpoints.by_id(endpoint_id)
        return "a deleted endpoint" if endpoint is None else f"“{endpoint.name}”"


def _write_more(logged: _Logged) -> None:
    if logged.more:
        failed = count_of(logged.more, "more delivery", "more deliveries")
        log.info("%s %s failed since the last line, the last one with: %s.", failed, logged.what, logged.result)
        logged.more = 0


class Forwarder:
    """Forwards captured requests; targets do not wait for each other."""

    def __init__(self, store: Store, bus: Bus, responses: TargetResponses) -> None:
        self._store, self._responses, self._bus = store, responses, bus
        self._sender = LazySender(store, bus.publish)
        self._failure_log = FailureLog(store.endpoints)
        self._workers: dict[int, TargetWorker] = {}
        self._unstorable: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscriptions: Subscriptions | None = None

    async def start(self) -> None:
        """Forward from now on, beginning with what an earlier run left queued."""
        if self._subscriptions is not None:
            return
        self._subscriptions = Subscriptions(self._bus)
        self._subscriptions.add(Captured, self._captured)
        self._subscriptions.add(TargetChanged, lambda event: self._wake(event.target.id, requeued=True))
        self._subscriptions.add(DeliveriesQueued, self._queued)
        self._subscriptions.add(DeliveryChanged, lambda event: self._unstorable.discard(event.delivery.id))
        self._failure_log.add_to(self._subscriptions)
        self._subscriptions.add(EndpointSaved, self._saved)
        self._subscriptions.add(EndpointRemoved, lambda event: self._wake_all_of({event.endpoint.id}))
        self._subscriptions.add(DeletionPurged, lambda event: self._wake_all_of(event.endpoint_ids))
        self._subscriptions.add(Purged, lambda event: self._wake_all_of(event.report.deleted))
        for target_id in await self._store.deliveries.targets_with_queued() if self._store.works else ():
            self._wake(target_id)

    async def stop(self) -> None:
        """Let current attempts end within half a second; the rest stays queued. Idempotent."""
        if self._subscriptions is not None:
            self._subscriptions.end()
            self._subscriptions = None
            self._failure_log.end()
        for worker in self._workers.values():
            worker.stop_after_current()
        await end(tuple(self._tasks))
        await self._sender.close()

    def _captured(self, event: Captured) -> None:
        for endpoint_id in {row.endpoint_id for row in event.summaries if row.delivery is DeliveryState.QUEUED}:
            endpoint = self._store.endpoints.by_id(endpoint_id)
            for target in endpoint.targets if endpoint is not None else ():
                self._wake(target.id)

    def _saved(self, event: EndpointSaved) -> None:
        self._wake_all_of({event.endpoint.id}, requeued=True)
        if not event.created:  # it may have been restored: its workers ended when it was deleted
            for target in event.endpoint.targets:
                self._wake(target.id)

    def _queued(self, event: DeliveriesQueued) -> None:
        for target_id in event.target_ids:
            self._wake(target_id, requeued=True)

    def _wake_all_of(self, endpoint_ids: Collection[int], *, requeued: bool = False) -> None:
        """Something of these endpoints was changed or deleted. Those whose target was deleted send nothing more, and
        need not wait for what is being sent to know it."""
        for target_id, worker in self._workers.items():
            target = self._store.targets.by_id(target_id)
            if target is None or target.endpoint_id in endpoint_ids:
                worker.wake(requeued=requeued, removed=True)

    def _wake(self, target_id: int, *, requeued: bool = False) -> None:
        worker = self._workers.get(target_id)
        if worker is not None:
            worker.wake(requeued=requeued)
            return
        worker = TargetWorker(target_id, self._store, self._sender, self._responses, self._unstorable)
        self._workers[target_id] = worker
        task = asyncio.get_running_loop().create_task(self._run(target_id, worker), name=f"forward-{target_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, target_id: int, worker: TargetWorker) -> None:
        """Nothing may be awaited between the worker's last check of the queue and its removal, or a wake in between is
        lost."""
        try:
            if await stored(lambda: self._store.deliveries.claim(target_id)):
                await worker.run()
            else:
                self._responses.give_up(target_id)  # to whoever waits here: another node gets it
        except NotAllowedError as error:  # the role was taken away meanwhile
            log.debug("the forwarding to target %d stopped: %s", target_id, error)
            self._responses.give_up(target_id)
        except Exception:
            log.exception("the forwarding to target %d stopped", target_id)
        finally:
            del self._workers[target_id]
