"""Errors as RFC 9457 problems: each kind has a stable `type`, and field errors name the field."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from app.core.errors import (
    BackupError,
    DamagedBodyError,
    DataFolderError,
    HooklineError,
    InvalidFieldsError,
    NotAllowedError,
    NotFoundError,
    PlanLimitError,
    PortInUseError,
    StorageUnavailableError,
)
from app.core.rules import FieldError
from app.core.search.query import QueryError
from app.server.capture.head import MalformedError
from hookline.decoding import convert

log = logging.getLogger(__name__)

T = TypeVar("T")

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:hookline:problem:"
UNAVAILABLE, RETRY_AFTER_S = 503, 5


class Kind(NamedTuple):
    """A kind of problem: its usual status and its title."""

    status: int
    title: str


KINDS = {
    "bad-request": Kind(400, "Bad request"),
    "body-too-large": Kind(413, "The request body is too large"),
    "cannot-back-up": Kind(409, "The backup cannot be made"),
    "cannot-compare": Kind(409, "There are no two targets to compare"),
    "cannot-decode": Kind(422, "The body cannot be decoded"),
    "cannot-replay": Kind(409, "The request cannot be replayed"),
    "cannot-retry": Kind(409, "This delivery cannot be retried"),
    "cannot-send-now": Kind(409, "This delivery cannot be sent now"),
    "damaged-body": Kind(500, "The stored body is damaged"),
    "forbidden-host": Kind(403, "The Host is not a loopback address"),
    "forbidden-origin": Kind(403, "Browsers may not call this API"),
    "internal": Kind(500, "Internal error"),
    "invalid-fields": Kind(422, "Some fields are invalid"),
    "invalid-json": Kind(400, "The body is not valid JSON"),
    "invalid-parameter": Kind(400, "Invalid query parameter"),
    "invalid-query": Kind(400, "Invalid search"),
    "method-not-allowed": Kind(405, "The method is not allowed here"),
    "not-allowed": Kind(403, "Your role does not allow this"),
    "not-found": Kind(404, "Not found"),
    "not-running": Kind(409, "Hookline is not running"),
    "plan-limit": Kind(409, "The plan does not allow this"),
    "position-unknown": Kind(409, "The position is not known"),
    "port-in-use": Kind(409, "The port is already in use"),
    "replay-state": Kind(409, "The replay is in another state"),
    "stopping": Kind(503, "Hookline is stopping"),
    "storage-unavailable": Kind(503, "Requests cannot be stored right now"),
    "too-many-connections": Kind(503, "Too many calls are in progress"),
    "too-many-followers": Kind(503, "Too many callers wait for events"),
    "tunnel-down": Kind(409, "The tunnel has no URL"),
    "unauthorized": Kind(401, "The token is missing or wrong"),
}
"""All problems by the last part of their type. Only `bad-request` has other statuses too: what aiohttp refuses."""
_AT = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`")
_MISSING = re.compile(r"missing required field `(?P<name>[^`]*)`")


def json_text(shape: Any) -> bytes:
    """Ends with a newline, so that a terminal's prompt begins on a line of its own."""
    return msgspec.json.encode(shape) + b"\n"


