"""Calls about deliveries: those of one request, or the latest of all; one with its attempts; retries."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from app.core.clock import now_us
from app.core.delivery import Delivery, DeliveryFilter, no_retry, no_send_now
from app.core.ids import BEGINNING_MIN, id_beginning
from app.core.model import DeliveryState, Endpoint
from app.core.record import Record
from app.core.replay import REPLAYS_KEPT
from app.server.api.parameters import (
    BEGINNING_PATTERN,
    ENDPOINT,
    Parameter,
    beginning,
    choice,
    cursor_of,
    cursor_text,
    is_number,
    limit_of,
    number,
    paging,
    text,
)
from app.server.api.problems import Problem, parameter_problem
from app.server.api.routes import (
    ATTACHMENT,
    Calls,
    Page,
    attachment_headers,
    can_fail,
    endpoint_named,
    route,
    stored_request,
    takes,
)
from app.server.api.serializers import delivery_out, full_delivery_out
from hookline import records

STATES = tuple(state.value for state in DeliveryState if state is not DeliveryState.NONE)
REQUEST = text("request", "Only those of this request.")
TARGET = number("target", "Only those to this target.")
STATE = choice("state", "Only those in this state.", STATES)
REPLAY = Parameter(
    "replay",
    "true: only replays; false: only others; a replay's ID, or the start of it: only its deliveries.",
    {"type": "string", "pattern": f"^(true|false|{BEGINNING_PATTERN})$"},
    f"true, false or a replay's ID, or {BEGINNING_MIN} or more digits of its start",
    lambda given: given if given in ("true", "false") else id_beginning(given),
)
BEGINNING = beginning("delivery")
ORDER = choice(
    "order",
    "Which come first: the last queued, or the first, which is the default with `request`.",
    ("newest", "oldest"),
)
FILTERS: tuple[Parameter[Any], ...] = (REQUEST, ENDPOINT, TARGET, STATE, REPLAY, BEGINNING, ORDER, *paging(int))


class RetryIn(Record, frozen=True):
    """The body of `POST /deliveries/retry`: failed deliveries of this endpoint (a slug) or target (an id), otherwise
    all."""

    endpoint: str | None = None
    target: int | None = None


class DeliveryCalls(Calls):
    """Handlers of `/deliveries`."""

    @route("GET", "/deliveries", "List deliveries", FILTERS)
    @can_fail("not-found")
    async def list(self, request: web.Request) -> Page[records.Delivery]:
        """Deliveries of a request, oldest first; otherwise last queued first, unless `order` is oldest: of an endpoint,
        to a target, in a state, replays or not, of one replay, those whose ids begin with `id`, or all."""
        limit, reached, of_request = limit_of(request), cursor_of(request, int), REQUEST.of(request)
        if of_request is not None:
            of_request = (await stored_request(self._services, of_request))[0].id
        only, state = self._only_endpoint(request), STATE.of(request)
        replays, replay_id = await self._replays(request)
        which = DeliveryFilter(
            endpoint_id=None if only is None else only.id,
            target_id=TARGET.of(request),
            state=None if state is None else DeliveryState(state),
            replay=replays,
            replay_id=replay_id,
            capture_ids=None if of_request is None else (of_request,),
            beginning=BEGINNING.of(request),
        )
        oldest = (ORDER.of(request) or ("newest" if of_request is None else "oldest")) == "oldest"
        place = {"after": reached or 0} if oldest else {"before": reached}
        rows = await self._store.deliveries.page(which, **place, limit=limit + 1)
        following = cursor_text(rows[limit - 1].seq) if len(rows) > limit else None
        by_id = self._store.endpoints.by_id
        found = [(row, one) for row in rows[:limit] if (one := by_id(row.endpoint_id)) is not None]
        last = await self._store.deliveries.last_attempts([row.id for row, _ in found])
        return Page(tuple(delivery_out(row, one, last.get(row.id)) for row, one in found), following)

    @route("POST", "/deliveries/retry", "Retry failed deliveries")
    @takes(RetryIn, {"endpoint": "orders"})
    @can_fail("not-found")
    async def retry_failed(self, request: web.Request, given: RetryIn) -> records.Retried:
        """Queues failed deliveries again, of an endpoint, to a target, or all; not those that were not sent."""
        endpoint_id = None
        if given.endpoint is not None:
            endpoint_id = endpoint_named(self._store.endpoints, given.endpoint).id
        if given.target is not None:
            target = self._store.targets.by_id(given.target)
            if target is None or endpoint_id not in (None, target.endpoint_id):
                of = "" if endpoint_id is None else f" of {given.endpoint!r}"
                raise Problem("not-found", f"No target{of} has the ID {given.target}.")
        which = DeliveryFilter(endpoint_id=endpoint_id, target_id=given.target)
        return records.Retried(queued=await self._store.deliveries.retry(which))

    @route("GET", "/deliveries/{id}", "Read a delivery")
    async def read(self, request: web.Request) -> records.FullDelivery:
        """One delivery with its attempts."""
        return await self._full(*await self._stored(request))

    @route("GET", "/deliveries/{id}/attempts/{number}/body", "Download a response's body", returns=ATTACHMENT)
    async def body(self, request: web.Request) -> web.Response:
        """The stored bytes of an attempt's response body."""
        delivery, _ = await self._stored(request)
        attempt = request.match_info["number"]
        if not is_number(attempt):
            raise Problem("not-found", f"The delivery has no attempt {attempt!r}.")
        body = await self._store.deliveries.response_body(delivery.id, int(attempt))
        return web.Response(body=body, headers=attachment_headers(f"{delivery.id}-{int(attempt)}.bin"))

    @route("POST", "/deliveries/{id}/retry", "Retry a delivery")
    @can_fail("cannot-retry")
    async def retry(self, request: web.Request) -> records.FullDelivery:
        """Queues a delivery that failed or was not sent again; 409 when it cannot be."""
        delivery, endpoint = await self._stored(request)
        if reason := no_retry(delivery, endpoint.target(delivery.target_id)):
            raise Problem("cannot-retry", reason)
        await self._store.deliveries.retry(DeliveryFilter(delivery_ids=(delivery.id,)))
        return await self._full(*await self._stored(request))

    @route("POST", "/deliveries/{id}/send-now", "Send a delivery now")
    @can_fail("cannot-send-now")
    async def send_now(self, request: web.Request) -> records.FullDelivery:
        """Makes a delivery that waits for its retry due at once; what waits behind it, in order, follows. 409 when it
        waits for something else."""
        delivery, endpoint = await self._stored(request)
        if reason := no_send_now(delivery, endpoint.target(delivery.target_id), now_us()):
            raise Problem("cannot-send-now", reason)
        await self._store.deliveries.send_now(delivery)
        return await self._full(*await self._stored(request))

    async def _replays(self, request: web.Request) -> tuple[bool | None, str | None]:
        """The parameter `replay`: whether they are replays, or the ID of one, which can be given by its beginning."""
        given = REPLAY.of(request)
        if given in (None, "true", "false"):
            return (None if given is None else given == "true"), None
        known = [one.id for one in await self._services.replays.latest(REPLAYS_KEPT) if one.id.startswith(given)]
        if len(known) > 1:
            raise parameter_problem("replay", f"Several replays have an ID that starts with {given!r}.")
        # The deliveries of a replay are kept longer than the replay itself.
        return None, known[0] if known else given

    async def _stored(self, request: web.Request) -> tuple[Delivery, Endpoint]:
        """The delivery that the path names and its endpoint, or a 404 problem."""
        delivery_id = request.match_info["id"]
        rows = await self._store.deliveries.page(DeliveryFilter(delivery_ids=(delivery_id,)), limit=1)
        endpoint = self._store.endpoints.by_id(rows[0].endpoint_id) if rows else None
        if endpoint is None:
            raise Problem("not-found", f"No delivery has the ID {delivery_id!r}.")
        return rows[0], endpoint

    async def _full(self, delivery: Delivery, endpoint: Endpoint) -> records.FullDelivery:
        attempts = await self._store.deliveries.attempts(delivery.id)
        return full_delivery_out(delivery, endpoint, attempts)
