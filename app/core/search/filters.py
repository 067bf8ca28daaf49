"""The filters of the search language, each declared once: name, values, parser, help text."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple

from app.core.clock import microseconds
from app.core.model import METHODS, DeliveryState
from app.core.search.query import (
    Choice,
    Condition,
    Contains,
    HeaderTest,
    JsonTest,
    Network,
    Operator,
    QueryError,
    Range,
    Text,
    TimePoint,
)
from app.core.sizes import LARGEST, parse_size
from app.core.text import closest

_COMPARED = re.compile(r"(<=|>=|<|>|=)(.*)", re.DOTALL)
_CLASS = re.compile(r"([1-5])xx", re.IGNORECASE)
_STATUS = re.compile(r"[1-9][0-9]{2}")


def read_status(value: Text) -> Range:
    """`200`, `5xx`, `>=400`, `400..499`."""
    group = _CLASS.fullmatch(value.characters)
    if group:
        first = int(group[1]) * 100
        return Range(low=first, high=first + 99)
    return _range(value, _status, "not a status: write it as 200, 5xx, >=400 or 400..499")


def read_size(value: Text) -> Range:
    """`0`, `>10k`, `<1.5M`, `5k..10k`, in bytes; k, M, G are decimal, KiB, MiB, GiB binary."""
    return _range(value, parse_size, "not a size: write it as 512, >10k, <1M or 5k..10k")


def _range(value: Text, number: Callable[[str], int | None], wrong: str) -> Range:
    low, dots, high = value.characters.partition("..")
    if dots:
        first, last = (number(low) if low else 0), (number(high) if high else LARGEST)
        if first is not None and last is not None and low + high:
            if first > last:
                raise QueryError(
                    f"{value.characters} is an empty range: it ends before it starts.", value.start, value.end
                )
            return Range(low=first if low else None, high=last if high else None)
    else:
        compared = _COMPARED.fullmatch(value.characters)
        operator, text = (compared[1], compared[2]) if compared else ("=", value.characters)
        found = number(text)
        if found is not None:
            return {
                "=": Range(low=found, high=found),
                ">": Range(low=found + 1, high=None),
                ">=": Range(low=found, high=None),
                "<": Range(low=None, high=found - 1),
                "<=": Range(low=None, high=found),
            }[operator]
    raise QueryError(f"“{value.characters}” is {wrong}.", value.start, value.end)


def _status(text: str) -> int | None:
    return int(text) if _STATUS.fullmatch(text) and text.isascii() else None


_COMPARISON = re.compile("[=!<>~]")
_OPERATORS: dict[str, Operator] = {"!=": "!=", "<=": "<=", ">=": ">=", "=": "=", "<": "<", ">": ">", "~": "~"}
MAX_STEPS = 50


def read_json_test(value: Text) -> JsonTest:
    """`data.items[0].id`, `data.amount>1000`, `items.*.sku=A-1`; quoted keys can contain dots."""
    found = _COMPARISON.search(value.syntax)
    if found is None:
        colon = value.syntax.find(":")
        if colon >= 0:
            meant = f"json:{value.characters[:colon]}={value.characters[colon + 1 :]}"
            message = f'“:” is not a comparison. Write {meant}; quote a key with a colon, as in json:"a:b".'
            raise QueryError(message, value.offsets[colon], value.offsets[colon] + 1, "=")
        return JsonTest(path=_json_path(value), operator="exists")
    at = found.start()
    operator = _OPERATORS.get(value.syntax[at : at + 2]) or _OPERATORS.get(value.syntax[at])
    if operator is None:
        raise QueryError(
            "“!” must be followed by “=”, as in json:state!=done.", value.offsets[at], value.offsets[at] + 1
        )
    rest = at + len(operator)
    if _COMPARISON.match(value.syntax, rest):
        wrong = value.characters[at : rest + 1]
        message = (
            f"“{wrong}” is not a comparison. Use =, !=, <, <=, >, >= or ~; quote a value that begins with one of them,"
            f' as in json:a{operator}"{value.characters[rest]}x".'
        )
        raise QueryError(message, value.offsets[at], value.offsets[rest] + 1, operator)
    if rest == len(value.characters) and operator not in ("=", "!="):
        message = f"“{operator}” needs a value after it, as in json:data.amount{operator}1000."
        raise QueryError(message, value.offsets[at], value.end)
    return JsonTest(path=_json_path(value.part(0, at)), operator=operator, value=value.characters[rest:])


_STEP = re.compile(r"[^.\[]+")


def _json_path(text: Text) -> tuple[str | None, ...]:
    if text.syntax.startswith("$."):
        text = text.part(2)
    syntax, steps = text.syntax, list[str | None]()
    end = -1
    while end < len(syntax):
        begin = end + 1  # after a dot
        end = _end_of_step(text, begin)
        steps.append(None if syntax[begin:end] == "*" else text.characters[begin:end])
        while syntax.startswith("[", end):
            close = syntax.find("]", end)
            if close < 0:
                raise QueryError("This bracket is not closed.", text.offsets[end], text.end)
            steps.append(_json_item(text, end, close))
            end = close + 1
            if not syntax.startswith((".", "["), end) and end < len(syntax):
                raise QueryError("Write a dot between the steps of a path.", text.offsets[end], text.end)
        if len(steps) > MAX_STEPS:
            raise QueryError(f"A path can have at most {MAX_STEPS} steps.", text.start, text.end)
    return tuple(steps)


def _end_of_step(text: Text, begin: int) -> int:
    step = _STEP.match(text.syntax, begin)
    if step is None:
        offset = text.offsets[begin] if begin < len(text.offsets) else text.end
        message = "A step of the path is missing: write it as in json:data.object.amount>1000."
        raise QueryError(message, min(offset, text.end), text.end)
    return step.end()


def _json_item(text: Text, opening: int, close: int) -> str | None:
    inner = text.characters[opening + 1 : close]
    if inner in ("", "*"):
        return None
    if not (inner.isascii() and inner.isdigit()):
        message = "Brackets must contain the number of an item, or * for any."
        raise QueryError(message, text.offsets[opening], text.offsets[close] + 1)
    return str(int(inner)) if len(inner) < 12 else inner


_AGO = re.compile(r"([0-9]{1,6})(s|min|m|h|d|w)", re.IGNORECASE | re.ASCII)
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DAYS_BACK = {"today": 0, "yesterday": 1}
_DATE_OR_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,6})?)?.{0,6})?", re.ASCII
)


def read_moment(value: Text) -> TimePoint:
    """`90s`, `15m`, `2h`, `3d`, `1w` ago; `today`, `yesterday`, `2026-11-01` at 00:00; `2026-11-01T09:30[:00][Z]`."""
    text = value.characters
    ago = _AGO.fullmatch(text)
    if ago:
        return TimePoint(at=None, ago=int(ago[1]) * _SECONDS[ago[2].lower()] * 1_000_000)
    at = _calendar_time(text)
    if at is None:
        forms = "how long ago (15m, 2h, 3d), a day (2026-11-01) or a time (2026-11-01T09:30)"
        raise QueryError(f"“{text}” is not a time: write {forms}.", value.start, value.end)
    return TimePoint(at=at)


def _calendar_time(text: str) -> int | None:
    """In µs since the epoch; None for an invalid day, or one outside the range of the system's calendar."""
    try:
        if text.lower() in _DAYS_BACK:
            day = datetime.now().astimezone().date() - timedelta(days=_DAYS_BACK[text.lower()])
            return microseconds(datetime.fromisoformat(day.isoformat()).astimezone())
        if _DATE_OR_TIME.fullmatch(text):
            return microseconds(datetime.fromisoformat(text.upper()).astimezone())
    except (ValueError, OverflowError, OSError):  # OSError: astimezone() on Windows, before 1970
        return None
    return None


