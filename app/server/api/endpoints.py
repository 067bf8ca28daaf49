"""Calls about endpoints and their targets: list, create, read, change, pause, resume, delete; and the call that
compares what two targets responded to the same requests."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from aiohttp import web
from msgspec import UNSET

from app.core.comparison import (
    IGNORED_HEADERS,
    ComparedRequest,
    ComparisonResult,
    IgnoredFields,
    compare_pairs,
)
from app.core.errors import InvalidFieldsError
from app.core.json_path import json_path_error
from app.core.model import Endpoint, EndpointDraft, PageKey
from app.core.record import Record
from app.core.rules import HEADER_MAX, HEADER_NAME_PATTERN, FieldError, headers_error, position_error
from app.core.target import Target, TargetCounts, TargetDraft
from app.server.api.parameters import (
    After,
    Parameter,
    choice,
    cursor_of,
    cursor_text,
    flag,
    limit_of,
    number,
    ordered_page,
    paging,
    text,
)
from app.server.api.problems import Problem, parameter_problem
from app.server.api.routes import Calls, Page, can_fail, endpoint_named, located, route, takes
from app.server.api.serializers import made, merged, patch_of, summary_out, target_out
from hookline import records

T = TypeVar("T", Endpoint, Target)

TAG = text("tag", "Only endpoints with this tag, without regard to case.")
EXAMPLE = {"name": "Orders", "slug": "orders", "forward_url": "http://localhost:3000/hooks"}


BATCH_MAX = 100


class EndpointBatchIn(Record, frozen=True):
    """The body of `PATCH /endpoints`: endpoints to create, and the slugs of those to delete."""

    create: tuple[EndpointDraft, ...] = ()
    delete: tuple[str, ...] = ()


EndpointPatch = patch_of(
    EndpointDraft,
    "The body of `PATCH /endpoints/{slug}`: absent fields stay; null clears `forward_url` and `storage_limit`."
    " `position` is the place in the list of endpoints, from 1.",
    slug=str,
    position=int,
)


def place_of(one: Endpoint | Target, among: Sequence[Endpoint | Target]) -> int:
    """Its place, from 1; after all others if it was deleted just now."""
    return next((place for place, other in enumerate(among, 1) if other.id == one.id), len(among) + 1)


async def patched(part: Any, one: T, patch: Any, count: int) -> T:
    """Change an endpoint or a target, one of `count`, in this part of the store; nothing if InvalidFieldsError is
    raised."""
    fields, position = msgspec.structs.replace(patch, position=UNSET), patch.position
    if position is not UNSET and (wrong := position_error(position, count)):
        raise InvalidFieldsError([FieldError(field="position", message=wrong)])
    if position is UNSET or fields != type(patch)():
        one = await part.update(one.id, merged(one.draft(), fields))
    if position is not UNSET:
        await part.move(one.id, position)
    return one


class EndpointCalls(Calls):
    """Handlers of `/endpoints`."""

    @route("GET", "/endpoints", "List endpoints", (*paging(After), TAG))
    async def list(self, request: web.Request) -> Page[records.Endpoint]:
        """In the user's order, new ones last; with `tag`, those that have it."""
        tag = (TAG.of(request) or "").casefold()
        counts = await self._store.deliveries.target_counts()
        page, following = ordered_page(
            request,
            self._store.endpoints.all(),
            lambda one: not tag or tag in map(str.casefold, one.tags),
        )
        return Page(tuple(self._out(one, counts, place) for place, one in page), following)

    @route("POST", "/endpoints", "Create an endpoint", status=201)
    @located("/endpoints/{made.slug}")
    @takes(EndpointDraft, EXAMPLE)
    @can_fail("plan-limit")
    async def create(self, request: web.Request, draft: EndpointDraft) -> records.Endpoint:
        """201 with the endpoint; 409 beyond the plan, 422 for fields that break a rule."""
        endpoint = await self._store.endpoints.create(draft)
        return await self._read(endpoint)

    @route("PATCH", "/endpoints", "Create and delete several endpoints")
    @takes(EndpointBatchIn, {"create": [{"name": "Orders"}], "delete": []})
    @can_fail("plan-limit", "not-found")
    async def change_several(self, request: web.Request, batch: EndpointBatchIn) -> Page[records.Endpoint]:
        """Deletes endpoints and creates others, each as a call of its own would, but in one commit. Returns those
        created. If one fails, the others are still done, and the response is its problem."""
        endpoints = self._store.endpoints
        errors = [
            FieldError(field=name, message=f"{name} can name at most {BATCH_MAX} endpoints, not {len(given)}.")
            for name, given in (("create", batch.create), ("delete", batch.delete))
            if len(given) > BATCH_MAX
        ]
        if errors:
            raise InvalidFieldsError(errors)
        ids = dict.fromkeys(endpoint_named(endpoints, slug).id for slug in batch.delete)
        deleting = asyncio.gather(*map(endpoints.delete, ids), return_exceptions=True)
        created = await asyncio.gather(*map(endpoints.create, batch.create), return_exceptions=True)
        for place, one in enumerate([*created, *await deleting]):
            if isinstance(one, InvalidFieldsError):
                raise InvalidFieldsError(
                    [msgspec.structs.replace(error, field=f"create[{place}].{error.field}") for error in one.errors]
                )
            if isinstance(one, BaseException):
                raise one
        items = [await self._read(one) for one in created if isinstance(one, Endpoint)]
        return Page(tuple(items), None)

    @route("GET", "/endpoints/{slug}", "Read an endpoint")
    async def read(self, request: web.Request) -> records.Endpoint:
        """One endpoint."""
        return await self._read(self._endpoint(request))

    @route("PATCH", "/endpoints/{slug}", "Change an endpoint")
    @takes(EndpointPatch, {"retention_days": 30, "response": {"status": 204}})
    async def change(self, request: web.Request, patch: Any) -> records.Endpoint:
        """Changes the given fields; all others stay."""
        async with self._services.changing:
            endpoints = self._store.endpoints
            endpoint = await patched(endpoints, self._endpoint(request), patch, len(endpoints.all()))
        return await self._read(endpoint)

    @route("DELETE", "/endpoints/{slug}", "Delete an endpoint")
    async def delete(self, request: web.Request) -> None:
        """Deletes the endpoint and all its requests."""
        await self._store.endpoints.delete(self._endpoint(request).id)

    async def _read(self, endpoint: Endpoint) -> records.Endpoint:
        return self._out(endpoint, await self._store.deliveries.target_counts() if endpoint.targets else {})

    def _out(
        self, endpoint: Endpoint, of_targets: Mapping[int, TargetCounts], position: int | None = None
    ) -> records.Endpoint:
        counts, use = self._store.captures.counts(endpoint.id), self._store.limits.use_of(endpoint.id)
        return made(
            records.Endpoint,
            endpoint,
            url=self._services.addresses.capture_url(endpoint),
            tunnel=self._services.tunnels.url_state,
            position=position or place_of(endpoint, self._store.endpoints.all()),
            request_count=counts.total,
            unread_count=counts.unread,
            last_request_at=counts.last_received_at,
            stored_bytes=counts.stored_bytes,
            storage_limit_reached=use.reached,
            targets=tuple(target_out(one, place, of_targets) for place, one in enumerate(endpoint.targets, 1)),
        )