class ProblemOut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of every error response."""

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[FieldError, ...] = ()
    span: tuple[int, int] | None = None
    """The part of a search that is wrong: the first character, and the one after the last."""
    suggestion: str | None = None
    """What could stand there instead."""


class Problem(Exception):  # noqa: N818 - RFC 9457's own word
    """Raised by a handler to respond with a problem. `kind` is the last part of its type."""

    def __init__(
        self,
        kind: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        *,
        status: int | None = None,
    ) -> None:
        """`status` None: that of its kind. Each 503 says when to try again."""
        super().__init__(detail)
        self.kind = kind
        self.status = KINDS[kind].status if status is None else status
        again = {"Retry-After": str(RETRY_AFTER_S)} if self.status == UNAVAILABLE else {}
        self.headers = {**again, **(headers or {})}
        self.shape = ProblemOut(
            type=TYPE_PREFIX + kind,
            title=KINDS[kind].title,
            status=self.status,
            detail=detail,
            errors=tuple(errors),
        )

    def response(self) -> web.Response:
        return web.Response(
            body=json_text(self.shape), status=self.status, content_type=MEDIA_TYPE, headers=self.headers
        )


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
    except (MalformedError, web.RequestPayloadError) as error:
        return Problem("bad-request", f"Malformed HTTP: {error}.").response()
    except ConnectionError:  # the caller disconnected; nobody reads this
        return Problem("bad-request", "The connection ended before the request was complete.").response()
    except Exception:
        log.exception("%s %s failed", request.method, request.path)
        return Problem("internal", "Hookline could not do this because of an internal error; see its log.").response()


_KIND_OF: dict[type[HooklineError], str] = {
    InvalidFieldsError: "invalid-fields",
    PlanLimitError: "plan-limit",
    PortInUseError: "port-in-use",
    BackupError: "cannot-back-up",
    DamagedBodyError: "damaged-body",
    NotFoundError: "not-found",
    NotAllowedError: "not-allowed",
    StorageUnavailableError: "storage-unavailable",
    DataFolderError: "storage-unavailable",
}


def problem_of(error: HooklineError) -> Problem:
    """The problem for an error from elsewhere in the program."""
    kind = next((kind for one, kind in _KIND_OF.items() if isinstance(error, one)), "internal")
    errors = error.errors if isinstance(error, InvalidFieldsError) else ()
    return Problem(kind, str(error), errors)


def router_problem(request: web.BaseRequest, error: web.HTTPException) -> Problem:
    """The problem for what aiohttp itself rejects: unknown paths, methods, bodies that are too large."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        detail = f"{request.method} is not allowed at {request.path}; use {allowed}."
        return Problem("method-not-allowed", detail, headers={"Allow": allowed})
    if isinstance(error, web.HTTPNotFound):
        return Problem("not-found", f"Nothing exists at {request.path}.")
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return Problem("body-too-large", "The request body can have at most 2 MiB.")
    return Problem("bad-request", f"{error.reason}.", status=error.status)


def _number(text: str) -> int | float:
    """`8.0` is a whole number in JSON, as a schema's `integer` has it."""
    value = float(text)
    return int(value) if value.is_integer() else value


_JSON = msgspec.json.Decoder(float_hook=_number)


def decoded(body: bytes, shape: type[T]) -> T:
    """`body` decoded as `shape`; a Problem that names the field when it does not fit."""
    try:
        return convert(_JSON.decode(body), shape)
    except msgspec.ValidationError as error:
        broken = _field_error(str(error))
        raise Problem("invalid-fields", broken.message, [broken]) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        detail = f"The body must be a JSON object: {error}." if body else "The body is empty; send a JSON object."
        raise Problem("invalid-json", detail) from None


def parameter_problem(name: str, message: str) -> Problem:
    """The problem of a query parameter that is unknown, given twice or out of bounds."""
    return Problem("invalid-parameter", message, [FieldError(field=name, message=message)])


def query_problem(error: QueryError) -> Problem:
    """The problem of an invalid search in the query parameter `q`."""
    problem = Problem("invalid-query", error.message, [FieldError(field="q", message=error.message)])
    problem.shape = msgspec.structs.replace(problem.shape, span=(error.start, error.end), suggestion=error.suggestion)
    return problem


def _field_error(text: str) -> FieldError:
    """msgspec's message, such as ``Expected `int`, got `str` - at `$.auth.name` ``, as one about a dotted field."""
    place = _AT.search(text)
    path = place["path"].removeprefix(".") if place else ""
    text = _AT.sub("", text)
    for pattern, sentence in ((_UNKNOWN, "Unknown field {}."), (_MISSING, "{} is required.")):
        found = pattern.search(text)
        if found:
            field = f"{path}.{found['name']}" if path else found["name"]
            return FieldError(field=field, message=sentence.format(field))
    text = text[:1].lower() + text[1:]
    return FieldError(field=path, message=f"{path}: {text}." if path else f"The body: {text}.")
