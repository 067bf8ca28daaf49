"""The call that compares what two targets of an endpoint responded to the same requests."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from app.core.comparison.json_path import json_path_error
from app.core.comparison.response_comparison import (
    IGNORED_HEADERS,
    ComparedRequest,
    ComparisonResult,
    IgnoredFields,
    compare_pairs,
)
from app.core.model import Endpoint, PageKey
from app.core.record import Record
from app.core.rules import HEADER_MAX, HEADER_NAME_PATTERN, headers_error
from app.core.target import Target
from app.server.api.parameters import Parameter, choice, cursor_of, cursor_text, flag, limit_of, number, paging, text
from app.server.api.problems import Problem, parameter_problem
from app.server.api.routes import Calls, can_fail, route
from app.server.api.serializers import made, summary_out
from hookline import records

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