TargetPatch = patch_of(
    TargetDraft,
    "The body of `PATCH /endpoints/{slug}/targets/{id}`: absent fields stay; null clears `client_certificate` and"
    " `client_key`. `position` is the place among the endpoint's targets, from 1.",
    position=int,
)


class TargetCalls(Calls):
    """Handlers of `/endpoints/{slug}/targets`."""

    @route("GET", "/endpoints/{slug}/targets", "List an endpoint's targets", paging(After))
    async def list(self, request: web.Request) -> Page[records.Target]:
        """In the user's order, new ones last."""
        counts = await self._store.deliveries.target_counts()
        page, following = ordered_page(request, self._endpoint(request).targets)
        items = (target_out(one, place, counts) for place, one in page)
        return Page(tuple(items), following)

    @route("POST", "/endpoints/{slug}/targets", "Create a target", status=201)
    @located("/endpoints/{slug}/targets/{made.id}")
    @takes(TargetDraft, {"url": "http://localhost:3001/hooks", "retry": {"retries": 2}})
    async def create(self, request: web.Request, draft: TargetDraft) -> records.Target:
        """201 with the target; 422 for fields that break a rule."""
        return await self._out(await self._store.targets.create(self._endpoint(request).id, draft))

    @route("GET", "/endpoints/{slug}/targets/{id}", "Read a target")
    async def read(self, request: web.Request) -> records.Target:
        """One target."""
        return await self._out(self._named(request))

    @route("PATCH", "/endpoints/{slug}/targets/{id}", "Change a target")
    @takes(TargetPatch, {"timeout_ms": 5000, "position": 1})
    async def change(self, request: web.Request, patch: Any) -> records.Target:
        """Changes the given fields; all others stay."""
        async with self._services.changing:
            target, count = self._named(request), len(self._endpoint(request).targets)
            target = await patched(self._store.targets, target, patch, count)
        return await self._out(target)

    @route("DELETE", "/endpoints/{slug}/targets/{id}", "Delete a target")
    async def delete(self, request: web.Request) -> None:
        """Deletes the target; deliveries queued for it are not sent, and have failed if there was an attempt."""
        await self._store.targets.delete(self._named(request).id)

    @route("POST", "/endpoints/{slug}/targets/{id}/pause", "Pause a target")
    async def pause(self, request: web.Request) -> records.Target:
        """Keeps deliveries to it queued."""
        return await self._out(await self._store.targets.pause(self._named(request).id))

    @route("POST", "/endpoints/{slug}/targets/{id}/resume", "Resume a target")
    async def resume(self, request: web.Request) -> records.Target:
        """Sends the queued deliveries."""
        return await self._out(await self._store.targets.resume(self._named(request).id))

    def _named(self, request: web.Request) -> Target:
        text = request.match_info["id"]
        endpoint = self._endpoint(request)
        for target in endpoint.targets:
            if str(target.id) == text:
                return target
        raise Problem("not-found", f"Endpoint {endpoint.slug!r} has no target {text!r}.")

    async def _out(self, target: Target) -> records.Target:
        counts = await self._store.deliveries.target_counts()
        endpoint = self._store.endpoints.by_id(target.endpoint_id)
        return target_out(target, place_of(target, () if endpoint is None else endpoint.targets), counts)


