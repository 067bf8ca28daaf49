"""Calls about replays: of one request, of an endpoint's, of any; their progress; pause, resume, cancel. Errors about a
replay's fields name those of the JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from aiohttp import web
from msgspec.structs import asdict

from app.core.clock import EARLIEST_US, LATEST_US, microseconds
from app.core.delivery import RequestEdit
from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.ids import is_id
from app.core.model import Endpoint
from app.core.record import Headers, Record
from app.core.replay import (
    ONE_EDITED,
    REPLAYS_KEPT,
    BackToBack,
    ChosenRequests,
    Faults,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    OwnTargets,
    Pace,
    Replay,
    ReplayDestination,
    ReplaySpec,
)
from app.core.rules import FieldError
from app.server.api.parameters import newest_page, paging, parsed_query
from app.server.api.problems import Problem
from app.server.api.routes import Calls, Page, can_fail, endpoint_named, located, route, stored_request, takes
from app.server.api.serializers import full_delivery_out, made
from hookline import records

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints

Time = Annotated[datetime, msgspec.Meta(tz=True)]
"""RFC 3339, with an offset."""
Gaps = Literal["none", "original"]


class ReplayRequestIn(Record, frozen=True):
    """The body of `POST /requests/{id}/replay`. Absent fields: as captured, to the endpoint's targets.

    The captured sub-path and query are added to `url`, as to a target's. `headers` replace all captured ones. The body
    is `body`, or the bytes in `body_base64`. A request that is not complete is only sent with `incomplete`, or with a
    body.
    """

    url: str | None = None
    to_endpoint: str | None = None
    method: str | None = None
    headers: Headers | None = None
    body: str | None = None
    body_base64: bytes | None = None
    incomplete: bool = False


class ReplayEndpointIn(Record, frozen=True):
    """The body of `POST /endpoints/{slug}/replay`: its requests that match `q`, from `after` until before `before`,
    oldest first; to its targets, to `url` or to `to_endpoint`.

    With `gaps` `original`, `scale` multiplies the gaps between requests (0.5: twice as fast). `rate` is requests per
    second. `faults` are probabilities; the same `seed` makes the same faults. Requests that are not complete are left
    out, unless `incomplete` is true.
    """

    q: str = ""
    after: Time | None = None
    before: Time | None = None
    url: str | None = None
    to_endpoint: str | None = None
    gaps: Gaps = "none"
    scale: float | None = None
    longest_gap_ms: int | None = None
    rate: float | None = None
    concurrency: int = 1
    times: int = 1
    faults: Faults = Faults()
    seed: int = 0
    incomplete: bool = False


class EditIn(Record, frozen=True):
    """What is sent in place of what was captured. `url` is requested as given, without the captured sub-path."""

    url: str | None = None
    method: str | None = None
    headers: Headers | None = None
    body: str | None = None
    body_base64: bytes | None = None


class ReplayIn(ReplayEndpointIn, frozen=True):
    """The body of `POST /replays`: the requests in `ids`, otherwise those of `endpoint` (a slug), otherwise all.

    Only one request can be edited.
    """

    ids: tuple[str, ...] | None = None
    endpoint: str | None = None
    edit: EditIn | None = None


class ReplayCalls(Calls):
    """Handlers of `/replays`, `/requests/{id}/replay` and `/endpoints/{slug}/replay`."""

    @route("POST", "/requests/{id}/replay", "Replay a request")
    @takes(ReplayRequestIn, {"url": "http://localhost:3000/hooks"}, optional=True)
    @can_fail("cannot-replay", "not-found")
    async def replay_request(self, request: web.Request, given: ReplayRequestIn) -> records.ReplayedRequest:
        """Sends one request again and waits for the result: the delivery to its endpoint's first target, with those to
        all of them in `deliveries`."""
        capture, endpoint = await stored_request(self._services, request.match_info["id"])
        spec = request_spec(capture.id, given)
        replay = await self._start(spec, endpoint, flat=True)
        ended, deliveries = await self._services.replays.result(replay.id, capture.id)
        if ended is not None and not ended.ended:
            raise Problem("cannot-replay", "Hookline is closing, so the result is not known.")
        if not deliveries:
            problem = ended.problem if ended is not None else None
            raise Problem("cannot-replay", problem or "The request was deleted before it could be sent.")
        attempts = self._store.deliveries.attempts
        found = [full_delivery_out(one, endpoint, await attempts(one.id)) for one in deliveries]
        return records.ReplayedRequest(**asdict(found[0]), deliveries=tuple(found))

    @route("POST", "/endpoints/{slug}/replay", "Replay an endpoint's requests", status=202)
    @located("/replays/{made.id}")
    @takes(ReplayEndpointIn, {"q": "method:POST", "gaps": "original", "scale": 0.5}, optional=True)
    @can_fail("invalid-query", "cannot-replay", "not-found")
    async def replay_endpoint(self, request: web.Request, given: ReplayEndpointIn) -> records.FullReplay:
        """Begins to send an endpoint's requests again, oldest first: 202 with the replay."""
        return await self._accepted(ReplayIn(**asdict(given), endpoint=self._endpoint(request).slug))

    @route("GET", "/replays", "List replays", paging(str))
    async def list(self, request: web.Request) -> Page[records.Replay]:
        """Last started first."""
        page, following = newest_page(request, await self._services.replays.latest(REPLAYS_KEPT), str)
        return Page(tuple(replay_out(one, self._store.endpoints) for one in page), following)

    @route("POST", "/replays", "Start a replay", status=202)
    @located("/replays/{made.id}")
    @takes(ReplayIn, {"endpoint": "orders", "q": "since:2h", "rate": 10.0})
    @can_fail("invalid-query", "cannot-replay", "not-found")
    async def start(self, request: web.Request, given: ReplayIn) -> records.FullReplay:
        """Begins to send the requests with these IDs, or those that match, again: 202 with the replay."""
        return await self._accepted(given)

    @route("GET", "/replays/{id}", "Read a replay")
    async def read(self, request: web.Request) -> records.FullReplay:
        """One replay with its progress."""
        return full_replay_out(await self._stored(request), self._store.endpoints)

    @route("POST", "/replays/{id}/pause", "Pause a replay")
    @can_fail("replay-state")
    async def pause(self, request: web.Request) -> records.FullReplay:
        """Sends no more until it is resumed; 409 unless it is running."""
        return await self._change(request, self._services.replays.pause, "Only a running replay can be paused")

    @route("POST", "/replays/{id}/resume", "Resume a replay")
    @can_fail("replay-state")
    async def resume(self, request: web.Request) -> records.FullReplay:
        """Continues a paused or interrupted replay; 409 for any other."""
        reason = "Only a paused or interrupted replay can be resumed"
        return await self._change(request, self._services.replays.resume, reason)

    @route("POST", "/replays/{id}/cancel", "Cancel a replay")
    @can_fail("replay-state")
    async def cancel(self, request: web.Request) -> records.FullReplay:
        """Sends no more; what is being sent ends by itself. 409 when it has ended."""
        reason = "Only a replay that has not ended can be cancelled"
        return await self._change(request, self._services.replays.cancel, reason)

    async def _change(
        self, request: web.Request, change: Callable[[str], Awaitable[Replay]], reason: str
    ) -> records.FullReplay:
        replay = await self._stored(request)
        try:
            changed = await change(replay.id)
        except NotFoundError:
            raise Problem("replay-state", f"{reason}; this one is {replay.state.value}.") from None
        return full_replay_out(changed, self._store.endpoints)

    async def _start(self, spec: ReplaySpec, endpoint: Endpoint | None, *, flat: bool = False) -> Replay:
        """Raises InvalidFieldsError, or a Problem. `endpoint` is the one whose targets it would go to, if just one."""
        to = spec.destination
        if isinstance(to, OtherEndpoint):
            endpoint_named(self._store.endpoints, to.slug)
            if self._services.addresses.listening_url is None:
                text = "Hookline is not running, so no endpoint captures. Start it with hookline, or hookline serve."
                raise Problem("cannot-replay", text)
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
            raise Problem("not-found", f"No replay has the ID {replay_id!r}.")
        return replay

    async def _accepted(self, given: ReplayIn) -> records.FullReplay:
        """Raises as `_start` does."""
        endpoints = self._store.endpoints
        spec = full_spec(given, endpoints)
        replay = await self._start(spec, None if given.endpoint is None else endpoints.by_slug(given.endpoint))
        return full_replay_out(replay, endpoints)


