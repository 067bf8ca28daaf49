"""Says things in words, for the window and the command line: the title of a request, numbers, sizes, times, reports;
and what a mistyped word meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from http import HTTPStatus

from app.core.bodies.escape import escape
from app.core.clock import DAY_US, local_time
from app.core.model import ClockProblem, Endpoint, SentTest, StorageUse, Summary
from app.core.raw_request import below_slug
from app.core.record import Record
from app.core.sizes import exact_size

_SECOND, _MINUTE, _HOUR = 1_000_000, 60_000_000, 3_600_000_000
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""`%b` would follow the locale that Qt sets."""
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
Fact = tuple[str, str]
"""A label and its value: `("SQLite", "3.40.1")`."""


def sender_line(provider: str | None, event: str | None, providers: Mapping[str, str]) -> str:
    """`invoice.paid · Stripe`; empty for an unknown provider."""
    if provider is None:
        return ""
    name = escape(providers.get(provider, provider))
    return f"{escape(event)} · {name}" if event else name


TITLE_MAX = 400
"""Maximum characters of a target in a title: more never fit."""


class Title(Record, frozen=True):
    """The parts in the order they are drawn; `sender` and `path` may be empty.

    `is_event`: `main` is the event type; otherwise it is a summary of the request.
    """

    main: str
    sender: str
    path: str
    is_event: bool = False


def title_of(summary: Summary, providers: Mapping[str, str]) -> Title:
    """`providers` has the providers' names by ID."""
    path = escape(below_slug(summary.target[: TITLE_MAX + 100])[:TITLE_MAX])
    if path.startswith("/?") or path == "/":
        path = path[1:]  # nothing stands between the slug and the query
    sender = escape(providers.get(summary.provider, summary.provider)) if summary.provider else ""
    if sender and summary.event:
        return Title(main=escape(summary.event), sender=sender, path=path, is_event=True)
    gist = escape(summary.gist)
    return Title(main=gist, sender=sender, path="" if path == gist else path)


def name_of(summary: Summary) -> str:
    """The method and name of a request where there is no list around it: `POST invoice.paid`, `GET /orders/7`."""
    title = title_of(summary, {})
    return " ".join(filter(None, (escape(summary.method[:20]), title.main, title.path)))


def capturing_text(nodes: int) -> str:
    """`2 nodes capture`."""
    return f"{count_of(nodes, 'node')} {'captures' if nodes == 1 else 'capture'}" if nodes else "no node captures"


def count_of(number: int, one: str, many: str | None = None) -> str:
    """`1 request`, `3,204 requests`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def word_set(text: str) -> frozenset[str]:
    """The words of a text, each once."""
    return frozenset(text.split())


def shortened(text: str, most: int) -> str:
    """At most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def unsent_text(count: int, where: str = "") -> str:
    """That this many requests were deleted before they were sent, to `where`."""
    were, they = ("was", "it was") if count == 1 else ("were", "they were")
    return f"{count_of(count, 'request')} {were} deleted before {they} sent{where and ' to '}{where}."


def unexamined_text(count: int) -> str:
    """What a search says about requests that it left out without knowing whether they match."""
    were, bodies = ("was", "its compressed body unpacks") if count == 1 else ("were", "their compressed bodies unpack")
    return f"{count_of(count, 'request')} {were} not searched to the end: {bodies} to too much."


def size_text(size: int) -> str:
    """Bytes in the binary unit that keeps the number short: `912 B`, `1.2 KiB`, `329 MiB`. Limits are binary, too."""
    amount = float(size)
    for unit in _UNITS:
        if amount < 999.5 or unit == _UNITS[-1]:
            return f"{amount:.1f} {unit}" if unit != "B" and amount < 9.95 else f"{amount:.0f} {unit}"
        amount /= 1024
    raise AssertionError("the last unit has no upper limit")


def dimensions_text(width: float, height: float) -> str:
    """`1,200×800`, as short as a row needs it."""
    return f"{width:,.0f}×{height:,.0f}"


def use_text(used: int, limit: int | None) -> str:
    """`1.1 GiB of 20 GiB`; without a limit `1.1 GiB`."""
    return size_text(used) if limit is None else f"{size_text(used)} of {exact_size(limit)}"


