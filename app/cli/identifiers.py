"""Endpoints, requests, deliveries, replays and targets as they are named on the command line: a slug; an id, its
beginning, or `@last`; a number."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, TypeVar

from app.cli.errors import CliError, Exit
from app.cli.text import visible, when_text
from app.cli.views import DeliveryView, EndpointView, ReplayView, SummaryView, TargetView
from app.core.ids import BEGINNING_MIN, id_beginning, whole_id
from app.core.rules import slug_error

if TYPE_CHECKING:
    from app.cli.client import ApiClient

V = TypeVar("V", SummaryView, DeliveryView, ReplayView)

LAST = "@last"
ID_HELP = (
    f"a request's ID, or the start of it ({BEGINNING_MIN} or more characters, enough to be unique);"
    f" {LAST} is the newest request, {LAST}:SLUG the newest request of an endpoint"
)
DELIVERY_HELP = (
    f"a delivery's ID, or the start of it ({BEGINNING_MIN} or more characters, enough to be unique);"
    f" {LAST} is the delivery queued last, {LAST}:SLUG the last one of an endpoint"
)
REPLAY_HELP = (
    f"a replay's ID, or the start of it ({BEGINNING_MIN} or more characters, enough to be unique);"
    f" {LAST} is the replay started last"
)
SLUG_HELP = "the last part of the endpoint's URL"
TARGET_HELP = "the target's number, as hookline targets lists it"
SHOWN_MIN = 13
"""Characters of an id in a table: enough to distinguish requests of different milliseconds."""
NAMED_MAX = 10
"""The most requests that are listed when an id is ambiguous."""


def is_last(text: str) -> bool:
    """Whether `text` means the newest request."""
    return text == LAST or text.startswith(f"{LAST}:")


def short_id(own: str, *others: str) -> str:
    """The part of an id that distinguishes it from `others`, its neighbours in a list."""
    return own[: max([SHOWN_MIN, *(_common(own, other) + 1 for other in others)])]


async def with_short_ids(found: AsyncIterator[V]) -> AsyncIterator[tuple[str, V]]:
    """Each record of a list in the order of ids, with the part of its id that distinguishes it from its neighbours."""
    before: str | None = None
    previous: V | None = None
    async for one in found:
        if previous is not None:
            yield short_id(previous["id"], one["id"], *([before] if before else [])), previous
            before = previous["id"]
        previous = one
    if previous is not None:
        yield short_id(previous["id"], *([before] if before else [])), previous


async def request_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no request matches, or more than one."""
    if is_last(text):
        return await _last(api, text.partition(":")[2] or None)
    try:
        return whole_id(text)
    except ValueError:
        beginning = id_beginning(text)
    if beginning is None:
        raise _unknown(text)
    found = [one async for one in api.requests(None, NAMED_MAX + 1, beginning=beginning)]
    if not found:
        raise _unknown(text)
    if len(found) > 1:
        rows = [f"{when_text(one['received_at'])}  {one['endpoint']}  {one['method']} {one['target']}" for one in found]
        raise _ambiguous("requests", text, [one["id"] for one in found], rows)
    return found[0]["id"]


async def delivery_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no delivery matches, or more than one."""
    unknown = CliError(f"No delivery has the ID {text!r}. See hookline deliveries.", Exit.FAILURE)
    if is_last(text):
        slug = text.partition(":")[2] or None
        async for delivery in api.deliveries(slug, 1):
            return delivery["id"]
        nothing = "Nothing has been forwarded yet." if slug is None else f"Endpoint {slug!r} has no deliveries."
        raise CliError(nothing, Exit.FAILURE)
    try:
        return whole_id(text)
    except ValueError:
        beginning = id_beginning(text)
    if beginning is None:
        raise unknown
    found = [one async for one in api.deliveries(None, NAMED_MAX + 1, beginning=beginning)]
    if not found:
        raise unknown
    if len(found) > 1:
        rows = [f"{when_text(one['queued_at'])}  {one['endpoint']}  {one['state']}  {one['url']}" for one in found]
        raise _ambiguous("deliveries", text, [one["id"] for one in found], rows)
    return found[0]["id"]


async def replay_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no replay matches, or more than one."""
    beginning = "" if text == LAST else id_beginning(text)
    if beginning is None:
        raise _unknown_replay(text)
    newest = api.replays(1 if text == LAST else None)
    found = [replay async for replay in newest if replay["id"].startswith(beginning)]
    if not found:
        raise CliError("Nothing has been replayed yet.", Exit.FAILURE) if text == LAST else _unknown_replay(text)
    if len(found) > 1:
        rows = [f"{when_text(one['created_at'])}  {one['state']}" for one in found]
        raise _ambiguous("replays", text, [one["id"] for one in found], rows)
    return found[0]["id"]


async def target_named(api: ApiClient, text: str) -> tuple[EndpointView, TargetView]:
    """The target of that number, and its endpoint. CliError when there is none."""
    for endpoint in await api.endpoints():
        for target in endpoint["targets"]:
            if str(target["id"]) == text:
                return endpoint, target
    raise CliError(f"No target has the number {text!r}. See hookline targets SLUG.", Exit.FAILURE)


async def request_ids(api: ApiClient, texts: Iterable[str]) -> tuple[list[str], list[CliError]]:
    """The complete ids, each once, and an error for each text that matches no request.

    CliError when one is ambiguous; then none may be used.
    """
    ids: dict[str, None] = {}
    missing: list[CliError] = []
    for text in dict.fromkeys(texts):
        try:
            ids[await request_id(api, text)] = None
        except CliError as error:
            if error.code is not Exit.FAILURE:
                raise
            missing.append(error)
    return list(ids), missing


async def _last(api: ApiClient, slug: str | None) -> str:
    async for request in api.requests(slug, 1):
        return request["id"]
    raise CliError(
        "No requests are stored yet." if slug is None else f"Endpoint {slug!r} has no requests.", Exit.FAILURE
    )


def _unknown(text: str) -> CliError:
    return CliError(f"No request has the ID {text!r}. See hookline requests.", Exit.FAILURE)


def _unknown_replay(text: str) -> CliError:
    return CliError(f"No replay has the ID {text!r}. See hookline replays.", Exit.FAILURE)


def _ambiguous(kind: str, text: str, ids: list[str], rows: list[str]) -> CliError:
    """The error that names records of a kind; `rows` describe those with these ids."""
    short = [short_id(one, *ids[max(at - 1, 0) : at], *ids[at + 1 : at + 2]) for at, one in enumerate(ids)][:NAMED_MAX]
    more = " and more" if len(ids) > NAMED_MAX else ""
    details = tuple(visible(f"  {identity}  {row}") for identity, row in zip(short, rows, strict=False))
    message = f"Several {kind} have an ID that starts with {text!r}: {', '.join(short)}{more}. Use more characters."
    return CliError(message, Exit.USAGE, details)


def _common(one: str, other: str) -> int:
    """The length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (ours, theirs) in pairs if ours != theirs), min(len(one), len(other)))


def slug_given(text: str) -> str:
    """The slug; an invalid one gives the same error as an unknown one."""
    if slug_error(text):
        raise CliError(f"No endpoint has the slug {text!r}. See hookline endpoint list.", Exit.FAILURE)
    return text