R = TypeVar("R", bound=records.Replay)

FIELDS = {
    "source.ids": "ids",
    "source.received_before": "before",
    "destination.url": "url",
    "destination.slug": "to_endpoint",
    "pace.per_second": "rate",
    "pace.scale": "scale",
    "pace.longest_gap_ms": "longest_gap_ms",
}
"""Fields of a spec by their names in the API; the others have the same name."""
EDIT = "edit."


def api_errors(errors: Sequence[FieldError], *, flat: bool) -> list[FieldError]:
    """`errors` about a spec as errors about the JSON. `flat`: what is edited is not in an object of its own."""
    named = [(FIELDS.get(error.field, error.field), error.message) for error in errors]
    return [FieldError(field=name.removeprefix(EDIT) if flat else name, message=message) for name, message in named]


def request_spec(capture_id: str, given: ReplayRequestIn) -> ReplaySpec:
    """Raises InvalidFieldsError."""
    errors = [*_both(given, "to_endpoint", "url"), *_both(given, "body_base64", "body")]
    if errors:
        raise InvalidFieldsError(errors)
    return ReplaySpec(
        source=ChosenRequests(ids=(capture_id,)),
        destination=_destination(given.url, given.to_endpoint),
        incomplete=given.incomplete,
        edit=_edit(given),
    )


