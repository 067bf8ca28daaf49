"""Calls about replays: of one request, of an endpoint's, of any; their progress; pause, resume, cancel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web
from msgspec.structs import asdict

from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.model import Endpoint
from app.core.replay.spec import OtherEndpoint, OwnTargets, Replay, ReplaySpec
from app.core.rules import FieldError
from app.server.api.inputs import ReplayEndpointIn, ReplayIn, ReplayRequestIn
from app.server.api.parameters import cursor_of, cursor_text, limit_of, paging
from app.server.api.problems import Problem
from app.server.api.replay_specs import api_errors, endpoint_spec, full_replay_out, full_spec, replay_out, request_spec
from app.server.api.routes import (
    LOCATED,
    Calls,
    Page,
    Returns,
    can_fail,
    endpoint_named,
    json_response,
    route,
    stored_request,
    takes,
)
from app.server.api.serializers import full_delivery_out
from app.server.api.services import REPLAYS_KEPT
from hookline import records

ACCEPTED = Returns(records.FullReplay, 202, headers=LOCATED)


class ReplayCalls(Calls):
    """Handlers of `/replays`, `/requests/{id}/replay` and `/endpoints/{slug}/replay`."""

    @route("POST", "/requests/{id}/replay", "Replay a request", Returns(records.ReplayedRequest))
    @takes(ReplayRequestIn, {"url": "http://localhost:3000/hooks"}, optional=True)
    @can_fail("cannot-replay", "not-found")
    async def replay_request(self, request: web.Request, given: ReplayRequestIn) -> web.Response:
        """Sends one request again and waits for the result: the delivery to its endpoint's first target, with those to
        all of them in `deliveries`."""
        capture, endpoint = await stored_request(self._services, request.match_info["id"])
        spec = request_spec(capture.id, given)
        replay = await self._start(spec, endpoint, flat=True)
        await self._services.replays.wait(replay.id)
        ended = await self._services.replays.get(replay.id)
        if ended is not None and not ended.ended:
            raise Problem(409, "cannot-replay", "Hookline is closing, so the result is not known.")
        deliveries = self._services.store.deliveries
        made = [one for one in await deliveries.of_capture(capture.id) if one.replay_id == replay.id]
        if not made:
            problem = ended.problem if ended is not None else None
            raise Problem(409, "cannot-replay", problem or "The request was deleted before it could be sent.")
        found = [full_delivery_out(one, endpoint, await deliveries.attempts(one.id)) for one in made]
        return json_response(records.ReplayedRequest(**asdict(found[0]), deliveries=tuple(found)))

    @route("POST", "/endpoints/{slug}/replay", "Replay an endpoint's requests", ACCEPTED)
    @takes(ReplayEndpointIn, {"q": "method:POST", "gaps": "original", "scale": 0.5}, optional=True)
    @can_fail("invalid-query", "cannot-replay", "not-found")
    async def replay_endpoint(self, request: web.Request, given: ReplayEndpointIn) -> web.Response:
        """Begins to send an endpoint's requests again, oldest first: 202 with the replay."""
        endpoint = self._endpoint(request)
        return self._accepted(await self._start(endpoint_spec(endpoint.id, given), endpoint))

    @route("GET", "/replays", "List replays", Returns(Page[records.Replay]), paging(str))
    async def list(self, request: web.Request) -> web.Response:
        """Last started first."""
        limit, last = limit_of(request), cursor_of(request, str)
        rows = [one for one in await self._services.replays.latest(REPLAYS_KEPT) if last is None or one.id < last]
        following = cursor_text(rows[limit - 1].id) if len(rows) > limit else None
        endpoints = self._services.store.endpoints
        return json_response(Page(tuple(replay_out(one, endpoints) for one in rows[:limit]), following))

    @route("POST", "/replays", "Start a replay", ACCEPTED)
    @takes(ReplayIn, {"endpoint": "orders", "q": "since:2h", "rate": 10.0})
    @can_fail("invalid-query", "cannot-replay", "not-found")
    async def start(self, request: web.Request, given: ReplayIn) -> web.Response:
        """Begins to send the requests with these IDs, or those that match, again: 202 with the replay."""
        endpoint = None if given.endpoint is None else self._services.store.endpoints.by_slug(given.endpoint)
        return self._accepted(await self._start(full_spec(given, self._services.store.endpoints), endpoint))

    @route("GET", "/replays/{id}", "Read a replay", Returns(records.FullReplay))
    async def read(self, request: web.Request) -> web.Response:
        """One replay with its progress."""
        return json_response(full_replay_out(await self._stored(request), self._services.store.endpoints))

    @route("POST", "/replays/{id}/pause", "Pause a replay", Returns(records.FullReplay))
    @can_fail("replay-state")
    async def pause(self, request: web.Request) -> web.Response:
        """Sends no more until it is resumed; 409 unless it is running."""
        return await self._change(request, self._services.replays.pause, "Only a running replay can be paused")

    @route("POST", "/replays/{id}/resume", "Resume a replay", Returns(records.FullReplay))
    @can_fail("replay-state")
    async def resume(self, request: web.Request) -> web.Response:
        """Continues a paused or interrupted replay; 409 for any other."""
        reason = "Only a paused or interrupted replay can be resumed"
        return await self._change(request, self._services.replays.resume, reason)

    @route("POST", "/replays/{id}/cancel", "Cancel a replay", Returns(records.FullReplay))
    @can_fail("replay-state")
    async def cancel(self, request: web.Request) -> web.Response:
        """Sends no more; what is being sent ends by itself. 409 when it has ended."""
        reason = "Only a replay that has not ended can be cancelled"
        return await self._change(request, self._services.replays.cancel, reason)

    async def _change(
        self, request: web.Request, change: Callable[[str], Awaitable[Replay]], reason: str
    ) -> web.Response:
        replay = await self._stored(request)
        try:
            changed = await change(replay.id)
        except NotFoundError:
            raise Problem(409, "replay-state", f"{reason}; this one is {replay.state.value}.") from None
        return json_response(full_replay_out(changed, self._services.store.endpoints))

    async def _start(self, spec: ReplaySpec, endpoint: Endpoint | None, *, flat: bool = False) -> Replay:
        """Raises InvalidFieldsError, or a Problem. `endpoint` is the one whose targets it would go to, if just one."""
        to = spec.destination
        if isinstance(to, OtherEndpoint):
            endpoint_named(self._services.store.endpoints, to.slug)
            if self._services.addresses.listening_url is None:
                text = "Hookline is not running, so no endpoint captures. Start it with hookline, or hookline serve."
                raise Problem(409, "cannot-replay", text)
        if isinstance(to, OwnTargets) and endpoint is not None and not any(one.active for one in endpoint.targets):
            text = f"Endpoint {endpoint.slug!r} has no active target. Name a URL or another endpoint to send to."
            raise InvalidFieldsError([FieldError(field="url", message=text)])
        try:
            return await self._services.replays.start(spec)
        except InvalidFieldsError as error:
            raise InvalidFieldsError(api_errors(error.errors, flat=flat)) from None

    async def _stored(self, request: web.Request) -> Replay:
        replay_id = request.match_info["id"]
        replay = await self._services.replays.get(replay_id)
        if replay is None:
            raise Problem(404, "not-found", f"No replay has the ID {replay_id!r}.")
        return replay

    def _accepted(self, replay: Replay) -> web.Response:
        shape = full_replay_out(replay, self._services.store.endpoints)
        return json_response(shape, 202, location=f"/replays/{replay.id}")
