"""Calls about captured requests: list, read, mark, delete, and their bodies, which are sent part by part."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeVar

from aiohttp import web
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from app.core.bodies.decompressor import Decompressor, codings
from app.core.clock import rfc3339
from app.core.errors import NotFoundError
from app.core.model import PART_SIZE, Capture, CaptureWithBody, DeliveryState, Endpoint, PageKey, Summary
from app.core.record import Record
from app.core.redaction.secret import SecretHeaders
from app.core.search.parse import parse
from app.core.search.query import Query
from app.server.api.parameters import (
    ENDPOINT,
    KEEP,
    REDACTED,
    SEARCH,
    Parameter,
    beginning,
    cursor_of,
    cursor_text,
    flag,
    limit_of,
    paging,
    parsed_query,
    place,
)
from app.server.api.problems import Problem
from app.server.api.routes import (
    ATTACHMENT,
    Calls,
    attachment_headers,
    can_fail,
    not_stored,
    route,
    stored_request,
    takes,
)
from app.server.api.serializers import request_out, summary_out
from app.server.api.server import ApiServices
from hookline import records

if TYPE_CHECKING:
    from app.db.captures import Captures

S = TypeVar("S", bound=records.Summary)
AFTER = place("after", "Only those received after this time or request.")
BEFORE = place("before", "Only those received before this time or request.")
BEGINNING = beginning("request")
FILTERS: tuple[Parameter[Any], ...] = (ENDPOINT, BEGINNING, SEARCH, REDACTED, AFTER, BEFORE, *paging(PageKey))
DECODED = flag("decoded", "Without the content coding, such as gzip.")
INCLUDED_MAX = 64 * 1024
BODY = flag("body", f"With its body, unless that is larger than {INCLUDED_MAX // 1024} KiB.")
DAMAGED = flag("damaged", "Also a damaged body, as it is stored.")
BATCH = 500
"""Requests that are looked at together."""


class CaptureFilter:
    """Which captures a caller wants: of an endpoint (None: of any), matching a query (None: all), with `secret_headers`
    without their secrets."""

    def __init__(
        self,
        captures: Captures,
        endpoint: Endpoint | None,
        query: Query | None,
        secret_headers: SecretHeaders | None,
    ) -> None:
        self._captures, self.endpoint, self.query = captures, endpoint, query
        self.secret_headers = secret_headers

    @property
    def endpoint_id(self) -> int | None:
        return None if self.endpoint is None else self.endpoint.id

    async def wanted(self, summaries: Sequence[Summary]) -> set[str]:
        """The ids of those wanted, at most `BATCH`."""
        ids = {one.id for one in summaries if self.endpoint_id in (None, one.endpoint_id)}
        if self.query is None or not ids:
            return ids
        return await self._captures.matching(self.query, ids, self.secret_headers)

    async def described(self, items: Sequence[S]) -> list[S]:
        """Those that are still stored, described without secrets if that is asked for."""
        if self.secret_headers is None:
            return list(items)
        found = await self._captures.descriptions([one.id for one in items], self.secret_headers)
        return [replace(one, event=found[one.id].event, gist=found[one.id].gist) for one in items if one.id in found]


class FilteringCalls(Calls):
    """Handlers of calls about the captures that a caller wants."""

    def _filter(self, request: web.Request) -> CaptureFilter:
        """What the parameters `endpoint`, `q` and `redacted` say."""
        endpoint, query, secret_headers = self._only_endpoint(request), parsed_query(SEARCH.of(request) or ""), None
        if REDACTED.of(request):
            every = self._store.endpoints.all()
            secret_headers = {one.id: one.auth.name for one in every if one.auth.kind == "header"}
        return CaptureFilter(self._store.captures, endpoint, query, secret_headers)


class RequestPatch(Record, frozen=True, omit_defaults=True):
    """The body of `PATCH /requests/{id}`: absent fields stay; `"note": null` removes the note."""

    read: bool | UnsetType = UNSET
    starred: bool | UnsetType = UNSET
    note: str | UnsetType | None = UNSET


class RequestPage(Record, frozen=True):
    """A part of a list of requests; `next` is the cursor of what follows, null at its end. `unexamined` counts requests
    that a search leaves out although they may match: what their compressed bodies unpack to is too long."""

    items: tuple[records.Summary, ...]
    next: str | None
    unexamined: int


class RequestCalls(FilteringCalls):
    """Handlers of `/requests` and `/endpoints/{slug}/requests`."""

    @route("GET", "/requests", "List requests", FILTERS)
    @can_fail("invalid-query", "not-found")
    async def list(self, request: web.Request) -> RequestPage:
        """Summaries, newest first, of all endpoints or one; with `q` the matches of a search, with `id` those whose ids
        begin with it, with `after` and `before` those received between two times or requests."""
        captures, wanted = self._store.captures, self._filter(request)
        limit = limit_of(request)
        # The page begins at the cursor or at `before`, whichever is further down.
        before = min(filter(None, (cursor_of(request, PageKey), BEFORE.of(request))), default=None)
        query, begins, after, unexamined = wanted.query, BEGINNING.of(request), AFTER.of(request), list[int]()
        if query is None:
            rows = await captures.page(wanted.endpoint_id, before=before, limit=limit + 1, beginning=begins)
        elif begins is not None:
            rows = await _matching_of(captures, begins, wanted, before, limit + 1)
        else:
            if after is not None:  # so that a search does not look further
                query = replace(query, terms=(*query.terms, *parse(f"since:{rfc3339(after.received_at)}").terms))
            found = captures.search(
                query,
                wanted.endpoint_id,
                before=before,
                limit=limit + 1,
                unexamined=unexamined.append,
                secret_headers=wanted.secret_headers,
            )
            async with aclosing(found) as batches:
                rows = [row async for batch in batches for row in batch]
        if after is not None:
            rows = [row for row in rows if (row.received_at, row.id) > (after.received_at, after.id)]
        page = rows[:limit]
        following = None
        if len(rows) > limit:
            following = cursor_text(PageKey(received_at=page[-1].received_at, id=page[-1].id))
        listed = ((row, self._store.endpoints.by_id(row.endpoint_id)) for row in page)
        items = [summary_out(row, endpoint.slug) for row, endpoint in listed if endpoint is not None]
        items = await wanted.described(items)
        return RequestPage(items=tuple(items), next=following, unexamined=sum(unexamined))

    @route("GET", "/requests/{id}", "Read a request", (BODY,))
    async def read(self, request: web.Request) -> records.RequestHead:
        """One request in full, with its deliveries."""
        capture_id = request.match_info["id"]
        found = await full_request(self._services, capture_id, body=BODY.of(request) or False)
        if found is None:
            raise not_stored(capture_id)
        return found

    @route("GET", "/requests/{id}/body", "Download a request's body", (DECODED, DAMAGED), returns=ATTACHMENT)
    @can_fail("cannot-decode", "damaged-body")
    async def body(self, request: web.Request) -> web.StreamResponse:
        """The body's bytes as sent; with `decoded=true`, without their content coding. A body that does not match its
        SHA-256 any more is a problem, unless `damaged=true` asks for it."""
        decode = DECODED.of(request) or False
        capture, _ = await stored_request(self._services, request.match_info["id"])
        if not DAMAGED.of(request):
            await self._store.captures.check_body(capture)
        return await send_body(request, capture, self._store.captures, decode=decode)

    @route("PATCH", "/requests/{id}", "Mark a request")
    @takes(RequestPatch, {"starred": True, "note": "charged twice"})
    async def change(self, request: web.Request, patch: RequestPatch) -> records.RequestHead:
        """Sets or removes the given marks; all others stay. The body is not read, so `damaged` is null."""
        capture, _ = await stored_request(self._services, request.match_info["id"])
        captures = self._store.captures
        if patch.note is not UNSET:  # first, as it alone may be refused
            await captures.set_note(capture.id, patch.note or "")
        if patch.starred is not UNSET:
            await captures.star([capture.id], patch.starred)
        if patch.read is not UNSET:
            await captures.mark_read([capture.id], patch.read)
        capture, endpoint = await stored_request(self._services, request.match_info["id"])
        unread = CaptureWithBody(capture=capture, body=None, damaged=None)
        return await _in_full(self._services, unread, endpoint, body=False)

    @route("DELETE", "/requests/{id}", "Delete a request")
    async def delete(self, request: web.Request) -> None:
        """Deletes one request with its body and deliveries."""
        capture, _ = await stored_request(self._services, request.match_info["id"])
        await self._store.captures.delete([capture.id])

    @route("POST", "/endpoints/{slug}/read", "Mark an endpoint's requests as read")
    async def read_all(self, request: web.Request) -> None:
        """Marks all requests of an endpoint as read."""
        await self._store.captures.mark_all_read(self._endpoint(request).id)

    @route("DELETE", "/endpoints/{slug}/requests", "Delete an endpoint's requests", (KEEP,))
    async def clear(self, request: web.Request) -> None:
        """Deletes all requests of an endpoint, except those with a mark that `keep` names."""
        await self._store.captures.clear(self._endpoint(request).id, KEEP.of(request) or ())


async def _matching_of(
    captures: Captures, beginning: str, matching: CaptureFilter, before: PageKey | None, limit: int
) -> list[Summary]:
    """The newest matching requests with such IDs, at least `limit` if there are so many. Few requests have them."""
    found: list[Summary] = []
    while True:
        rows = await captures.page(matching.endpoint_id, before=before, limit=BATCH, beginning=beginning)
        wanted = await matching.wanted(rows)
        found += [row for row in rows if row.id in wanted]
        if len(rows) < BATCH or len(found) >= limit:
            return found
        before = PageKey(received_at=rows[-1].received_at, id=rows[-1].id)


async def full_request(services: ApiServices, capture_id: str, *, body: bool) -> records.RequestHead | None:
    """A request with its deliveries, and a short body if asked for; None if it was deleted."""
    found = await services.store.captures.get_with_body(capture_id)
    endpoint = services.store.endpoints.by_id(found.capture.endpoint_id) if found is not None else None
    if found is None or endpoint is None:
        return None
    return await _in_full(services, found, endpoint, body=body)


async def _in_full(
    services: ApiServices, found: CaptureWithBody, endpoint: Endpoint, *, body: bool
) -> records.RequestHead:
    """`body`: whether a short one is included."""
    capture, data = found.capture, found.body
    has_deliveries = capture.delivery is not DeliveryState.NONE
    deliveries = await services.store.deliveries.of_capture(capture.id) if has_deliveries else []
    last = await services.store.deliveries.last_attempts([one.id for one in deliveries]) if deliveries else {}
    given = data if body and data is not None and len(data) <= INCLUDED_MAX else UNSET
    return request_out(capture, endpoint, deliveries, last, damaged=found.damaged, body=given)


log = logging.getLogger(__name__)

DECODED_MAX = 64 * 1024 * 1024


class DecodeError(Exception):
    """The body cannot be decoded; `str()` of it says why, in a sentence."""


async def send_body(request: web.Request, capture: Capture, captures: Captures, *, decode: bool) -> web.StreamResponse:
    """Respond with the body of `capture`; a 422 problem when it cannot be decoded."""
    names = codings(capture.headers) if decode else ()
    size = capture.size
    if names:
        try:
            size = await _measured(decoded_parts(stored_parts(captures, capture), names))
        except DecodeError as error:
            detail = f"{error} Without decoded=true it is returned as sent."
            raise Problem("cannot-decode", detail) from None
    response = web.StreamResponse(headers=attachment_headers(f"{capture.id}.bin"))
    response.content_length = size
    parts = decoded_parts(stored_parts(captures, capture), names)
    # Before the status is sent, so that a request deleted just now gives a 404.
    first = b"" if request.method == "HEAD" else await anext(parts, b"")
    await response.prepare(request)
    if request.method != "HEAD":
        await _stream(request, response, first, parts)
    return response


async def stored_parts(captures: Captures, capture: Capture) -> AsyncIterator[bytes]:
    """The body as stored, in parts."""
    for offset in range(0, capture.size, PART_SIZE):
        part = await captures.body(capture.id, offset, PART_SIZE)
        if not part:
            raise NotFoundError("The request was deleted in the meantime.")
        yield part


async def decoded_parts(parts: AsyncIterator[bytes], names: tuple[str, ...]) -> AsyncIterator[bytes]:
    """`parts` with the codings `names` decoded, in pieces of at most `PART_SIZE` bytes.

    DecodeError when the data is damaged or incomplete.
    """
    if not names:
        async for part in parts:
            yield part
        return
    decompressor = Decompressor(names)
    async for part in parts:
        decompressor.feed(part)
        while piece := await asyncio.to_thread(decompressor.read, PART_SIZE):
            yield piece
        if decompressor.error:
            break
    if error := decompressor.finish():
        raise DecodeError(error)


async def _measured(parts: AsyncIterator[bytes]) -> int:
    """The number of bytes in `parts`. Decoding twice costs less than keeping them."""
    size = 0
    async for part in parts:
        size += len(part)
        if size > DECODED_MAX:
            raise DecodeError(f"The decoded body is larger than {DECODED_MAX // 1024**2} MiB.")
    return size


async def _stream(
    request: web.Request, response: web.StreamResponse, first: bytes, parts: AsyncIterator[bytes]
) -> None:
    """Write all parts. If one is missing, the connection is aborted, so that an incomplete body cannot pass for a
    complete one."""
    try:
        await response.write(first)
        async for part in parts:
            await response.write(part)
    except ConnectionError:
        return  # the caller disconnected
    except NotFoundError:
        _break_off(request)  # deleted meanwhile
    except Exception:
        log.exception("sending %s broke off", request.path)
        _break_off(request)


def _break_off(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
