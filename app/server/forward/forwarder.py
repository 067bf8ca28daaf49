"""Forwards queued deliveries: a worker for each endpoint that has any, oldest first and one at a time."""

from __future__ import annotations

import asyncio
import logging

from app.core.errors import StorageUnavailableError
from app.core.events import Bus, Captured, Subscription
from app.core.model import Delivery, DeliveryState
from app.core.repositories import CaptureRepository, DeliveryRepository, EndpointRepository
from app.server.forward.lazy_sender import LazySender
from app.server.forward.response import internal_failure

log = logging.getLogger(__name__)

_BATCH = 50
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.25, 30.0


class Worker:
    """Forwards what is queued for `endpoint_id` until nothing is, the endpoint is deleted, or `stop_after_current` is
    called.

    `unstorable` outlives the worker: ids of deliveries that were sent and whose result cannot be stored.
    """

    def __init__(
        self,
        endpoint_id: int,
        endpoints: EndpointRepository,
        queue: DeliveryRepository,
        sender: LazySender,
        unstorable: set[str],
    ) -> None:
        self._endpoint_id = endpoint_id
        self._endpoints = endpoints
        self._queue = queue
        self._sender = sender
        self._woken = False
        self._stopping = False
        self._unstorable = unstorable

    def wake(self) -> None:
        """Check the queue again before ending."""
        self._woken = True

    def stop_after_current(self) -> None:
        """End after the current delivery; the rest stays queued."""
        self._stopping = True

    async def run(self) -> None:
        """Work until the queue is empty."""
        while True:
            self._woken = False
            batch = await self._next_batch()
            if not batch and not self._woken:
                return
            for delivery in batch:
                if not await self._deliver(delivery):
                    return

    async def _next_batch(self) -> list[Delivery]:
        wait = _FIRST_WAIT_S
        while True:
            try:
                batch = await self._queue.pending(self._endpoint_id, _BATCH)
                return [delivery for delivery in batch if delivery.id not in self._unstorable]
            except StorageUnavailableError:
                wait = await self._back_off(wait)

    async def _deliver(self, delivery: Delivery) -> bool:
        """Send and store the result; False when this worker must end. StorageUnavailableError is waited out."""
        wait = _FIRST_WAIT_S
        while True:
            endpoint = self._endpoints.by_id(self._endpoint_id)
            if endpoint is None or self._stopping:
                return False
            try:
                result, body = await self._sender.deliver(delivery, endpoint.forward.timeout_ms)
            except StorageUnavailableError:
                wait = await self._back_off(wait)
                continue
            except Exception as error:
                log.exception("forwarding of %s failed", delivery.capture_id)
                result, body = internal_failure(delivery, error), b""
            await self._store(result, body)
            return True

    async def _store(self, result: Delivery, body: bytes) -> None:
        """Retry until it is stored: a delivery that was sent must not be sent again because the disk is full."""
        wait = _FIRST_WAIT_S
        while True:
            try:
                await self._queue.finish(result, body)
            except StorageUnavailableError:
                wait = await self._back_off(wait)
            except Exception:
                log.exception("the outcome of delivery %s could not be stored", result.id)
                self._unstorable.add(result.id)
                return
            else:
                return

    async def _back_off(self, wait: float) -> float:
        await asyncio.sleep(wait)
        return min(wait * 2, _LONGEST_WAIT_S)


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
        self._sender = LazySender(captures, instance_id)
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
        """Let current deliveries end within half a second; the rest stays queued. Idempotent."""
        if self._subscription is not None:
            self._subscription.end()
            self._subscription = None
        for worker in self._workers.values():
            worker.stop_after_current()
        tasks = tuple(self._tasks)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_GRACE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._sender.close()

    def _on_captured(self, event: Captured) -> None:
        for endpoint_id in {row.endpoint_id for row in event.summaries if row.mirror is DeliveryState.QUEUED}:
            self._wake(endpoint_id)

    def _wake(self, endpoint_id: int) -> None:
        worker = self._workers.get(endpoint_id)
        if worker is not None:
            worker.wake()
            return
        worker = Worker(endpoint_id, self._endpoints, self._queue, self._sender, self._unstorable)
        self._workers[endpoint_id] = worker
        task = asyncio.get_running_loop().create_task(self._run(endpoint_id, worker), name=f"forward-{endpoint_id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, endpoint_id: int, worker: Worker) -> None:
        """Nothing may be awaited between the worker's last check of the queue and its removal, or a wake in between is
        lost."""
        try:
            await worker.run()
        except Exception:
            log.exception("the forwarding of endpoint %d stopped", endpoint_id)
        finally:
            del self._workers[endpoint_id]
