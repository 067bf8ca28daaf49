"""Calls about captured requests: list, read, mark, delete, replay, and wait for one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypedDict, Unpack

import msgspec

from hookline.calls import Call, Pages, Response, Steps, decode_as, flags_of, nothing, path_of, query_of
from hookline.client.methods import Asynchronous, Blocking, ListMethod, Method
from hookline.errors import ProblemError, WaitTimeoutError
from hookline.records import ReplayedRequest, Request, RequestHead, Summary

OK = 200
PATH = "/requests"
CANNOT_DECODE = "cannot-decode"
WAIT_MAX_S = 300.0

Mark = Literal["starred", "noted"]


class Marks(TypedDict, total=False):
    """The user's marks. `note` None removes the note."""

    read: bool
    starred: bool
    note: str | None


class ReplayRequestFields(TypedDict, total=False):
    """Where to and what; without, to the endpoint's targets, as captured. The captured sub-path and query are added to
    `url`. `headers` replace all; the body is `body` or the bytes in `body_base64`."""

    url: str
    to_endpoint: str
    method: str
    headers: Sequence[tuple[str, str]]
    body: str
    body_base64: bytes
    incomplete: bool


class Waited(NamedTuple):
    """The result of one turn of waiting: a request with its body if that is short, None if none came, and where to go
    on."""

    request: Request | None
    position: str


class _Calls:
    @ListMethod
    def list(
        self,
        endpoint: str | None = None,
        q: str = "",
        count: int | None = None,
        *,
        after: datetime | str | None = None,
        before: datetime | str | None = None,
        id_start: str = "",
        redacted: bool = False,
    ) -> Pages[Summary]:
        """The newest `count` requests, or all (None), of an endpoint (a slug) or of all, that match the search `q`;
        newest first. `after` and `before` are times or the IDs of requests; with `id_start`, those whose IDs begin so.
        `redacted`: nothing is found in secrets, and no gist has one."""
        params = query_of(endpoint=endpoint, q=q, after=_place(after), before=_place(before), id=id_start)
        return Pages(PATH, Summary, params | flags_of(redacted=redacted), count)

    @Method
    def head(self, request_id: str) -> Call[RequestHead]:
        """A request with headers, without its body."""
        return Call("GET", path_of("requests", request_id), decode_as(RequestHead))

    @Method
    def get(self, request_id: str) -> Steps[Request]:
        """A request with headers and body."""
        request = yield Call("GET", path_of("requests", request_id), decode_as(Request), {"body": "true"})
        return (yield from with_body(request))

    @Method
    def body(self, request_id: str, *, decoded: bool = False, damaged: bool = False) -> Call[bytes]:
        """The body as sent, or without its content coding. ProblemError if it is damaged, unless that is `damaged`."""
        return _body(request_id, decoded, damaged)

    @Method
    def mark(self, request_id: str, **marks: Unpack[Marks]) -> Call[Request]:
        """Change the given marks; returns the request without its body."""
        return Call("PATCH", path_of("requests", request_id), decode_as(Request), content=marks)

    @Method
    def mark_all_read(self, endpoint: str) -> Call[None]:
        """Mark all requests of an endpoint as read."""
        return Call("POST", path_of("endpoints", endpoint, "read"), nothing, timeout_s=None)

    @Method
    def delete(self, request_id: str) -> Call[None]:
        """Delete a request with its body and deliveries."""
        return Call("DELETE", path_of("requests", request_id), nothing)

    @Method
    def clear(self, endpoint: str, keep: Sequence[Mark] = ()) -> Call[None]:
        """Delete all requests of an endpoint, except those with a mark in `keep`."""
        path = path_of("endpoints", endpoint, "requests")
        # takes minutes for a million
        return Call("DELETE", path, nothing, query_of(keep=",".join(keep)), timeout_s=None)

    @Method
    def wait(
        self, endpoint: str | None = None, q: str = "", *, after: str | None = None, timeout: float = 30.0
    ) -> Steps[Request]:
        """The oldest matching request that was stored after `after`, or from now on (None); waits for it.

        `after` is a request's ID or a `position`: with the last one's ID, no request is missed and none comes twice.
        WaitTimeoutError if none is stored within `timeout` seconds.
        """
        until = time.monotonic() + timeout
        while True:
            left = until - time.monotonic()
            waited = yield wait_call(endpoint, q, after, left)
            if waited.request is not None:
                return (yield from with_body(waited.request))
            after = waited.position
            if left <= WAIT_MAX_S:
                raise WaitTimeoutError(f"No matching request was stored within {timeout:g} s.")

    @Method
    def position(self) -> Steps[str]:
        """The present place in the order of storing: `wait` after it for what is stored from now on."""
        waited: Waited = yield wait_call(None, "", None, 0)
        return waited.position

    @Method
    def replay(self, request_id: str, **fields: Unpack[ReplayRequestFields]) -> Call[ReplayedRequest]:
        """Send a request again and wait for the result."""
        path = path_of("requests", request_id, "replay")
        return Call("POST", path, decode_as(ReplayedRequest), content=fields, timeout_s=None)


class Requests(_Calls, Blocking):
    """`client.requests`."""


class AsyncRequests(_Calls, Asynchronous):
    """`Requests` for asyncio."""


def _place(place: datetime | str | None) -> str | None:
    return place.astimezone(UTC).isoformat() if isinstance(place, datetime) else place


def with_body(request: Request) -> Steps[Request]:
    """The calls for the body of `request`, if it came without; returns it with the body."""
    if not request.size:
        return request
    given = request.body_base64
    body = decoded = (yield _body(request.id, decoded=False)) if given is msgspec.UNSET else given
    if "content-encoding" in request.headers:
        try:
            decoded = yield _body(request.id, decoded=True)
        except ProblemError as error:
            if error.kind != CANNOT_DECODE:
                raise
            decoded = None
    return msgspec.structs.replace(request, body=body, decoded_body=decoded, body_base64=msgspec.UNSET)


def _body(request_id: str, decoded: bool = False, damaged: bool = False) -> Call[bytes]:
    params = flags_of(decoded=decoded, damaged=damaged)
    return Call("GET", path_of("requests", request_id, "body"), _content, params or None)


def _content(response: Response) -> bytes:
    return response.content


def wait_call(
    endpoint: str | None, q: str, after: str | None, timeout: float, *, redacted: bool = False, body: bool = True
) -> Call[Waited]:
    """One turn of waiting, of at most `WAIT_MAX_S` seconds; a short `body` comes with the request."""
    seconds = max(0.0, min(timeout, WAIT_MAX_S))
    asked = query_of(endpoint=endpoint, q=q, after=after) | flags_of(redacted=redacted, body=body)
    params = {**asked, "timeout": f"{seconds:.3f}"}
    return Call("GET", f"{PATH}/wait", _waited, params, timeout_s=seconds + 60)


def _waited(response: Response) -> Waited:
    request = decode_as(Request)(response) if response.status == OK else None
    return Waited(request, response.headers.get("hookline-position", ""))
