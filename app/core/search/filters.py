"""The filters of the search language, each declared once: name, values, parser, help text."""

from __future__ import annotations

from collections.abc import Callable

from app.core.closest import closest
from app.core.model import METHODS, DeliveryState
from app.core.record import Record
from app.core.search.filter_values import (
    read_header,
    read_json_test,
    read_moment,
    read_name,
    read_network,
    read_size,
    read_status,
    read_text,
)
from app.core.search.query import Choice, Condition, QueryError
from app.core.search.tokens import Text


class FilterKind(Record, frozen=True):
    """A filter. `values` are suggested, and without `read` no others are allowed."""

    name: str
    help: str
    example: str
    values: tuple[str, ...] = ()
    read: Callable[[Text], Condition] | None = None


FILTERS: dict[str, FilterKind] = {
    kind.name: kind
    for kind in (
        FilterKind(name="method", help="the request’s method", example="method:POST", values=METHODS),
        FilterKind(name="path", help="text in the path", example="path:/orders", read=read_text),
        FilterKind(
            name="header", help="a header, its value (=) or part of it (~)", example="header:x-id=7", read=read_header
        ),
        FilterKind(
            name="status",
            help="the status of the response",
            example="status:5xx",
            values=("2xx", "3xx", "4xx", "5xx", ">=400"),
            read=read_status,
        ),
        FilterKind(
            name="delivery",
            help="the state of the latest delivery",
            example="delivery:failed",
            values=tuple(state.value for state in DeliveryState),
        ),
        FilterKind(
            name="size", help="the body’s size", example="size:>10k", values=("0", ">10k", ">1M"), read=read_size
        ),
        FilterKind(name="from", help="the sender’s address or network", example="from:203.0.113.7", read=read_network),
        FilterKind(name="provider", help="the provider that sent it", example="provider:stripe", read=read_name),
        FilterKind(name="event", help="its event type", example="event:invoice.paid", read=read_name),
        FilterKind(name="tag", help="a tag of its endpoint", example="tag:shop", read=read_name),
        FilterKind(name="json", help="a value in a JSON body", example="json:data.amount>1000", read=read_json_test),
        FilterKind(
            name="since",
            help="received at or after this time",
            example="since:2h",
            values=("15m", "2h", "today", "yesterday", "7d"),
            read=read_moment,
        ),
        FilterKind(
            name="before",
            help="received before this time",
            example="before:2026-11-01",
            values=("15m", "2h", "today", "yesterday", "7d"),
            read=read_moment,
        ),
        FilterKind(
            name="is",
            help="a mark on the request",
            example="is:unread",
            values=("unread", "read", "starred", "noted", "incomplete"),
        ),
    )
}
"""By name. `app/db/search` has a function for each."""
OLD_NAMES = {"mirror": "delivery"}
"""Filters by names that saved filters and scripts may still have."""


def read_condition(kind: FilterKind, value: Text) -> Condition:
    """The condition of a filter; raises QueryError with the offsets of the error."""
    if not value.characters:
        raise QueryError(f"{kind.name}: needs a value, as in {kind.example}.", value.start, value.end)
    if kind.read is not None:
        return kind.read(value)
    named = {choice.lower(): choice for choice in kind.values}
    found = named.get(value.characters.lower())
    if found is None:
        suggestion = closest(value.characters, named)
        raise QueryError(
            f"{kind.name}:{value.characters} is unknown. Use {', '.join(kind.values)}.",
            value.start,
            value.end,
            named[suggestion] if suggestion else None,
        )
    return Choice(value=found)
