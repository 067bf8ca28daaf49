"""Who may call: programs on this machine that know the token, and no browser. Also turns errors into problems."""

from __future__ import annotations

import hmac
import logging
import re

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from app.core.errors import HooklineError
from app.server.api.problems import Problem, problem_of, router_problem

log = logging.getLogger(__name__)

_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?", re.IGNORECASE)


def guard(token: str) -> Middleware:
    """Middleware that lets a request pass whose Host is loopback, that has no Origin, and that bears `token`."""
    expected = token.encode("utf-8")

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not _is_loopback(request.headers.get("Host", "")):
            raise Problem(403, "forbidden-host", "Call this API at a loopback address, such as 127.0.0.1 or localhost.")
        if "Origin" in request.headers:
            raise Problem(403, "forbidden-origin", "This API is for programs; requests from web pages are refused.")
        if not hmac.compare_digest(_bearer(request), expected):
            detail = "Send the header Authorization: Bearer followed by the token in the data folder's api-token file."
            raise Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": 'Bearer realm="hookline"'})
        return await handler(request)

    return check


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Middleware that turns every error into a problem."""
    try:
        return await handler(request)
    except Problem as problem:
        return problem.response()
    except HooklineError as error:
        return problem_of(error).response()
    except web.HTTPException as error:
        return router_problem(request, error).response()
    except web.RequestPayloadError:
        return Problem(400, "bad-request", "Malformed HTTP: the framing of the request's body is invalid.").response()
    except ConnectionError:  # the caller disconnected; nobody reads this
        return Problem(400, "bad-request", "The connection ended before the request was complete.").response()
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        return Problem(
            500, "internal", "Hookline could not do this because of an internal error; see its log."
        ).response()


def _bearer(request: web.Request) -> bytes:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip().encode("utf-8", "surrogateescape") if scheme.lower() == "bearer" else b""


def _is_loopback(host: str) -> bool:
    return _LOOPBACK.fullmatch(host) is not None
