"""What is asked before selected requests are deleted: how many, from where, received when, and which are marked."""

from __future__ import annotations

from collections.abc import Callable

from app.core.activity import DASH, local_time
from app.core.bodies.escape import escape
from app.core.deletion import MarkedIds
from app.core.model import Endpoint, Summary
from app.core.text import count_of
from app.ui.request.title import title_of
from app.ui.requests.selection.selected_requests import SelectedRequests
from app.ui.undo.delete_question import UNDO, many_requests, sentences, shortened
from app.ui.widgets.question import QuestionText

NAMED = 2
"""Name at most this many endpoints."""
PART_MAX = 40
"""Characters of a request's title, and of its path."""


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
        return QuestionText("Delete this request?", sentences(parts), "Delete request")
    found = sorted((one.name for number in requests.endpoint_ids if (one := endpoint(number))), key=str.casefold)
    where = [f"in {_endpoints(found)}"] if found else []
    if requests.filter:
        where.append(f"matching “{shortened(requests.filter)}”")
    where.append(f"received {_when(requests.first, requests.last, now_us)}")
    newer = "Requests received since you selected them are kept." if requests.whole else ""
    return many_requests(requests.count, marked, keep=keep, every=requests.whole, where=", ".join(where), more=newer)


def _mark(marked: MarkedIds) -> str:
    """For a single request."""
    words = (("is starred", marked.starred), ("has a note", marked.noted))
    parts = [word for word, ids in words if ids]
    return f"It {' and '.join(parts)}." if parts else ""


def _endpoints(names: list[str]) -> str:
    quoted = [f"“{shortened(name)}”" for name in names]
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