def full_spec(given: ReplayIn, endpoints: Endpoints) -> ReplaySpec:
    """Raises InvalidFieldsError, or a Problem for an invalid search or an unknown endpoint."""
    errors = [*_source_errors(given), *_sending_errors(given)]
    if given.edit is not None:
        errors += _both(given.edit, "body_base64", "body", prefix=EDIT)
        if len(given.ids or ()) != 1:
            errors.append(FieldError(field="edit", message=ONE_EDITED))
    if errors:
        raise InvalidFieldsError(errors)
    return ReplaySpec(
        source=_matching(given, endpoints) if given.ids is None else ChosenRequests(ids=given.ids),
        destination=_destination(given.url, given.to_endpoint),
        pace=_pace(given),
        concurrency=given.concurrency,
        times=given.times,
        faults=given.faults,
        seed=given.seed,
        incomplete=given.incomplete,
        edit=None if given.edit is None else _edit(given.edit, given.edit.url),
    )


def _matching(given: ReplayIn, endpoints: Endpoints) -> MatchingRequests:
    endpoint_id = None if given.endpoint is None else endpoint_named(endpoints, given.endpoint).id
    parsed_query(given.q)
    return MatchingRequests(
        endpoint_id=endpoint_id,
        query=given.q.strip(),
        received_after=None if given.after is None else microseconds(given.after),
        received_before=None if given.before is None else microseconds(given.before),
    )


def _destination(url: str | None, slug: str | None) -> ReplayDestination:
    if url is not None:
        return OneUrl(url=url)
    return OwnTargets() if slug is None else OtherEndpoint(slug=slug)


def _pace(given: ReplayEndpointIn) -> Pace:
    if given.rate is not None:
        return FixedRate(per_second=given.rate)
    if given.gaps == "none":
        return BackToBack()
    return OriginalGaps(scale=1.0 if given.scale is None else given.scale, longest_gap_ms=given.longest_gap_ms)


