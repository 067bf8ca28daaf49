"""Endpoints, requests, deliveries, replays and targets as they are named on the command line: a slug; an id, its
beginning, or `@last`; a number."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from app.cli.errors import CliError, Exit
from app.cli.output import Output, visible, when_text
from app.core.ids import BEGINNING_MIN, id_beginning, whole_id
from app.core.rules import slug_error

if TYPE_CHECKING:
    from app.cli.client import ApiClient
    from hookline.records import Delivery, Endpoint, Replay, Summary, Target

V = TypeVar("V", "Summary", "Delivery", "Replay")

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


async def with_short_ids(out: Output, found: AsyncIterator[V]) -> AsyncIterator[tuple[str, V]]:
    """Each record of a list in the order of ids, on a terminal with the part of its id that distinguishes it from its
    neighbours, elsewhere with its id."""
    before: str | None = None
    previous: V | None = None
    async for one in found:
        if previous is not None:
            short = short_id(previous.id, one.id, *([before] if before else []))
            yield short if out.terminal else previous.id, previous
            before = previous.id
        previous = one
    if previous is not None:
        yield short_id(previous.id, *([before] if before else [])) if out.terminal else previous.id, previous


async def request_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no request matches, or more than one."""
    slug = _slug_of_last(text)
    return await _whole_id(
        text,
        ("request", "requests"),
        api.requests.list(slug, count=1),
        "No requests are stored yet." if slug is None else f"Endpoint {slug!r} has no requests.",
        starting=lambda start: api.requests.list(id_start=start, count=NAMED_MAX + 1),
        row=lambda one: f"{when_text(one.received_at)}  {one.endpoint}  {one.method} {one.target}",
    )


async def delivery_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no delivery matches, or more than one."""
    slug = _slug_of_last(text)
    return await _whole_id(
        text,
        ("delivery", "deliveries"),
        api.deliveries.list(endpoint=slug, count=1),
        "Nothing has been forwarded yet." if slug is None else f"Endpoint {slug!r} has no deliveries.",
        starting=lambda start: api.deliveries.list(id_start=start, count=NAMED_MAX + 1),
        row=lambda one: f"{when_text(one.queued_at)}  {one.endpoint}  {one.state}  {one.url}",
    )


async def replay_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no replay matches, or more than one."""

    async def starting(start: str) -> AsyncIterator[Replay]:
        async for replay in api.replays.list():
            if replay.id.startswith(start):
                yield replay

    if is_last(text) and text != LAST:
        raise _unknown(("replay", "replays"), text)
    return await _whole_id(
        text,
        ("replay", "replays"),
        api.replays.list(1),
        "Nothing has been replayed yet.",
        starting=starting,
        is_checked=True,
        row=lambda one: f"{when_text(one.created_at)}  {one.state}",
    )


async def _whole_id(
    text: str,
    nouns: tuple[str, str],
    last: AsyncIterator[V],
    nothing: str,
    *,
    starting: Callable[[str], AsyncIterator[V]],
    row: Callable[[V], str],
    is_checked: bool = False,
) -> str:
    """The id that `text` stands for: that of the `last` record (`nothing` says that there is none), or the only one of
    those `starting` so, each of which `row` describes. A complete id is looked up only where it `is_checked`."""
    if is_last(text):
        async for one in last:
            return one.id
        raise CliError(nothing, Exit.FAILURE)
    if not is_checked:
        with suppress(ValueError):
            return whole_id(text)
    beginning = id_beginning(text)
    found = [] if beginning is None else [one async for one in starting(beginning)]
    if not found:
        raise _unknown(nouns, text)
    if len(found) > 1:
        raise _ambiguous(nouns[1], text, [one.id for one in found], [row(one) for one in found])
    return found[0].id


async def target_named(api: ApiClient, text: str) -> tuple[Endpoint, Target]:
    """The target of that number, and its endpoint. CliError when there is none."""
    for endpoint in await api.all_endpoints():
        for target in endpoint.targets:
            if str(target.id) == text:
                return endpoint, target
    raise CliError(f"No target has the number {text!r}. See hookline targets SLUG.", Exit.FAILURE)


async def each_id(
    api: ApiClient, whole: Callable[[ApiClient, str], Awaitable[str]], texts: Iterable[str]
) -> tuple[list[str], list[CliError]]:
    """The complete ids that `whole` finds, such as `request_id`, each once, and an error for each text that matches
    nothing.

    CliError when one is ambiguous; then none may be used.
    """
    ids: dict[str, None] = {}
    missing: list[CliError] = []
    for text in dict.fromkeys(texts):
        try:
            ids[await whole(api, text)] = None
        except CliError as error:
            if error.code is not Exit.FAILURE:
                raise
            missing.append(error)
    return list(ids), missing


def _slug_of_last(text: str) -> str | None:
    """The endpoint in `@last:SLUG`."""
    return text.partition(":")[2] or None if is_last(text) else None


def _unknown(nouns: tuple[str, str], text: str) -> CliError:
    return CliError(f"No {nouns[0]} has the ID {text!r}. See hookline {nouns[1]}.", Exit.FAILURE)


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
