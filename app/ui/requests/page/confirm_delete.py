"""What is asked before requests are deleted: how many, from where, of which time, and which of them are marked."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.core.activity import DASH, local_time
from app.core.bodies.escape import escape
from app.core.deletion import MarkedIds
from app.core.model import Endpoint, Summary
from app.core.text import count_of
from app.ui.requests.list.row_title import title_of
from app.ui.requests.selection.selected_requests import SelectedRequests
from app.ui.theme.theme import Theme
from app.ui.widgets.question import Question, QuestionText

UNDO = "You can undo this for 10 seconds."
KEEP = "Keep starred requests and those with notes"
NAMED = 2
"""Name at most this many endpoints."""
LONGEST = 80
"""Characters of a name or a filter."""
PART_MAX = 40
"""Characters of a request's title, and of its path."""


async def ask_keeping(plain: QuestionText, keeping: QuestionText | None, theme: Theme, over: QWidget) -> bool | None:
    """Whether to keep marked requests, an option unless `keeping`, its text then, is None. None: delete nothing."""
    question = Question(plain.title, plain.text, plain.confirm, theme, over)
    if keeping is not None:
        question.offer(KEEP, keeping)
    return question.taken if await question.answer() else None


def delete_question(
    requests: SelectedRequests,
    marked: MarkedIds,
    endpoint: Callable[[int], Endpoint | None],
    now_us: int,
    *,
    keep: bool = False,
) -> QuestionText:
    """For requests of the endpoints that `endpoint` gives by id. `marked` are among them and deleted too unless `keep`,
    which is for more than one request.
    """
    if requests.only is not None:
        parts = [f"This deletes “{_name(requests.only)}”, its body and its delivery results.", _mark(marked), UNDO]
        return QuestionText("Delete this request?", _sentences(parts), "Delete request")
    found = sorted((one.name for number in requests.endpoint_ids if (one := endpoint(number))), key=str.casefold)
    where = [f"in {_endpoints(found)}"] if found else []
    if requests.filter:
        where.append(f"matching “{_short(requests.filter)}”")
    where.append(f"received {_when(requests.first, requests.last, now_us)}")
    newer = "Requests received since you selected them are kept." if requests.whole else ""
    return _many(requests.count, marked, keep=keep, every=requests.whole, where=", ".join(where), more=newer)


def clear_question(endpoint: Endpoint, total: int, marked: MarkedIds, *, keep: bool = False) -> QuestionText:
    """For all requests of the endpoint."""
    more = "The endpoint and its URL are kept."
    return _many(total, marked, keep=keep, every=True, where=f"in “{_short(endpoint.name)}”", more=more)


def _many(count: int, marked: MarkedIds, *, keep: bool, every: bool, where: str, more: str) -> QuestionText:
    left = max(0, count - len(marked.any)) if keep else count
    title = f"Delete {'all ' if every and count > 1 else ''}{count_of(count, 'request')}?"
    if keep:
        title = f"Delete {left:,} of {count_of(count, 'request')}?"
    deletes = f"This deletes {count_of(left, 'request')} {where}, with bodies and delivery results."
    text = _sentences([deletes, marks_text(marked, count), more, UNDO])
    return QuestionText(title, text, f"Delete {count_of(left, 'request')}", possible=left > 0)


def endpoint_question(endpoint: Endpoint, total: int, marked: MarkedIds) -> tuple[str, str]:
    """Title and text for an endpoint with its requests."""
    requests = f" and its {count_of(total, 'request')}" if total else ""
    deletes = "This deletes the endpoint and its requests, with bodies and delivery results." if total else ""
    stops = "Its URL stops capturing at once." if endpoint.active else ""
    text = _sentences([deletes, marks_text(marked, total), stops, UNDO])
    return f"Delete “{_short(endpoint.name)}”{requests}?", text


def marks_text(marked: MarkedIds, count: int) -> str:
    """`Of all 1,204, 12 are starred and 3 have notes.`; empty where none is."""
    starred, noted = len(marked.starred), len(marked.noted)
    parts = [f"{starred:,} {'is' if starred == 1 else 'are'} starred"] if starred else []
    if noted:
        parts.append(f"{noted:,} {'has a note' if noted == 1 else 'have notes'}")
    return f"Of all {count:,}, {' and '.join(parts)}." if parts else ""


def _mark(marked: MarkedIds) -> str:
    """For a single request."""
    words = (("is starred", marked.starred), ("has a note", marked.noted))
    parts = [word for word, ids in words if ids]
    return f"It {' and '.join(parts)}." if parts else ""


def _sentences(parts: list[str]) -> str:
    return " ".join(part for part in parts if part)


def _endpoints(names: list[str]) -> str:
    quoted = [f"“{_short(name)}”" for name in names]
    rest = len(quoted) - NAMED
    if rest > 0:
        return f"{', '.join(quoted[:NAMED])} and {count_of(rest, 'more endpoint')}"
    return " and ".join(quoted)


def _when(first: int, last: int, now: int) -> str:
    """`today, 09:14 - 11:02` (with an en dash), `on 19 Nov at 14:02`, `19 Nov 14:02 - 21 Nov 09:30`."""
    start, end, today = local_time(first, None), local_time(last, None), local_time(now, None).date()
    day = "today" if start.date() == today else f"{start.day} {start:%b}"
    if start.date() != end.date():
        return f"{start.day} {start:%b %H:%M} {DASH} {end.day} {end:%b %H:%M}"
    if f"{start:%H:%M}" == f"{end:%H:%M}":
        return f"{'' if day == 'today' else 'on '}{day} at {start:%H:%M}"
    return f"{day}, {start:%H:%M} {DASH} {end:%H:%M}"


def _name(summary: Summary) -> str:
    """`POST form · user[name], user[address][city]… /orders/7`. The end of a path tells it from others."""
    title = title_of(summary, {})
    main = title.main if len(title.main) <= PART_MAX else f"{title.main[: PART_MAX - 1].rstrip(' ,')}…"
    path = title.path if len(title.path) <= PART_MAX else f"…{title.path[1 - PART_MAX :]}"
    return " ".join(filter(None, (escape(summary.method[:20]), main, path)))


def _short(text: str) -> str:
    shown = escape(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
