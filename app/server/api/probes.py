"""What a load balancer, an orchestrator or Prometheus asks, without a token: whether the program lives, whether it can
capture, and its metrics. No response says anything about requests, endpoints or targets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import TypeVar

from aiohttp import web

from app.core.errors import StorageUnavailableError
from app.server.api.server import ApiServices

T = TypeVar("T")

PATHS = HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"
READ_S = 3.0
"""The longest that what is read from the store may take; it is left out then."""
LACKING = "Metrics need prometheus-client. Install it: pip install 'hookline[team]'"


class Probes:
    """Handlers outside the API's prefix. `readers` says how many callers follow the events."""

    def __init__(self, services: ApiServices, readers: Callable[[], int]) -> None:
        self._services, self._readers = services, readers

    def add_to(self, app: web.Application) -> None:
        app.router.add_get(HEALTH, self._health)
        app.router.add_get(READY, self._ready)
        app.router.add_get(METRICS, self._metrics)

    async def _health(self, request: web.Request) -> web.Response:
        """The loop turns: nothing else answers."""
        return _plain("ok")

    async def _ready(self, request: web.Request) -> web.Response:
        """Whether a sender would be answered with 2xx, as far as this program can tell."""
        if self._services.addresses.listening is None:
            return _plain("The capture port is closed.", 503)
        trouble = self._services.troubles.storage
        return _plain("ready") if trouble is None else _plain(trouble, 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        """In Prometheus' text format; no label names an endpoint or a target."""
        try:
            exposition = await asyncio.to_thread(_exposition)
        except ImportError:
            return _plain(LACKING, 501)
        services, store = self._services, self._services.store
        endpoints = store.endpoints.all()
        queued, nodes = await asyncio.gather(
            self._read(store.deliveries.target_counts()), self._read(store.nodes.all())
        )
        use = store.limits.use()
        gauges = {
            "endpoints": len(endpoints),
            "stored_requests": sum(store.captures.counts(endpoint.id).total for endpoint in endpoints),
            "stored_bytes": use.used,
            "storage_limit_bytes": use.limit,
            "stored_response_bytes": store.limits.use_of_responses().used,
            "storage_trouble": services.troubles.storage is not None,
            "queued_deliveries": None if queued is None else sum(count.queued for count in queued.values()),
            "nodes": None if nodes is None else len(nodes),
            "event_readers": self._readers(),
        }
        body = await asyncio.to_thread(exposition.text, services.version, services.counts, gauges)
        return web.Response(
            body=body, headers={"Content-Type": exposition.CONTENT_TYPE_LATEST, "Cache-Control": "no-store"}
        )

    async def _read(self, reading: Awaitable[T]) -> T | None:
        """None while the store cannot be read."""
        try:
            async with asyncio.timeout(READ_S):
                return await reading
        except (StorageUnavailableError, TimeoutError):
            return None


def _plain(text: str, status: int = 200) -> web.Response:
    """A line that nobody may cache."""
    return web.Response(text=f"{text}\n", status=status, headers={"Cache-Control": "no-store"})


def _exposition() -> ModuleType:
    from app.server.api import exposition  # start-up time, and the library may be missing

    return exposition