FIRST = number("first", "The first target's ID. Absent: the endpoint's first target that is not the other one.")
SECOND = number("second", "The second target's ID. Absent: the endpoint's next target.")
ONLY = choice("only", "Only requests whose responses differ.", ("different",))
ALL_HEADERS = flag("all_headers", "Compare also headers that usually differ, such as Date.")
IGNORE_HEADER = text(
    "ignore_header",
    "The name of a header to ignore.",
    repeatable=True,
    pattern=HEADER_NAME_PATTERN,
    maxLength=HEADER_MAX,
)
IGNORE_PATH = text("ignore_path", "A JSON path to ignore, such as `data.id`.", repeatable=True)
PARAMETERS: tuple[Parameter[Any], ...] = (
    FIRST,
    SECOND,
    ONLY,
    ALL_HEADERS,
    IGNORE_HEADER,
    IGNORE_PATH,
    *paging(PageKey),
)
PAIRS_MAX = 100
"""Pairs compared by one call: a pair of long responses takes up to a second."""


class ComparedTargets(Record, frozen=True):
    """The IDs of the targets whose responses are compared."""

    first: int
    second: int


class ComparisonPage(Record, frozen=True):
    """A part of a comparison; `compared` requests were compared for it, of which the `items` are shown."""

    targets: ComparedTargets
    compared: int
    items: tuple[records.ComparedRequest, ...]
    next: str | None


class ComparisonCalls(Calls):
    """Handler of `/endpoints/{slug}/compare`."""

    @route("GET", "/endpoints/{slug}/compare", "Compare two targets' responses", PARAMETERS)
    @can_fail("cannot-compare")
    async def compare(self, request: web.Request) -> ComparisonPage:
        """Requests that both targets have responded to, newest first. A page can have fewer items than `limit`, even
        none, and still a `next`."""
        endpoint = self._endpoint(request)
        first, second = _targets_of(request, endpoint)
        ignored, limit, before = _ignored_of(request), limit_of(request), cursor_of(request, PageKey)
        only = ONLY.of(request)
        found = await self._store.response_pairs.page(
            endpoint.id, first.id, second.id, before=before, limit=min(limit, PAIRS_MAX)
        )
        compared = await asyncio.to_thread(compare_pairs, found.pairs, ignored)
        shown = [one for one in compared if only is None or one.result is ComparisonResult.DIFFERENT]
        return ComparisonPage(
            targets=ComparedTargets(first=first.id, second=second.id),
            compared=len(compared),
            items=tuple(_out(one, endpoint.slug) for one in shown),
            next=None if found.next is None else cursor_text(found.next),
        )


def _targets_of(request: web.Request, endpoint: Endpoint) -> tuple[Target, Target]:
    """The targets `first` and `second`; the endpoint's first two if they are not given."""
    if len(endpoint.targets) < 2:
        raise Problem("cannot-compare", f"Endpoint {endpoint.slug!r} has fewer than two targets. Add a target first.")
    first, second = FIRST.of(request), SECOND.of(request)
    by_id = {target.id: target for target in endpoint.targets}
    for given in (first, second):
        if given is not None and given not in by_id:
            raise Problem("not-found", f"Endpoint {endpoint.slug!r} has no target {given}.")
    if first is not None and first == second:
        raise Problem("cannot-compare", "A target cannot be compared with itself.")
    free = [target.id for target in endpoint.targets if target.id not in (first, second)]
    first = first if first is not None else free.pop(0)
    second = second if second is not None else free.pop(0)
    return by_id[first], by_id[second]


def _ignored_of(request: web.Request) -> IgnoredFields:
    headers, paths = (tuple(request.query.getall(one.name, [])) for one in (IGNORE_HEADER, IGNORE_PATH))
    for name in headers:
        if (wrong := headers_error(((name, ""),), "ignore_header", frozenset())) is not None:
            raise parameter_problem("ignore_header", wrong)
    for path in paths:
        if (wrong := json_path_error(path)) is not None:
            raise parameter_problem("ignore_path", wrong)
    usual = () if ALL_HEADERS.of(request) else IGNORED_HEADERS
    return IgnoredFields(headers=(*usual, *headers), json_paths=paths)


def _out(one: ComparedRequest, slug: str) -> records.ComparedRequest:
    result = one.result
    return made(
        records.ComparedRequest,
        one,
        request=summary_out(one.request, slug),
        same=None if result is ComparisonResult.NO_RESPONSE else result is ComparisonResult.SAME,
        differences=tuple(made(records.Difference, each) for each in one.comparison.differences),
        more=one.comparison.more,
        notes=one.comparison.notes,
    )
