"""Sends one delivery to its target and reads the response; network failures become part of the result."""

from __future__ import annotations

import asyncio
import ssl
import time

import httpx

from app.core.clock import now_us
from app.core.forward_target import escapes_path, sub_path
from app.core.model import Capture, Delivery
from app.core.repositories import CaptureRepository
from app.server.forward.failure import failure_text
from app.server.forward.request import StoredBody, build_request
from app.server.forward.response import TargetResponse, with_result
from app.server.forward.tls import client_context

# A target may close an idle connection at any moment; a request sent on it just then would be lost, and could not be
# sent again, because it may have been processed. So each delivery has its own connection.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=0)
_PATH_MAX = 200


class DeliverySender:
    """Owns the connections to the targets, one for each delivery.

    It uses httpx's transport, not its client: nothing is added, no redirect followed, no cookie kept, no environment
    read.
    """

    def __init__(self, captures: CaptureRepository, instance_id: str) -> None:
        self._captures = captures
        self._instance_id = instance_id
        self._transports: dict[bool, httpx.AsyncHTTPTransport] = {}
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        """Close what is still open."""
        while self._transports:
            _, transport = self._transports.popitem()
            await transport.aclose()

    async def deliver(self, delivery: Delivery, timeout_ms: int) -> tuple[Delivery, bytes]:
        """Send `delivery` once; returns the record with its result, and the response's body. Takes at most
        `timeout_ms`.

        StorageUnavailableError when the request cannot be read; then nothing was sent. Anything else is a bug.
        """
        capture = await self._captures.get(delivery.capture_id)
        transport = await self._open(delivery.url)
        result, error = TargetResponse(), None
        started_at, started = now_us(), time.perf_counter()
        try:
            if capture is None:
                error = "The captured request was deleted before it could be forwarded."
            elif escapes_path(capture.target):
                path = sub_path(capture.target)
                path_text = path if len(path) <= _PATH_MAX else path[: _PATH_MAX - 1] + "…"
                error = f"Not forwarded: the path {path_text} would leave the forward URL's path."
            else:
                async with asyncio.timeout(timeout_ms / 1000):
                    await self._exchange(transport, capture, delivery.url, timeout_ms, result)
        except Exception as problem:
            error = failure_text(problem, delivery.url, timeout_ms)
            if error is None:
                raise
        ms = (time.perf_counter() - started) * 1000
        return with_result(delivery, result, error, started_at, ms), bytes(result.body)

    async def _exchange(
        self, transport: httpx.AsyncHTTPTransport, capture: Capture, url: str, timeout_ms: int, result: TargetResponse
    ) -> None:
        body = StoredBody(self._captures, capture)
        request = build_request(capture, url, self._instance_id, body, timeout_ms / 1000)
        response = await transport.handle_async_request(request)
        try:
            result.status = response.status_code
            result.headers = tuple(
                (name.decode("latin-1"), text.decode("latin-1")) for name, text in response.headers.raw
            )
            chunks = response.aiter_raw()  # named to keep it alive until the response is closed, on any loop
            async for chunk in chunks:
                result.add(chunk)
                if result.truncated:
                    break
        finally:
            await response.aclose()

    async def _open(self, url: str) -> httpx.AsyncHTTPTransport:
        """The transport for `url`'s scheme; certificates are loaded for the first https target."""
        secure = url.startswith("https:")
        async with self._opening:
            if secure not in self._transports:
                context = await client_context() if secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                self._transports[secure] = httpx.AsyncHTTPTransport(
                    verify=context, trust_env=False, http2=False, limits=_LIMITS
                )
            return self._transports[secure]