def read_network(value: Text) -> Network:
    """`203.0.113.7` or `10.0.0.0/8`."""
    text = value.characters
    try:
        found = ipaddress.ip_network(text, strict=False) if "/" in text else ipaddress.ip_address(text)
    except ValueError:
        message = f"“{text}” is not an address: write it as 203.0.113.7, or a network as 10.0.0.0/8."
        raise QueryError(message, value.start, value.end) from None
    return Network(network=str(found))


def read_text(value: Text) -> Contains:
    return Contains(text=value.characters)


def read_name(value: Text) -> Choice:
    """Any value, compared as a whole."""
    return Choice(value=value.characters)


def read_header(value: Text) -> HeaderTest:
    """`x-id`, `x-id=7`, `x-id~7`."""
    compared = re.search("[=~]", value.syntax)
    name = value.part(0, compared.start() if compared else None)
    if not name.characters:
        raise QueryError("Name a header, as in header:x-github-event=push.", value.start, value.end)
    colon = name.syntax.find(":")
    if colon >= 0:
        message = "Header names have no colon. To compare a value, write header:x-id=7, or header:x-id~7 for a part."
        raise QueryError(message, name.offsets[colon], name.offsets[colon] + 1, "=")
    if compared is None:
        return HeaderTest(name=name.characters, operator="exists")
    operator, expected = _OPERATORS[compared.group()], value.characters[compared.end() :]
    return HeaderTest(name=name.characters, operator=operator, value=expected)


class FilterKind(NamedTuple):
    """A filter. `values` are suggested, and without `read` no others are allowed."""

    name: str
    help: str
    example: str
    values: tuple[str, ...] = ()
    read: Callable[[Text], Condition] | None = None


_STATUSES = ("2xx", "3xx", "4xx", "5xx", ">=400")
_STATES = tuple(state.value for state in DeliveryState)
_TIMES = ("15m", "2h", "today", "yesterday", "7d")
_MARKS = ("unread", "read", "starred", "noted", "incomplete")

FILTERS: dict[str, FilterKind] = {
    kind.name: kind
    for kind in (
        FilterKind("method", "the request’s method", "method:POST", METHODS),
        FilterKind("path", "text in the path", "path:/orders", (), read_text),
        FilterKind("header", "a header, its value (=) or part of it (~)", "header:x-id=7", (), read_header),
        FilterKind("status", "the status of the response", "status:5xx", _STATUSES, read_status),
        FilterKind("delivery", "the state of the latest delivery", "delivery:failed", _STATES),
        FilterKind("size", "the body’s size", "size:>10k", ("0", ">10k", ">1M"), read_size),
        FilterKind("from", "the sender’s address or network", "from:203.0.113.7", (), read_network),
        FilterKind("provider", "the provider that sent it", "provider:stripe", (), read_name),
        FilterKind("event", "its event type", "event:invoice.paid", (), read_name),
        FilterKind("tag", "a tag of its endpoint", "tag:shop", (), read_name),
        FilterKind("json", "a value in a JSON body", "json:data.amount>1000", (), read_json_test),
        FilterKind("since", "received at or after this time", "since:2h", _TIMES, read_moment),
        FilterKind("before", "received before this time", "before:2026-11-01", _TIMES, read_moment),
        FilterKind("is", "a mark on the request", "is:unread", _MARKS),
    )
}
"""By name. `app/db` has a condition on a column or a function for each."""
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
