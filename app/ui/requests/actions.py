"""What the user does to requests, with the questions asked before anything goes for good."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.curl import PASTE_MAX, body_file, curl_command
from app.core.model import Endpoint, Summary
from app.core.wording import count_of
from app.ui.ports import Doors
from app.ui.requests.title import path_of
from app.ui.theme.theme import Theme
from app.ui.widgets.question import ask
from app.ui.widgets.toast import Toast

FOR_GOOD = "This cannot be undone."


class RequestActions:
    """Coroutines for the page's buttons, menus and keys; questions open over `over`, notices go to `toast`."""

    def __init__(self, doors: Doors, theme: Theme, over: QWidget, toast: Toast) -> None:
        self._doors, self._theme, self._over, self._toast = doors, theme, over, toast

    def say(self, text: str) -> None:
        """A short notice."""
        self._toast.say(text)

    async def agree_to_delete(self, summaries: Sequence[Summary]) -> bool:
        """Whether the user wants these requests to be deleted."""
        if len(summaries) == 1:
            one = summaries[0]
            title = "Delete this request?"
            text = f"{one.method} {path_of(one)[:120]} goes, with its body and what its mirroring gave. {FOR_GOOD}"
        else:
            title = f"Delete {count_of(len(summaries), 'request')}?"
            text = f"They go with their bodies and what their mirroring gave. {FOR_GOOD}"
        return await ask(self._over, self._theme, title, text, "Delete")

    async def delete(self, summaries: Sequence[Summary]) -> None:
        """Delete these requests, as was agreed."""
        await self._doors.captures.delete([summary.id for summary in summaries])
        self._toast.say(f"Deleted {count_of(len(summaries), 'request')}.")

    async def set_read(self, summaries: Sequence[Summary], read: bool) -> None:
        """Mark these requests read or unread."""
        await self._doors.captures.mark_read([summary.id for summary in summaries], read)

    async def copy_curl(self, summary: Summary) -> None:
        """Put the command that sends this request again on the clipboard."""
        capture = await self._doors.captures.get(summary.id)
        if capture is None:
            self._toast.say("That request is not stored any more.")
            return
        body = await self._doors.captures.body(capture.id) if capture.size <= PASTE_MAX else None
        endpoint = self._doors.endpoints.by_id(capture.endpoint_id)
        base = self._doors.capture_url(endpoint).partition("/catch/")[0] if endpoint else ""
        QGuiApplication.clipboard().setText(curl_command(capture, body, base))
        if body is None:
            self._toast.say(f"Copied. Save the body as {body_file(capture)} first: it is too large for a command.")
        else:
            self._toast.say("Copied as curl.")

    def copy_link(self, link: str) -> None:
        """Put a `hookline:` link on the clipboard."""
        QGuiApplication.clipboard().setText(link)
        self._toast.say("Copied a link that opens in Hookline.")

    async def mark_all_read(self, endpoint: Endpoint) -> None:
        """Mark every request of the endpoint read."""
        await self._doors.captures.mark_all_read(endpoint.id)

    async def clear(self, endpoint: Endpoint) -> None:
        """Delete every request of the endpoint once the user has agreed."""
        total = self._doors.captures.counts(endpoint.id).total
        title = f"Delete all {count_of(total, 'request')}?" if total > 1 else "Delete all requests?"
        text = f"All that “{escape(endpoint.name)}” holds goes, with bodies. The endpoint and its URL stay. {FOR_GOOD}"
        if total and await ask(self._over, self._theme, title, text, "Delete all"):
            await self._doors.captures.clear(endpoint.id)
