"""What is asked before requests are deleted: how many, from where, and of which time."""

from __future__ import annotations

from collections.abc import Callable

from app.core.activity.local import local
from app.core.activity.wording import DASH
from app.core.bodies.escape import escape
from app.core.model import Endpoint, Summary
from app.core.wording import count_of
from app.ui.requests.chosen import Chosen
from app.ui.requests.title import path_of

FOR_GOOD = "This cannot be undone."
NAMED = 2
"""Of more endpoints so many are named."""
LONGEST = 80
"""Characters of a name, a path or a filter."""


def delete_question(chosen: Chosen, endpoint: Callable[[int], Endpoint | None], now_us: int) -> tuple[str, str]:
    """Title and text, for requests of the endpoints that `endpoint` gives by id."""
    if chosen.only is not None:
        text = f"{_name(chosen.only)} goes, with its body and what its mirroring gave. {FOR_GOOD}"
        return "Delete this request?", text
    title = f"Delete {'all ' if chosen.whole else ''}{count_of(chosen.count, 'request')}?"
    found = sorted((one.name for number in chosen.endpoint_ids if (one := endpoint(number))), key=str.casefold)
    parts = [f"from {_endpoints(found)}"] if found else []
    if chosen.filter:
        parts.append(f"matching “{_short(chosen.filter)}”")
    them = ", ".join([*parts, f"received {_when(chosen.first, chosen.last, now_us)}"])
    stays = "What came in since they were selected stays. " if chosen.whole else ""
    gone = "Their bodies, notes and mirror results go too."
    return title, f"{them[0].upper()}{them[1:]}. {gone} {stays}{FOR_GOOD}"


def _endpoints(names: list[str]) -> str:
    quoted = [f"“{_short(name)}”" for name in names]
    rest = len(quoted) - NAMED
    if rest > 0:
        return f"{', '.join(quoted[:NAMED])} and {count_of(rest, 'more endpoint')}"
    return " and ".join(quoted)


def _when(first: int, last: int, now: int) -> str:
    """`today, 09:14 - 11:02` (with an en dash), `on 19 Nov at 14:02`, `19 Nov 14:02 - 21 Nov 09:30`."""
    start, end, today = local(first, None), local(last, None), local(now, None).date()
    day = "today" if start.date() == today else f"{start.day} {start:%b}"
    if start.date() != end.date():
        return f"{start.day} {start:%b %H:%M} {DASH} {end.day} {end:%b %H:%M}"
    if f"{start:%H:%M}" == f"{end:%H:%M}":
        return f"{'' if day == 'today' else 'on '}{day} at {start:%H:%M}"
    return f"{day}, {start:%H:%M} {DASH} {end:%H:%M}"


def _name(summary: Summary) -> str:
    return f"{escape(summary.method)} {path_of(summary)[:120]}"


def _short(text: str) -> str:
    shown = escape(text)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