def limit_text(endpoint: Endpoint | None, use: StorageUse) -> tuple[str, str]:
    """What happened at a storage limit (None: the limit of all endpoints), and what to do about it."""
    of_endpoint = "" if endpoint is None else f" of “{endpoint.name}”"
    if not use.reached:
        return f"The storage limit{of_endpoint} is no longer reached.", ""
    limit = f"The storage limit{of_endpoint} ({exact_size(use.limit or 0)}) is reached"
    more = "raise the limit in Settings" if endpoint is None else "raise the endpoint's limit"
    if use.capturing_stopped:
        text = f"{limit}: {'requests are not captured' if endpoint is None else 'its requests are not captured'}."
        return text, f"Senders get 503. Delete requests, or {more}."
    text = (
        f"{limit}: {'the oldest requests of all endpoints' if endpoint is None else 'its oldest requests'} are deleted."
    )
    return text, f"To keep more, {more}."


def clock_text(problem: ClockProblem) -> tuple[str, str]:
    """Why the clock is not trusted, and the consequences with what to do."""
    span = span_text(problem.by_us)
    if problem.kind == "future":
        one = problem.requests == 1
        were, at = ("was", f"{span} from now") if one else ("were", f"the newest {span} from now")
        reason = f"{count_of(problem.requests, 'stored request')} {were} received in the future, {at}."
    else:
        side = "ahead of" if problem.kind == "ahead" else "behind"
        reason = f"The clock is {span} {side} the last time Hookline ran."
    past = ""
    if problem.expired:
        verb = "is past its" if problem.expired == 1 else "are past their"
        past = f": {count_of(problem.expired, 'request')} {verb} retention"
    advice = (
        f"Nothing is deleted by age for now. If the clock is right, resume deleting{past}. If it is wrong,"
        f" correct it. Deleting resumes by itself after {span_text(problem.left_us)} of running on this clock."
    )
    return reason, advice


def sent_text(sent: SentTest, name: str) -> str:
    """`Test request for “Shop” sent to 127.0.0.1:8787: 200.`"""
    way = "through" if sent.public else "to"
    return f"Test request for “{name}” sent {way} {sent.place}: {sent.status}."


def ago(at_us: int, now_us: int) -> str:
    """How long ago, in one unit: `now`, `9 s ago`, `3 min ago`, `5 h ago`, `12 d ago`."""
    seconds = max(0, now_us - at_us) // 1_000_000
    for limit, span, unit in ((60, 1, "s"), (3_600, 60, "min"), (86_400, 3_600, "h")):
        if seconds < limit:
            return f"{seconds // span} {unit} ago" if seconds >= 2 else "now"
    return f"{seconds // 86_400} d ago"