def _edit(given: ReplayRequestIn | EditIn, url: str | None = None) -> RequestEdit | None:
    """None if all is sent as captured."""
    body = given.body_base64 if given.body is None else given.body.encode()
    edit = RequestEdit(method=given.method, url=url, headers=given.headers, body=body)
    return None if edit == RequestEdit() else edit


def _source_errors(given: ReplayIn) -> list[FieldError]:
    if given.ids is None:
        return []
    selecting = {"endpoint": given.endpoint, "q": given.q, "after": given.after, "before": given.before}
    errors = [_exclusive(name, "ids") for name, value in selecting.items() if value]
    for at, one in enumerate(given.ids):
        if not is_id(one):
            errors.append(FieldError(field=f"ids[{at}]", message=f"{one[:80]!r} is not a request's ID."))
            break
    return errors


def _sending_errors(given: ReplayEndpointIn) -> list[FieldError]:
    errors = _both(given, "to_endpoint", "url")
    if given.rate is not None and given.gaps == "original":
        errors.append(_exclusive("rate", 'gaps "original"'))
    for name in ("after", "before"):
        moment = getattr(given, name)
        # Its offset can lead out of the first and the last year.
        if moment is not None and not EARLIEST_US <= microseconds(moment) <= LATEST_US:
            errors.append(FieldError(field=name, message=f"{name} must be in the years 1 to 9999 in UTC."))
    for name in ("scale", "longest_gap_ms"):
        if getattr(given, name) is not None and given.gaps != "original":
            errors.append(FieldError(field=name, message=f'{name} needs gaps "original".'))
    return errors


def _both(given: Record, field: str, other: str, *, prefix: str = "") -> list[FieldError]:
    """An error if both are given."""
    if getattr(given, field) is None or getattr(given, other) is None:
        return []
    return [_exclusive(f"{prefix}{field}", f"{prefix}{other}")]


def _exclusive(field: str, other: str) -> FieldError:
    return FieldError(field=field, message=f"{field} and {other} cannot be combined.")


def replay_out(replay: Replay, endpoints: Endpoints) -> records.Replay:
    return _out(records.Replay, replay, endpoints)


def full_replay_out(replay: Replay, endpoints: Endpoints) -> records.FullReplay:
    source, edit = replay.spec.source, replay.spec.edit
    return _out(
        records.FullReplay,
        replay,
        endpoints,
        ids=source.ids if isinstance(source, ChosenRequests) else None,
        edit=None if edit is None else made(records.Edit, edit, body_base64=edit.body),
    )


def _out(shape: type[R], replay: Replay, endpoints: Endpoints, **others: Any) -> R:
    spec = replay.spec
    source = spec.source if isinstance(spec.source, MatchingRequests) else MatchingRequests()
    endpoint = None if source.endpoint_id is None else endpoints.by_id(source.endpoint_id)
    gaps = spec.pace if isinstance(spec.pace, OriginalGaps) else None
    targets = tuple(made(records.ReplayTarget, one) for one in replay.progress.targets)
    return made(
        shape,
        replay,
        progress=made(records.ReplayProgress, replay.progress, targets=targets),
        id_count=len(spec.source.ids) if isinstance(spec.source, ChosenRequests) else None,
        endpoint=None if endpoint is None else endpoint.slug,
        q=source.query,
        after=source.received_after,
        before=source.received_before,
        url=spec.destination.url if isinstance(spec.destination, OneUrl) else None,
        to_endpoint=spec.destination.slug if isinstance(spec.destination, OtherEndpoint) else None,
        gaps="none" if gaps is None else "original",
        scale=None if gaps is None else gaps.scale,
        longest_gap_ms=None if gaps is None else gaps.longest_gap_ms,
        rate=spec.pace.per_second if isinstance(spec.pace, FixedRate) else None,
        concurrency=spec.concurrency,
        times=spec.times,
        faults=spec.faults,
        seed=spec.seed,
        incomplete=spec.incomplete,
        edited=spec.edit is not None,
        **others,
    )
