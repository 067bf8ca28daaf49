"""Endpoints, requests, deliveries, replays and targets as they are named on the command line: a slug; an id, its
beginning, or `@last`; a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from app.cli.errors import CliError, Exit
from app.cli.output import Output, visible, when_text
from app.core.ids import BEGINNING_MIN, id_beginning, is_short_beginning, whole_id
from app.core.rules import slug_error

if TYPE_CHECKING:
    from app.cli.client import ApiClient
    from hookline.records import Delivery, Endpoint, Replay, Summary, Target

V = TypeVar("V", "Summary", "Delivery", "Replay")

LAST = "@last"


def _id_help(noun: str, last: str) -> str:
    start = f"the start of it ({BEGINNING_MIN} or more characters, enough to be unique)"
    return f"a {noun}'s ID, or {start}; {LAST} is {last}"


ID_HELP = _id_help("request", f"the newest request, {LAST}:SLUG the newest request of an endpoint")
DELIVERY_HELP = _id_help("delivery", f"the delivery queued last, {LAST}:SLUG the last one of an endpoint")
REPLAY_HELP = _id_help("replay", "the replay started last")
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


def with_short_ids(out: Output, found: Iterator[V]) -> Iterator[tuple[str, V]]:
    """Each record of a list in the order of ids, on a terminal with the part of its id that distinguishes it from its
    neighbours, elsewhere with its id."""
    before = current = None
    for following in chain(found, (None,)):
        if current is not None:
            neighbours = [one.id for one in (before, following) if one is not None]
            yield short_id(current.id, *neighbours) if out.terminal else current.id, current
        before, current = current, following


class _Kind(NamedTuple):
    """Records that are named by their ids. `listed` gets the API, and the `endpoint`, the `id_start` and the `count` of
    those to list, the last one first. `nothing` says that there are none, `row` describes one."""

    nouns: tuple[str, str]
    listed: Callable[..., Iterator[Any]]
    nothing: str
    row: Callable[[Any], str]


def _replays(api: ApiClient, *, id_start: str = "", count: int) -> Iterator[Replay]:
    for replay in api.replays.list(None if id_start else count):
        if replay.id.startswith(id_start):
            yield replay


_REQUESTS = _Kind(
    ("request", "requests"),
    lambda api, **which: api.requests.list(**which),
    "No requests are stored yet.",
    lambda one: f"{when_text(one.received_at)}  {one.endpoint}  {one.method} {one.target}",
)
_DELIVERIES = _Kind(
    ("delivery", "deliveries"),
    lambda api, **which: api.deliveries.list(**which),
    "Nothing has been forwarded yet.",
    lambda one: f"{when_text(one.queued_at)}  {one.endpoint}  {one.state}  {one.url}",
)
_REPLAYS = _Kind(
    ("replay", "replays"),
    _replays,
    "Nothing has been replayed yet.",
    lambda one: f"{when_text(one.created_at)}  {one.state}",
)


def request_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no request matches, or more than one."""
    return _whole_id(api, _REQUESTS, text)


def delivery_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no delivery matches, or more than one."""
    return _whole_id(api, _DELIVERIES, text)


def replay_id(api: ApiClient, text: str) -> str:
    """The complete id. CliError when no replay matches, or more than one."""
    if is_last(text) and text != LAST:
        raise _unknown(_REPLAYS, text)
    return _whole_id(api, _REPLAYS, text, is_checked=True)


def _whole_id(api: ApiClient, kind: _Kind, text: str, *, is_checked: bool = False) -> str:
    """The id that `text` stands for. A complete one is looked up only if it `is_checked`."""
    if is_last(text):
        slug = text.partition(":")[2]
        for one in kind.listed(api, count=1, **({"endpoint": slug} if slug else {})):
            return str(one.id)
        raise CliError(f"Endpoint {slug!r} has no {kind.nouns[1]}." if slug else kind.nothing, Exit.FAILURE)
    if not is_checked:
        with suppress(ValueError):
            return whole_id(text)
    found = []
    if (beginning := id_beginning(text)) is not None:
        found = list(kind.listed(api, id_start=beginning, count=NAMED_MAX + 1))
    if not found:
        raise _unknown(kind, text)
    if len(found) > 1:
        raise _ambiguous(kind.nouns[1], text, [one.id for one in found], [kind.row(one) for one in found])
    return str(found[0].id)


def target_named(api: ApiClient, text: str) -> tuple[Endpoint, Target]:
    """The target of that number, and its endpoint. CliError when there is none."""
    for endpoint in api.all_endpoints():
        for target in endpoint.targets:
            if str(target.id) == text:
                return endpoint, target
    raise CliError(f"No target has the number {text!r}. See hookline targets SLUG.", Exit.FAILURE)


def each_id(
    api: ApiClient, whole: Callable[[ApiClient, str], str], texts: Iterable[str]
) -> tuple[list[str], list[CliError]]:
    """The complete ids that `whole` finds, such as `request_id`, each once, and an error for each text that matches
    nothing.

    CliError when one is ambiguous; then none may be used.
    """
    ids: dict[str, None] = {}
    missing: list[CliError] = []
    for text in dict.fromkeys(texts):
        try:
            ids[whole(api, text)] = None
        except CliError as error:
            if error.code is not Exit.FAILURE:
                raise
            missing.append(error)
    return list(ids), missing


def _unknown(kind: _Kind, text: str) -> CliError:
    one, many = kind.nouns
    hint = f" The start of an ID has at least {BEGINNING_MIN} characters." if is_short_beginning(text) else ""
    return CliError(f"No {one} has the ID {text!r}.{hint} See hookline {many}.", Exit.FAILURE)


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
