"""The title of a request: its event if that is known, otherwise what it is about in a few words; and its sender.

All of it is escaped.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.core.bodies.escape import escape
from app.core.model import Summary
from app.core.raw_request import below_slug
from app.core.record import Record

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
