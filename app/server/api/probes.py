"""What a load balancer, an orchestrator or Prometheus asks, without a token: whether the program lives, whether it can
capture, and its metrics. No response says anything about requests, endpoints or targets."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from app.server.api.metrics import Metrics
from app.server.api.services import ApiServices

PATHS = HEALTH, READY, METRICS = "/healthz", "/readyz", "/metrics"


class Probes:
    """Handlers outside the API's prefix."""

    def __init__(self, services: ApiServices, readers: Callable[[], int]) -> None:
        self._services = services
        self._metrics = Metrics(services, readers)

    def add_to(self, app: web.Application) -> None:
        app.router.add_get(HEALTH, self._health)
        app.router.add_get(READY, self._ready)
        app.router.add_get(METRICS, self._metrics.read)

    async def _health(self, request: web.Request) -> web.Response:
        """The loop turns: nothing else answers."""
        return plain("ok")

    async def _ready(self, request: web.Request) -> web.Response:
        """Whether a sender would be answered with 2xx, as far as this program can tell."""
        if self._services.addresses.listening is None:
            return plain("The capture port is closed.", 503)
        trouble = self._services.troubles.storage
        return plain("ready") if trouble is None else plain(trouble, 503)


def plain(text: str, status: int = 200) -> web.Response:
    """A line that nobody may cache."""
    return web.Response(text=f"{text}\n", status=status, headers={"Cache-Control": "no-store"})
