"""The call that waits for a request."""

from __future__ import annotations

import asyncio
import math
import re

from aiohttp import web

from app.core.model import Endpoint
from app.server.api.events import AFTER, start_of
from app.server.api.follower import Follower, Followers
from app.server.api.new_captures import CaptureFilter, NewCaptures
from app.server.api.parameters import ENDPOINT, REDACTED, SEARCH, Parameter, query_of, secret_headers_of
from app.server.api.problems import RETRY_AFTER_S, Problem
from app.server.api.requests import BODY, described, full_request
from app.server.api.routes import Calls, Returns, can_fail, endpoint_named, json_response, route
from app.server.api.services import ApiServices
from hookline import records

TIMEOUT_DEFAULT_S, TIMEOUT_MAX_S = 30.0, 300.0
POSITION_HEADER = "Hookline-Position"


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")


def _seconds(given: str) -> float | None:
    seconds = float(given) if _NUMBER.fullmatch(given) else math.nan
    return seconds if 0 <= seconds <= TIMEOUT_MAX_S else None


TIMEOUT = Parameter(
    "timeout",
    "How many seconds to wait.",
    {"type": "number", "minimum": 0, "maximum": TIMEOUT_MAX_S, "default": TIMEOUT_DEFAULT_S},
    f"a number from 0 to {TIMEOUT_MAX_S:.0f}",
    _seconds,
)


POSITIONED = ((POSITION_HEADER, "Where to go on: the next call's `after`."),)


class WaitCalls(Calls):
    """Handler of `/requests/wait`."""

    def __init__(self, services: ApiServices, followers: Followers) -> None:
        self._services, self._followers = services, followers

    @route(
        "GET",
        "/requests/wait",
        "Wait for a request",
        (Returns(records.RequestHead, headers=POSITIONED), Returns(status=204, headers=POSITIONED)),
        (ENDPOINT, SEARCH, REDACTED, BODY, AFTER, TIMEOUT),
    )
    @can_fail("invalid-query", "not-found", "position-unknown", "stopping", "too-many-followers")
    async def wait(self, request: web.Request) -> web.Response:
        """The oldest matching request that was stored after `after`, in full; 204 if there is none within `timeout`
        seconds. Both have the header Hookline-Position: given as the next call's `after`, nothing is left out and
        nothing comes twice."""
        services, query, timeout_s = self._services, query_of(request), TIMEOUT.of(request)
        slug, after, body = ENDPOINT.of(request), AFTER.of(request), BODY.of(request) or False
        secret_headers = secret_headers_of(request, services.store.endpoints.all())
        endpoint = None if slug is None else endpoint_named(services.store.endpoints, slug)
        newest = services.events.newest()
        start = newest if after is None else await start_of(services, "after", after)
        if start.capture > newest.capture:
            detail = "after is newer than all stored requests, so it comes from another database. Wait without it."
            raise Problem(409, "position-unknown", detail)
        until = asyncio.get_running_loop().time() + (TIMEOUT_DEFAULT_S if timeout_s is None else timeout_s)
        with self._followers.follow(request) as follower:
            captures = NewCaptures(services.events, services.store.captures, start)
            endpoint_id = None if endpoint is None else endpoint.id
            wanted = CaptureFilter(services.store.captures, endpoint_id, query, secret_headers)
            found = await self._first(
                follower, captures, wanted, endpoint, newest=newest.capture, until=until, body=body
            )
        shown = await described(services, [] if found is None else [found], secret_headers)
        response = json_response(shown[0]) if shown else web.Response(status=204)
        response.headers[POSITION_HEADER] = str(captures.position)
        return response

    async def _first(
        self,
        follower: Follower,
        captures: NewCaptures,
        wanted: CaptureFilter,
        endpoint: Endpoint | None,
        *,
        newest: int,
        until: float,
        body: bool,
    ) -> records.RequestHead | None:
        """The first that is wanted, and `captures` at its position; None if the caller has left, or after `until`, when
        what was `newest` is examined too."""
        clock = asyncio.get_running_loop().time
        while not follower.left:
            batch = await captures.next()
            ids = await wanted.wanted([summary for _, summary in batch])
            for position, summary in batch:
                if summary.id not in ids:
                    continue
                found = await full_request(self._services, summary.id, body=body)
                if found is not None:
                    captures.position = position
                    return found
            left_s = until - clock()
            if left_s <= 0 and captures.position.capture >= newest:
                break
            if follower.stopping:
                detail = "Hookline is stopping; wait again when it runs."
                raise Problem(503, "stopping", detail, headers={"Retry-After": str(RETRY_AFTER_S)})
            if endpoint is not None and self._services.store.endpoints.by_id(endpoint.id) is None:
                raise Problem(404, "not-found", f"The endpoint {endpoint.slug!r} was deleted.")
            if not batch:
                await follower.sleep(max(left_s, 0))
        return None
