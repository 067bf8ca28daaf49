"""Gives each endpoint that has something queued a worker of its own, at the start and whenever requests arrive."""

from __future__ import annotations

import asyncio
import logging

from app.core.events import Bus, Captured, Subscription
from app.core.model import MirrorState
from app.core.repositories import CaptureRepository, DeliveryRepository, EndpointRepository
from app.server.forward.lazy_sender import LateSender
from app.server.forward.worker import Worker

log = logging.getLogger(__name__)

_GRACE_S = 0.5


class Forwarder:
    """Forwards captured requests, strictly in order per endpoint; endpoints do not wait for each other."""

    def __init__(
        self,
        captures: CaptureRepository,
        deliveries: DeliveryRepository,
        endpoints: EndpointRepository,
        bus: Bus,
        instance_id: str,
    ) -> None:
        self._queue = deliveries
        self._endpoints = endpoints
        self._bus = bus
        self._sender = LateSender(captures, instance_id)
        self._workers: dict[int, Worker] = {}
        self._unstorable: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Forward from now on, beginning with what an earlier run left queued."""
        if self._subscription is not None:
            return
        self._subscription = self._bus.subscribe(Captured, self._on_captured)
        for endpoint_id in await self._queue.endpoints_with_pending():
            self._wake(endpoint_id)

    async def stop(self) -> None:
        """Let deliveries in hand end within half a second; what is not finished stays queued. Idempotent."""
        if self._subscription is not None:
            self._subscription.end()
            self._subscription = None
        for worker in self._workers.values():
            worker.wind_up()
        tasks = tuple(self._tasks)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_GRACE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._sender.close()

    def _on_captured(self, event: Captured) -> None:
        for endpoint_id in {row.endpoint_id for row in event.summaries if row.mirror is MirrorState.QUEUED}:
            self._wake(endpoint_id)

    def _wake(self, endpoint_id: int) -> None:
        worker = self._workers.get(endpoint_id)
        if worker is not None:
            worker.wake()
            return
        worker = Worker(endpoint_id, self._endpoints, self._queue, self._sender, self._unstorable)
        self._workers[endpoint_id] = worker
        task = asyncio.get_running_loop().create_task(self._run(endpoint_id, worker), name=f"mirror-{endpoint_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, endpoint_id: int, worker: Worker) -> None:
        """Nothing may be awaited between the worker's last look and its removal, or a wake in between is lost."""
        try:
            await worker.run()
        except Exception:
            log.exception("the forwarding of endpoint %d stopped", endpoint_id)
        finally:
            del self._workers[endpoint_id]
