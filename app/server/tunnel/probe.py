"""Asks the capture port something through the public URL, and says what responded instead.

Imported with the first probe: httpx takes a good part of a start.
"""

from __future__ import annotations

import socket
import time
from typing import NamedTuple
from urllib.parse import urlsplit

import httpx

from app.core.clock import now_us
from app.core.errors import HooklineError
from app.core.record import Headers
from app.core.tunnel.tunnel import Probe
from app.server.forward.attempt_failure import causes_of
from app.server.probe_key import ProbeKey
from app.server.test_request import ask

TIMEOUT_S = 10.0
BODY_MAX = 64 * 1024
_SIGN_IN = (401, 403, 407, 511)


class ProbeResult(NamedTuple):
    """`unresolved`: the URL's host name could not be looked up, which says more about this network than the tunnel."""

    probe: Probe
    unresolved: bool = False


async def probe(base: str, key: ProbeKey, headers: Headers, timeout_s: float = TIMEOUT_S) -> ProbeResult:
    """Request a target of this run below `base`. Only this Hookline's own response is a success."""
    target = key.new_target()
    url, at, began = f"{base}{target}", now_us(), time.perf_counter()
    try:
        response, body = await ask("GET", url, headers, round(timeout_s * 1000), body_max=BODY_MAX)
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
        return (
            f"The public URL redirects to {_place(response.headers.get('Location', ''))} instead of reaching Hookline."
            " If this network has a sign-in page, sign in first."
        )
    if response.headers.get("Server") == "Hookline":
        return "Another Hookline responds at the public URL: the tunnel leads to another program's port."
    if code := response.headers.get("ngrok-error-code"):
        return f"ngrok responds with {code[:40]} instead of Hookline. See https://ngrok.com/docs/errors."
    if status in _SIGN_IN:
        return f"The public URL responds with {status}: it asks for a sign-in before it reaches Hookline."
    if response.is_success:
        page = (
            "a web page" if b"<html" in body[:BODY_MAX].lower() or b"<!doctype" in body[:100].lower() else "something"
        )
        return (
            f"Another program responds at the public URL, with {page} that is not Hookline's. It may be a sign-in page"
            " of this network or a warning page of the tunnel."
        )
    host = urlsplit(base).hostname
    return f"{host} responds with {status}: its service does not reach Hookline through the tunnel."


def _place(location: str) -> str:
    try:
        host = urlsplit(location).hostname
    except ValueError:
        host = None
    return host if host and host.isprintable() else "another address"
