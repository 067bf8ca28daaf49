"""Sends a small test request to a capture URL."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
import msgspec

from app.core.clock import now_us, rfc3339
from app.core.errors import HooklineError
from app.server.forward.failure import failure_text
from app.server.forward.tls import client_context

TIMEOUT_MS = 10_000
"""For request and response; an endpoint's own delay is added."""
CONNECT_S = 2.0
HEADER = "X-Hookline-Test"


def _message() -> bytes:
    message = {"message": "Hello from Hookline! This endpoint works.", "sent_at": rfc3339(now_us())}
    return msgspec.json.encode(message)


@dataclass(frozen=True)
class ProbeRequest:
    """`token` in `HEADER` identifies it."""

    token: str = field(default_factory=lambda: secrets.token_hex(8))
    body: bytes = field(default_factory=_message)


async def send_test_request(url: str, request: ProbeRequest, timeout_ms: int = TIMEOUT_MS) -> int:
    """POST it to `url` over HTTP; returns the status of the response. HooklineError with the reason when there is none;
    certificates are verified.

    A URL of this machine or of a private network is reached directly. Any other goes through the proxy of the
    environment or the system, like everything that leaves this machine: in a network that has one, a direct request
    would fail though the URL works for its senders.
    """
    headers = {"Content-Type": "application/json", "User-Agent": "Hookline", HEADER: request.token}
    context, proxy = await client_context(), await asyncio.to_thread(proxy_for, url)
    try:
        async with (
            asyncio.timeout(timeout_ms / 1000),
            httpx.AsyncClient(verify=context, proxy=proxy, trust_env=False, timeout=timeout_ms / 1000) as client,
            client.stream("POST", url, content=request.body, headers=headers) as response,
        ):
            return response.status_code
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        raise HooklineError(failure_reason(error, url, proxy, timeout_ms)) from error


async def accepts(host: str, port: int) -> bool:
    """Whether something accepts connections there. Nothing is sent."""
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    return True


def proxy_for(url: str) -> str | None:
    """The HTTP proxy for `url`. May ask the system, so call it on a thread. HooklineError when the environment or the
    system names an unusable proxy."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_near(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    if not proxy or not proxy.startswith(("http://", "https://")):
        return None
    try:
        named = bool(urlsplit(proxy).hostname and urlsplit(proxy).port != 0)
    except ValueError:  # of the host or the port
        named = False
    if not named:
        raise HooklineError("The proxy set in the environment or the system has no valid host or port.")
    return proxy


def _is_near(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private


def failure_reason(error: Exception, url: str, proxy: str | None, timeout_ms: int) -> str:
    """Why a request to `url`, sent through `proxy`, got no response."""
    if proxy is None:
        return failure_text(error, url, timeout_ms) or str(error)
    if isinstance(error, httpx.ProxyError):
        return f"The proxy {_place(proxy)} did not let it through: {error}."
    connecting = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
    reason = failure_text(error, proxy if connecting else url, timeout_ms) or str(error)
    return f"{reason} It was sent through the proxy {_place(proxy)}."


def _place(url: str) -> str:
    """Without the credentials that a proxy's URL may hold."""
    parts = urlsplit(url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
