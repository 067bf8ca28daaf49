"""What Hookline asks itself from outside: a small test request to a capture URL, a probe through the public URL of the
tunnel; and what responded instead, or why nothing did, in a sentence.

Imported with the first of them: httpx takes a good part of a start.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import socket
import ssl
import time
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
import msgspec

from app.core.clock import now_us, rfc3339
from app.core.errors import HooklineError
from app.core.record import Headers
from app.core.text import host_port
from app.core.tunnel import Probe
from app.server.addresses import ProbeKey
from app.server.forward.attempt_failure import causes_of, closed_error, connect_error, lookup_error, seconds, tls_error
from app.server.forward.tls import client_context

TIMEOUT_MS = 10_000
"""For request and response; an endpoint's own delay is added."""
CONNECT_S = 2.0
HEADER = "X-Hookline-Test"
PROBE_BODY_MAX = 64 * 1024
_SIGN_IN = (401, 403, 407, 511)


def _message() -> bytes:
    message = {"message": "Hello from Hookline! This endpoint works.", "sent_at": rfc3339(now_us())}
    return msgspec.json.encode(message)


@dataclass(frozen=True)
class ProbeRequest:
    """`token` in `HEADER` identifies it."""

    token: str = field(default_factory=lambda: secrets.token_hex(8))
    body: bytes = field(default_factory=_message)


async def send_test_request(url: str, request: ProbeRequest, timeout_ms: int = TIMEOUT_MS) -> int:
    """POST it to `url` over HTTP; returns the status of the response. As `ask`."""
    headers = (("Content-Type", "application/json"), (HEADER, request.token))
    response, _ = await ask("POST", url, headers, timeout_ms, content=request.body)
    return response.status_code


async def ask(
    method: str, url: str, headers: Headers, timeout_ms: int, *, content: bytes = b"", body_max: int = 0
) -> tuple[httpx.Response, bytes]:
    """The response, and the beginning of its body: at least `body_max` bytes, if it has so many. HooklineError with the
    reason when there is none; certificates are verified.

    A URL of this machine or of a private network is reached directly. Any other goes through the proxy of the
    environment or the system, like everything that leaves this machine: in a network that has one, a direct request
    would fail though the URL works for its senders.
    """
    context, proxy = await client_context(), await asyncio.to_thread(proxy_for, url)
    try:
        async with (
            asyncio.timeout(timeout_ms / 1000),
            httpx.AsyncClient(verify=context, proxy=proxy, trust_env=False, timeout=timeout_ms / 1000) as client,
            client.stream(
                method, url, content=content or None, headers=[("User-Agent", "Hookline"), *headers]
            ) as response,
        ):
            body = b""
            if body_max:
                async for piece in response.aiter_raw():
                    body += piece
                    if len(body) > body_max:
                        break
            return response, body
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        raise HooklineError(failure_reason(error, url, proxy, timeout_ms)) from error


class ProbeResult(NamedTuple):
    """`unresolved`: the URL's host name could not be looked up, which says more about this network than the tunnel."""

    probe: Probe
    unresolved: bool = False


async def probe(base: str, key: ProbeKey, headers: Headers, timeout_s: float) -> ProbeResult:
    """Request a target of this run below `base`. Only this Hookline's own response is a success."""
    target = key.new_target()
    url, at, began = f"{base}{target}", now_us(), time.perf_counter()
    try:
        response, body = await ask("GET", url, headers, round(timeout_s * 1000), body_max=PROBE_BODY_MAX)
    except HooklineError as error:
        return ProbeResult(
            Probe(at=at, ms=None, problem=str(error)),
            any(isinstance(cause, socket.gaierror) for cause in causes_of(error)),
        )
    ms = round((time.perf_counter() - began) * 1000, 3)
    if response.status_code == httpx.codes.OK and body == (key.proof_for(target) or "").encode():
        return ProbeResult(Probe(at=at, ms=ms))
    return ProbeResult(Probe(at=at, ms=None, problem=_other_response(response, body, base)))


def _other_response(response: httpx.Response, body: bytes, base: str) -> str:
    """What responded in place of Hookline."""
    status = response.status_code
    if response.is_redirect:
        where = _host_in(response.headers.get("Location", ""))
        return (
            f"The public URL redirects to {where} instead of reaching Hookline. If this network has a sign-in page,"
            " sign in first."
        )
    if response.headers.get("Server") == "Hookline":
        return "Another Hookline responds at the public URL: the tunnel leads to another program's port."
    if code := response.headers.get("ngrok-error-code"):
        return f"ngrok responds with {code[:40]} instead of Hookline. See https://ngrok.com/docs/errors."
    if status in _SIGN_IN:
        return f"The public URL responds with {status}: it asks for a sign-in before it reaches Hookline."
    if response.is_success:
        page = "a web page" if b"<html" in body.lower() or b"<!doctype" in body[:100].lower() else "something"
        return (
            f"Another program responds at the public URL, with {page} that is not Hookline's. It may be a sign-in page"
            " of this network or a warning page of the tunnel."
        )
    host = urlsplit(base).hostname
    return f"{host} responds with {status}: its service does not reach Hookline through the tunnel."


def _host_in(location: str) -> str:
    try:
        host = urlsplit(location).hostname
    except ValueError:
        host = None
    return host if host and host.isprintable() else "another address"


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


_TEXT_MAX = 200


def failure_text(error: BaseException, url: str, timeout_ms: int) -> str | None:
    """The sentence for an exception while sending to `url`; None when the network cannot have caused it."""
    chain = list(causes_of(error))
    host, place = _host_and_port(url)
    if isinstance(error, TimeoutError):
        return f"No response within {seconds(timeout_ms)}."
    for kind, text in (
        (socket.gaierror, str(lookup_error(host))),
        (ConnectionRefusedError, str(connect_error([ConnectionRefusedError()], place))),
        ((TimeoutError, httpx.TimeoutException), f"No response within {seconds(timeout_ms)}."),
    ):
        if any(isinstance(cause, kind) for cause in chain):
            return text
    for cause in chain:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"The TLS certificate of {host} was not accepted: {cause.verify_message.rstrip('.')}."
        if isinstance(cause, ssl.SSLError):
            return str(tls_error(cause, place))
    return _broken_exchange(error, chain, place)


def _broken_exchange(error: BaseException, chain: list[BaseException], place: str) -> str | None:
    """The remaining causes when host, port, time and TLS were in order."""
    if isinstance(error, httpx.RemoteProtocolError):
        if "without sending a response" in str(error):
            return str(closed_error(None, place, responding=False))
        return f"The response from {place} was not valid HTTP, or ended early: {_short(error)}."
    if isinstance(error, httpx.ReadError | httpx.WriteError | httpx.CloseError):
        return f"{place} closed the connection."
    if isinstance(error, httpx.TransportError | OSError):
        reason = next((cause.strerror for cause in chain if isinstance(cause, OSError) and cause.strerror), "")
        return f"{place} could not be reached: {reason or _short(error)}."
    return None


def _host_and_port(url: str) -> tuple[str, str]:
    """Host, and host:port, of the URL."""
    parts = urlsplit(url)
    host = parts.hostname or url
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return host, host_port(host, port)


def _short(error: BaseException) -> str:
    text = re.sub(r"bytearray\(b(.*)\)", r"\1", str(error))  # how h11 quotes what it could not read
    return (text or type(error).__name__)[:_TEXT_MAX].rstrip(".")
