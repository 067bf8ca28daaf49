"""Explains why a test request, which httpx sends, could not be sent or got no valid response."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx

from app.core.errors import HooklineError
from app.server.forward.attempt_failure import seconds

_TEXT_MAX = 200


def failure_text(error: BaseException, url: str, timeout_ms: int) -> str | None:
    """The sentence for an exception while sending to `url`; None when the network cannot have caused it."""
    chain = list(_causes(error))
    host, place = _place(url)
    if isinstance(error, TimeoutError):
        return f"No response within {seconds(timeout_ms)}."
    for kind, text in (
        (socket.gaierror, f"The host name {host} could not be found."),
        (ConnectionRefusedError, f"Nothing is listening at {place} (connection refused)."),
        ((TimeoutError, httpx.TimeoutException), f"No response within {seconds(timeout_ms)}."),
    ):
        if any(isinstance(cause, kind) for cause in chain):
            return text
    for cause in chain:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"The TLS certificate of {host} was not accepted: {cause.verify_message.rstrip('.')}."
        if isinstance(cause, ssl.SSLError):
            return f"TLS with {place} failed ({_reason(cause)}). Does that port speak https?"
    return _broken_exchange(error, chain, place)


def _broken_exchange(error: BaseException, chain: list[BaseException], place: str) -> str | None:
    """The remaining causes when host, port, time and TLS were in order."""
    if isinstance(error, HooklineError):
        return str(error)
    if isinstance(error, httpx.LocalProtocolError):
        return f"This request cannot be sent as HTTP/1.1: {_short(error)}."
    if isinstance(error, httpx.RemoteProtocolError):
        if "without sending a response" in str(error):
            return f"{place} closed the connection without a response."
        return f"The response from {place} was not valid HTTP, or ended early: {_short(error)}."
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return f"The forward URL cannot be used: {_short(error)}."
    if isinstance(error, httpx.ReadError | httpx.WriteError | httpx.CloseError):
        return f"{place} closed the connection."
    if isinstance(error, httpx.TransportError | OSError):
        reason = next((cause.strerror for cause in chain if isinstance(cause, OSError) and cause.strerror), "")
        return f"{place} could not be reached: {reason or _short(error)}."
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and all its causes, groups opened."""
    waiting, seen = [error], set()
    while waiting:
        cause = waiting.pop()
        if id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting.extend(inner for inner in (cause.__cause__, cause.__context__) if inner is not None)
        if isinstance(cause, BaseExceptionGroup):
            waiting.extend(cause.exceptions)


def _place(url: str) -> tuple[str, str]:
    """Host, and host:port, of the URL."""
    parts = urlsplit(url)
    host = parts.hostname or url
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return host, f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: ssl.SSLError) -> str:
    return str(getattr(error, "reason", None) or error).replace("_", " ").lower()


def _short(error: BaseException) -> str:
    text = re.sub(r"bytearray\(b(.*)\)", r"\1", str(error))  # how h11 quotes what it could not read
    return (text or type(error).__name__)[:_TEXT_MAX].rstrip(".")
