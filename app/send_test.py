"""Sends a test request to an endpoint the way its senders reach it, and finds out whether it arrived.

A dead tunnel may still respond, with a page of its provider, so only a request that arrived here counts.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING

from app.application import Application
from app.core.errors import HooklineError
from app.core.events import Captured, Refused
from app.core.model import Endpoint
from app.core.test_result import SentTest
from app.server.forward.lazy_import import load

if TYPE_CHECKING:
    from app.server.test_request import ProbeRequest

ARRIVAL_S = 1.0
"""An arrival is normally known before its response is sent, unless this process is busy."""


async def send_test(application: Application, endpoint: Endpoint) -> SentTest:
    """Send it through the public base URL if one is set, otherwise to the capture port.

    HooklineError says what failed, and whether the local port accepts requests.
    """
    await load("app.server.test_request")
    from app.server.test_request import TIMEOUT_MS, ProbeRequest, send_test_request  # loaded by now

    timeout_ms = TIMEOUT_MS + endpoint.reply.delay_ms
    base, local = application.settings.base_url, application.local_base().partition("://")[2]
    request = ProbeRequest()
    if base is None:
        try:
            status = await send_test_request(application.local_url(endpoint), request, timeout_ms)
        except HooklineError as error:
            raise HooklineError(f"The test request could not be sent to {local}. {error}") from error
        return SentTest(status=status, place=local, public=False)
    with _Arrival(application, endpoint, request) as arrival:
        try:
            status = await send_test_request(application.capture_url(endpoint), request, timeout_ms)
        except HooklineError as error:
            text = f"The test request got no answer through {base}. {error}"
            if await arrival.status(0) is not None:
                raise HooklineError(f"{text} It did arrive: the way back is what fails.") from error
            raise HooklineError(f"{text} {await _local_state(application, local)}") from error
        ours = await arrival.status(ARRIVAL_S)
    if ours is None:
        text = f"{base} answered the test request with {status}, but it did not arrive here."
        advice = f"Check that the tunnel is running and leads to {local}."
        raise HooklineError(f"{text} {advice} {await _local_state(application, local)}")
    if ours != status:
        text = f"The test request arrived through {base}, which answered {status} in place of Hookline's {ours}."
        raise HooklineError(text)
    return SentTest(status=status, place=base, public=True)


async def _local_state(application: Application, local: str) -> str:
    from app.server.test_request import accepts  # loaded by now

    address = application.listening
    if address is None:
        return "Hookline itself is not listening now."
    host = application.local_base().partition("://")[2].rpartition(":")[0].strip("[]")
    if await accepts(host, address[1]):
        return f"Hookline itself answers at {local}."
    return f"Hookline itself does not answer at {local} either."


class _Arrival:
    """Watches for one request while it is sent."""

    def __init__(self, application: Application, endpoint: Endpoint, request: ProbeRequest) -> None:
        self._application, self._endpoint, self._request = application, endpoint, request
        self._candidates: asyncio.Queue[Captured | Refused] = asyncio.Queue()
        self._ends = [
            application.bus.subscribe(Captured, self._candidates.put_nowait),
            application.bus.subscribe(Refused, self._candidates.put_nowait),
        ]

    def __enter__(self) -> _Arrival:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for end in self._ends:
            end()

    async def status(self, within_s: float) -> int | None:
        """The status Hookline responded with; None if the request did not arrive."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within_s
        while True:
            try:
                async with asyncio.timeout_at(max(end, loop.time())):
                    event = await self._candidates.get()
            except TimeoutError:
                return None
            found = self._of_refused(event) if isinstance(event, Refused) else await self._of_captured(event)
            if found is not None:
                return found

    def _of_refused(self, event: Refused) -> int | None:
        raw = self._application.refused.raw(event.refusal.id) or b""
        return event.refusal.status if self._request.token.encode() in raw else None

    async def _of_captured(self, event: Captured) -> int | None:
        size, endpoint_id = len(self._request.body), self._endpoint.id
        for summary in event.summaries:
            if summary.endpoint_id == endpoint_id and summary.size == size and summary.method == "POST":
                capture = await self._application.store.captures.get(summary.id)
                if capture is not None and any(value == self._request.token for _, value in capture.headers):
                    return summary.reply_status
        return None
