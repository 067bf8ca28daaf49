"""Who may call: programs on this machine that know the token in the data folder, and no browser."""

from __future__ import annotations

import hmac
import re

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from app.core.own_urls import ALL_ADDRESSES
from app.server.api.probes import PATHS
from app.server.api.problems import RETRY_AFTER_S, Problem
from app.server.api.protocol import ApiProtocol

_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?", re.IGNORECASE)


def guard(token: str, host: str) -> Middleware:
    """Middleware that requires a loopback Host or `host`, no Origin, and `token` as bearer token. Probes may have any
    Host, and no token."""
    expected = token.encode("utf-8")

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        protocol = request.protocol
        assert isinstance(protocol, ApiProtocol)
        protocol.check_head(request)
        is_probe = request.path in PATHS
        called = request.headers.get("Host", "")
        if not is_probe and not _is_loopback(called) and not _is(host, called):
            raise Problem("forbidden-host", "Call this API at a loopback address, such as 127.0.0.1 or localhost.")
        if "Origin" in request.headers:
            raise Problem("forbidden-origin", "This API is for programs; requests from web pages are refused.")
        if is_probe:
            return await handler(request)
        if not hmac.compare_digest(_bearer(request), expected):
            detail = "Send the header Authorization: Bearer followed by the token in the data folder's api-token file."
            raise Problem("unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="hookline"'})
        protocol.authorized()
        if protocol.crowded:
            detail = "All connections to this API have a call in progress; end some of them."
            headers = {"Retry-After": str(RETRY_AFTER_S), "Connection": "close"}
            raise Problem("too-many-connections", detail, headers=headers)
        return await handler(request)

    return check


def _bearer(request: web.Request) -> bytes:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip().encode("utf-8", "surrogateescape") if scheme.lower() == "bearer" else b""


def _is(host: str, called: str) -> bool:
    """Whether a Host header says this address, with a port or without. An address that stands for all is none."""
    name, colon, port = called.rpartition(":")
    name = name if colon and port.isdecimal() and not name.endswith(":") else called
    return host not in ALL_ADDRESSES and name.removeprefix("[").removesuffix("]").lower() == host.lower()


def _is_loopback(host: str) -> bool:
    return _LOOPBACK.fullmatch(host) is not None
