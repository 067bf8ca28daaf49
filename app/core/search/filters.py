"""The filters of the search language, each declared once: name, values, parser, help text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from app.core.model import METHODS, MirrorState, Record
from app.core.search.addresses import read_network
from app.core.search.json_path import read_json
from app.core.search.numbers import read_size, read_status
from app.core.search.query import Choice, Condition, Contains, HeaderTest, Network, Operator, QueryError
from app.core.search.times import read_moment
from app.core.search.tokens import Text


class Kind(Record, frozen=True):
    """A filter. `values` are suggested, and without `read` no others are allowed."""

    name: str
    help: str
    example: str
    values: tuple[str, ...] = ()
    read: Callable[[Text], Condition] | None = None


def _path(value: Text) -> Condition:
    return Contains(text=value.characters)


def _header(value: Text) -> Condition:
    at = value.find("=~")
    name = value.part(0, None if at < 0 else at)
    if not name.characters:
        raise QueryError("Name a header, as in header:x-github-event=push.", value.start, value.end)
    colon = name.find(":")
    if colon >= 0:
        message = "Header names have no colon. To compare a value, write header:x-id=7, or header:x-id~7 for a part."
        raise QueryError(message, name.places[colon], name.places[colon] + 1, "=")
    if at < 0:
        return HeaderTest(name=name.characters, operator="exists")
    operator: Operator = "=" if value.characters[at] == "=" else "~"
    return HeaderTest(name=name.characters, operator=operator, value=value.characters[at + 1 :])


def _named(value: Text) -> Condition:
    return Choice(value=value.characters)


def _from(value: Text) -> Condition:
    network = read_network(value.characters)
    if network is None:
        message = f"“{value.characters}” is not an address: write it as 203.0.113.7, or a network as 10.0.0.0/8."
        raise QueryError(message, value.start, value.end)
    return Network(network=network)


FILTERS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="method", help="the request’s method", example="method:POST", values=METHODS),
        Kind(name="path", help="text in the path", example="path:/orders", read=_path),
        Kind(name="header", help="a header, its value (=) or part of it (~)", example="header:x-id=7", read=_header),
        Kind(
            name="status",
            help="the status of the response",
            example="status:5xx",
            values=("2xx", "3xx", "4xx", "5xx", ">=400"),
            read=read_status,
        ),
        Kind(
            name="mirror",
            help="the state of mirroring",
            example="mirror:failed",
            values=tuple(state.value for state in MirrorState),
        ),
        Kind(name="size", help="the body’s size", example="size:>10k", values=("0", ">10k", ">1M"), read=read_size),
        Kind(name="from", help="the sender’s address or network", example="from:203.0.113.7", read=_from),
        Kind(name="provider", help="the provider that sent it", example="provider:stripe", read=_named),
        Kind(name="event", help="its event type", example="event:invoice.paid", read=_named),
        Kind(name="json", help="a value in a JSON body", example="json:data.amount>1000", read=read_json),
        Kind(
            name="since",
            help="received at or after this time",
            example="since:2h",
            values=("15m", "2h", "today", "yesterday", "7d"),
            read=read_moment,
        ),
        Kind(
            name="before",
            help="received before this time",
            example="before:2026-11-01",
            values=("15m", "2h", "today", "yesterday", "7d"),
            read=read_moment,
        ),
        Kind(
            name="is",
            help="a mark on the request",
            example="is:unread",
            values=("unread", "read", "starred", "noted", "incomplete"),
        ),
    )
}
"""By name. `app/db/search` has a function for each."""


def read_condition(kind: Kind, value: Text) -> Condition:
    """The condition of a filter; QueryError with the place of the error in the value."""
    if not value.characters:
        raise QueryError(f"{kind.name}: needs a value, as in {kind.example}.", value.start, value.end)
    if kind.read is not None:
        return kind.read(value)
    named = {choice.lower(): choice for choice in kind.values}
    found = named.get(value.characters.lower())
    if found is None:
        near = nearest(value.characters, named)
        raise QueryError(
            f"{kind.name}:{value.characters} is unknown. Use {', '.join(kind.values)}.",
            value.start,
            value.end,
            named[near] if near else None,
        )
    return Choice(value=found)


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The one of `names` that was probably meant by `word`."""
    return next(iter(get_close_matches(word.lower(), list(names), 1, 0.6)), None)
