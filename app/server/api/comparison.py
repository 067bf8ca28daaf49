"""The call that compares what two targets of an endpoint responded to the same requests."""

from __future__ import annotations

import asyncio

from aiohttp import web

from app.core.comparison.compared_request import ComparedRequest, ComparisonResult, compare_pairs
from app.core.comparison.json_path import json_path_error
from app.core.comparison.response_comparison import IGNORED_HEADERS, IgnoredFields
from app.core.model import Endpoint, PageKey, Target
from app.core.rules import headers_error
from app.server.api.parameters import (
    PAGING,
    cursor_of,
    cursor_text,
    flag_of,
    limit_of,
    number_of,
)
from app.server.api.problems import Problem, parameter_problem
from app.server.api.routes import Route, endpoint_named, json_response
from app.server.api.schemas import ComparedOut, ComparedTargets, ComparisonPage, DifferenceOut
from app.server.api.serializers import summary_out
from app.server.api.services import ApiServices

ONLY = "different"
IGNORABLE = ("ignore_header", "ignore_path")
PAIRS_MAX = 100
"""Pairs compared by one call: a pair of long responses takes up to a second."""


class ComparisonCalls:
    """Handler of `/endpoints/{slug}/compare`."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        parameters = ("first", "second", "only", "all_headers", *PAGING)
        return [Route("GET", "/endpoints/{slug}/compare", self.compare, parameters, IGNORABLE)]

    async def compare(self, request: web.Request) -> web.Response:
        """Requests that both targets have responded to, newest first. A page can have fewer items than `limit`, even
        none, and still a `next`."""
        endpoint = endpoint_named(self._services.endpoints, request.match_info["slug"])
        first, second = _targets_of(request, endpoint)
        ignored, limit, before = _ignored_of(request), limit_of(request), cursor_of(request, PageKey)
        only = request.query.get("only")
        if only not in (None, ONLY):
            raise parameter_problem("only", f"only must be {ONLY}, not {only!r}.")
        found = await self._services.response_pairs.page(
            endpoint.id, first.id, second.id, before=before, limit=min(limit, PAIRS_MAX)
        )
        compared = await asyncio.to_thread(compare_pairs, found.pairs, ignored)
        shown = [one for one in compared if only is None or one.result is ComparisonResult.DIFFERENT]
        page = ComparisonPage(
            targets=ComparedTargets(first=first.id, second=second.id),
            compared=len(compared),
            items=tuple(_out(one, endpoint.slug) for one in shown),
            next=None if found.next is None else cursor_text(found.next),
        )
        return json_response(page)


def _targets_of(request: web.Request, endpoint: Endpoint) -> tuple[Target, Target]:
    """The targets `first` and `second`; the endpoint's first two if they are not given."""
    if len(endpoint.targets) < 2:
        raise Problem(409, "cannot-compare", f"Endpoint {endpoint.slug!r} has fewer than two targets.")
    names = {name: number_of(request, name) for name in ("first", "second")}
    by_id = {target.id: target for target in endpoint.targets}
    for name, number in names.items():
        if number is not None and number not in by_id:
            raise parameter_problem(name, f"Endpoint {endpoint.slug!r} has no target {number}.")
    first, second = names["first"], names["second"]
    if first is not None and first == second:
        raise parameter_problem("second", "A target cannot be compared with itself.")
    free = [target.id for target in endpoint.targets if target.id not in (first, second)]
    first = first if first is not None else free.pop(0)
    second = second if second is not None else free.pop(0)
    return by_id[first], by_id[second]


def _ignored_of(request: web.Request) -> IgnoredFields:
    headers, paths = (tuple(request.query.getall(name, [])) for name in IGNORABLE)
    for name in headers:
        if (wrong := headers_error(((name, ""),), "ignore_header", frozenset())) is not None:
            raise parameter_problem("ignore_header", wrong)
    for path in paths:
        if (wrong := json_path_error(path)) is not None:
            raise parameter_problem("ignore_path", wrong)
    usual = () if flag_of(request, "all_headers") else IGNORED_HEADERS
    return IgnoredFields(headers=(*usual, *headers), json_paths=paths)


def _out(one: ComparedRequest, slug: str) -> ComparedOut:
    result = one.result
    return ComparedOut(
        request=summary_out(one.request, slug),
        first_delivery=one.first_delivery,
        second_delivery=one.second_delivery,
        first_status=one.first_status,
        second_status=one.second_status,
        same=None if result is ComparisonResult.NO_RESPONSE else result is ComparisonResult.SAME,
        differences=tuple(
            DifferenceOut(part=each.part, where=each.where, text=each.text, first=each.first, second=each.second)
            for each in one.comparison.differences
        ),
        more=one.comparison.more,
        notes=one.comparison.notes,
    )
