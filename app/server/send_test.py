"""Sends a test request to an endpoint over the same route as its senders, and checks whether it arrived.

A dead tunnel may still respond, with a page of its provider, so only a request that arrived here counts.
"""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING

from app.core.errors import HooklineError
from app.core.events import Bus, Captured, Refused, Subscriptions
from app.core.model import Endpoint, SentTest
from app.core.team import ADDRESS_ADVICE, NOT_CAPTURING
from app.server.addresses import Addresses
from app.server.forward.lazy_sender import load
from app.server.refused import RefusedLog

if TYPE_CHECKING:
    from app.db.captures import Captures
    from app.server.test_request import ProbeRequest

ARRIVAL_S = 1.0
"""An arrival is normally known before its response is sent, unless this process is busy."""


class SendTest:
    """Sends test requests."""

    def __init__(self, captures: Captures, refused: RefusedLog, bus: Bus, addresses: Addresses) -> None:
        self._captures, self._refused, self._bus, self._addresses = captures, refused, bus, addresses

    async def send(self, endpoint: Endpoint) -> SentTest:
        """Send one through the public base URL if there is one, otherwise to the capture port.

        HooklineError says what failed, and whether the capture port responds.
        """
        await load("app.server.test_request")
        from app.server.test_request import TIMEOUT_MS, ProbeRequest, send_test_request  # loaded by now

        if self._addresses.is_elsewhere and self._addresses.public_base() is None:
            raise HooklineError(f"{NOT_CAPTURING}, and no node says where senders reach it. {ADDRESS_ADVICE}")
        timeout_ms = TIMEOUT_MS + endpoint.response.delay_ms
        base, local = self._addresses.public_base(), self._addresses.local_base().partition("://")[2]
        request = ProbeRequest()
        if base is None:
            try:
                status = await send_test_request(self._addresses.local_url(endpoint.slug), request, timeout_ms)
            except HooklineError as error:
                raise HooklineError(f"The test request could not be sent to {local}. {error}") from error
            return SentTest(status=status, place=local, public=False)
        with closing(_Arrival(self._captures, self._refused, self._bus, endpoint, request)) as arrival:
            try:
                status = await send_test_request(self._addresses.capture_url(endpoint), request, timeout_ms)
            except HooklineError as error:
                text = f"The test request got no response through {base}. {error}"
                if await arrival.status(0) is not None:
                    raise HooklineError(f"{text} It did arrive; its response was lost on the way back.") from error
                raise HooklineError(f"{text} {await self._local_state(local)}") from error
            expected = await arrival.status(ARRIVAL_S)
        if expected is None:
            text = f"{base} responded to the test request with {status}, but it did not arrive here."
            if self._addresses.is_elsewhere:
                raise HooklineError(f"{text} Check that it leads to a node on this store.")
            advice = f"Check that the tunnel is running and points to {local}."
            raise HooklineError(f"{text} {advice} {await self._local_state(local)}")
        if expected != status:
            text = f"The test request arrived through {base}, which responded with {status} instead of Hookline's"
            raise HooklineError(f"{text} {expected}.")
        return SentTest(status=status, place=base, public=True)

    async def _local_state(self, local: str) -> str:
        if self._addresses.is_elsewhere:
            return f"{NOT_CAPTURING}, so where it failed is not known here."
        from app.server.test_request import accepts  # loaded by now

        address = self._addresses.listening
        if address is None:
            return "Hookline itself is not listening."
        host = self._addresses.local_base().partition("://")[2].rpartition(":")[0].strip("[]")
        if await accepts(host, address[1]):
            return f"Hookline itself responds at {local}."
        return f"Hookline itself does not respond at {local} either."


class _Arrival:
    """Watches for one request while it is sent."""

    def __init__(
        self,
        captures: Captures,
        refused: RefusedLog,
        bus: Bus,
        endpoint: Endpoint,
        request: ProbeRequest,
    ) -> None:
        self._captures, self._refused, self._endpoint, self._request = captures, refused, endpoint, request
        self._candidates: asyncio.Queue[Captured | Refused] = asyncio.Queue()
        self._subscriptions = Subscriptions(bus)
        self._subscriptions.add(Captured, self._candidates.put_nowait)
        self._subscriptions.add(Refused, self._candidates.put_nowait)

    def close(self) -> None:
        self._subscriptions.end()

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
        raw = self._refused.raw(event.refusal.id) or b""
        return event.refusal.status if self._request.token.encode() in raw else None

    async def _of_captured(self, event: Captured) -> int | None:
        size, endpoint_id = len(self._request.body), self._endpoint.id
        for summary in event.summaries:
            if summary.endpoint_id == endpoint_id and summary.size == size and summary.method == "POST":
                capture = await self._captures.get(summary.id)
                if capture is not None and any(value == self._request.token for _, value in capture.headers):
                    return summary.response_status
        return None
