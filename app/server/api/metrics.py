"""`/metrics`: what Prometheus reads. Its library, an extra, is loaded by the first call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import TypeVar

from aiohttp import web

from app.core.errors import StorageUnavailableError
from app.server.api.services import ApiServices

T = TypeVar("T")

READ_S = 3.0
"""The longest that what is read from the store may take; it is left out then."""
LACKING = "Metrics need prometheus-client. Install it: pip install 'hookline[team]'"


class Metrics:
    """Handler of `/metrics`. `readers` says how many callers follow the events."""

    def __init__(self, services: ApiServices, readers: Callable[[], int]) -> None:
        self._services, self._readers = services, readers

    async def read(self, request: web.Request) -> web.Response:
        """In Prometheus' text format; no label names an endpoint or a target."""
        try:
            exposition = await asyncio.to_thread(_exposition)
        except ImportError:
            return web.Response(text=f"{LACKING}\n", status=501)
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


def _exposition() -> ModuleType:
    from app.server.api import exposition  # start-up time, and the library may be missing

    return exposition