def span_text(us: int) -> str:
    """A duration, rounded to one unit: `10 years`, `45 days`, `3 hours`, `1 minute`."""
    for least, unit, name in (
        (3 * 365 * DAY_US, 365 * DAY_US, "year"),  # 2.5 years are given in days
        (DAY_US, DAY_US, "day"),
        (_HOUR, _HOUR, "hour"),
        (_MINUTE, _MINUTE, "minute"),
    ):
        if us >= least:
            return count_of((us + unit // 2) // unit, name)
    return "less than a minute"


def until(at_us: int, now_us: int) -> str:
    """`in 12 min`, `in less than a minute`."""
    minutes = max(0, at_us - now_us) // 60_000_000
    return f"in {minutes} min" if minutes else "in less than a minute"


def exact_time(at_us: int) -> str:
    """The local date and time to the millisecond, with the offset from UTC."""
    moment = local_time(at_us)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{at_us // 1000 % 1000:03d} {_offset(moment)}"


def clock_time(at_us: int) -> str:
    """The local time of day to the millisecond."""
    moment = local_time(at_us)
    return f"{moment:%H:%M:%S}.{at_us // 1000 % 1000:03d}"


def day_text(at_us: int, now_us: int) -> str:
    """The local day: `Today`, `Yesterday`, `12 Nov`, in other years `12 Nov 2025`."""
    day, today = local_time(at_us).date(), local_time(now_us).date()
    if (today - day).days in (0, 1):
        return "Yesterday" if today > day else "Today"
    year = "" if day.year == today.year else f" {day.year}"
    return f"{day.day} {MONTHS[day.month - 1]}{year}"


def day_time(at_us: int, now_us: int) -> str:
    """`Today 02:04:32.505`, `Yesterday 23:59:01.120`, `12 Nov 02:04:32.505`: local, to the millisecond."""
    return f"{day_text(at_us, now_us)} {clock_time(at_us)}"


def full_time(at_us: int) -> str:
    """Two lines: the local time to the microsecond with the zone's offset and name, and the same in UTC."""
    local = local_time(at_us)
    name = f" {local.tzname()}" if local.tzname() not in (None, "", "UTC") else ""
    return f"{time_text(at_us, None)}{name}\n{time_text(at_us)}"


_AGO = ((_MINUTE, _SECOND, "s"), (_HOUR, _MINUTE, "m"), (DAY_US, _HOUR, "h"), (7 * DAY_US, DAY_US, "d"))


def ago_text(at_us: int, now_us: int) -> str:
    """How long ago, in at most three characters up to a week (`now`, `9s`, `5m`, `3h`, `2d`), then the date in UTC."""
    passed = now_us - at_us
    if passed < _SECOND:
        return "now"
    for limit, span, unit in _AGO:
        if passed < limit:
            return f"{passed // span}{unit}"
    moment = local_time(at_us, UTC)
    return f"{moment.day} {MONTHS[moment.month - 1]}"


def time_text(at_us: int, zone: tzinfo | None = UTC) -> str:
    """`2026-11-20 09:00:00.123456 UTC`, or with the offset of `zone`; None is the local time zone."""
    moment = local_time(at_us, zone)
    return f"{moment:%Y-%m-%d %H:%M:%S.%f} {'UTC' if moment.tzinfo is UTC else _offset(moment)}"


def _offset(moment: datetime) -> str:
    text = f"{moment:%z}"
    return f"{text[:3]}:{text[3:]}"


def signed_ms_text(ms: float) -> str:
    """`+3.0 ms`, `-12 ms`."""
    return f"{'-' if ms < 0 else '+'}{ms_text(abs(ms))}"


def ms_text(ms: float) -> str:
    """`0.8 ms`, `12 ms`, `1.5 s`."""
    if ms < 10:
        return f"{ms:.1f} ms"
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def duration_text(seconds: float) -> str:
    """`42 s`, `12 min`, `3 h 5 min`, `2 d 4 h`."""
    minutes = int(seconds) // 60
    if not minutes:
        return f"{int(seconds)} s"
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    if hours < 24:
        return f"{hours} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    return f"{hours // 24} d" + (f" {hours % 24} h" if hours % 24 else "")


def exact_duration(ms: int) -> str:
    """`250 ms`, `1.5 s`, `90 s`, `10 min`, `2 h`; `DurationField` reads it back as the same number."""
    for unit, size in (("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if ms and ms % size == 0:
            return f"{ms // size:,} {unit}"
    if ms > 1_000 and ms % 100 == 0:
        return f"{ms // 1_000:,}.{ms % 1_000 // 100} s"
    return f"{ms:,} {'ms' if ms else 's'}"


def host_port(host: str, port: int) -> str:
    """As in a URL, which has IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def phrase_of(status: int) -> str:
    """`Not Found`; "" for a status that has no usual phrase."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def source_text(address: str, port: int) -> str:
    """Where a request came from. A tunnel tells the client's address without its port, which is 0 then."""
    return f"{address} port {port}" if port else address


def report_text(title: str, sections: Sequence[tuple[str, Sequence[Fact]]]) -> str:
    """Plain text: under each section's name, labels in one column and values in the next."""
    width = max((len(name) for _, facts in sections for name, _ in facts), default=0)
    lines = [title]
    for heading, facts in sections:
        lines += ["", heading]
        lines += [f"  {name:<{width}}  {' '.join(value.split())}" for name, value in facts]
    return "\n".join(lines) + "\n"


ALIKE = 0.7
"""With difflib's own 0.6, `bogus` would mean `logs`."""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word, in lower case, most similar to this one, if there is one."""
    from difflib import get_close_matches  # start-up time: only who mistypes needs it

    return next(iter(get_close_matches(word.lower(), list(known), 1, ALIKE)), None)
