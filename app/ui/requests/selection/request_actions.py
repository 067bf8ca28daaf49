"""What the user does to requests: mark, star, note, copy, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.core.activity import DASH, local_time
from app.core.clock import now_us
from app.core.curl import PASTE_MAX, body_file, curl_command
from app.core.deletion import MarkedIds
from app.core.model import Capture, Endpoint, Summary
from app.core.text import count_of
from app.ui.replay.replay_actions import ReplayActions
from app.ui.requests.selection.select_all import BatchJob
from app.ui.requests.selection.selected_requests import SelectedRequests
from app.ui.services import Services
from app.ui.tasks import Tasks, in_thread
from app.ui.theme.theme import Theme
from app.ui.undo.delete_question import ask_keeping, many_requests, shortened
from app.ui.widgets.dialog import QuestionText
from app.ui.widgets.toast import Toast

NAMED = 2
"""Name at most this many endpoints."""


def delete_question(
    requests: SelectedRequests,
    marked: MarkedIds,
    endpoint: Callable[[int], Endpoint | None],
    now_us: int,
    *,
    keep: bool = False,
) -> QuestionText:
    """For requests of the endpoints that `endpoint` gives by id. `marked` are among them, and deleted unless `keep`."""
    found = sorted((one.name for number in requests.endpoint_ids if (one := endpoint(number))), key=str.casefold)
    where = [f"in {_endpoints(found)}"] if found else []
    if requests.filter:
        where.append(f"matching “{shortened(requests.filter)}”")
    where.append(f"received {_when(requests.first, requests.last, now_us)}")
    newer = "Requests received since you selected them are kept." if requests.whole else ""
    return many_requests(requests.count, marked, keep=keep, every=requests.whole, where=", ".join(where), more=newer)


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


class RequestActions:
    """Questions open over `over`, notices go to `toast`; `batch` runs what is done to many."""

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, over: QWidget, toast: Toast, *, batch: BatchJob
    ) -> None:
        self._services, self._theme, self._over, self._toast, self.batch = services, theme, over, toast, batch
        self.read_only = services.read_only
        self.replays = ReplayActions(services, theme, tasks, over, toast)
        self._to_copy: str | None = None
        """The request whose command is on its way to the clipboard, unless something else was copied since."""

    def say(self, text: str) -> None:
        """A short notice."""
        self._toast.say(text)

    async def delete(self, requests: SelectedRequests) -> None:
        """Delete these requests. Many are asked about; those with marks are kept if the user chooses so."""
        if requests.count == 1:
            await self._services.deletes.delete(requests.ids)
            return
        marked = requests.among(await self._services.store.captures.marked(None))
        question = partial(delete_question, requests, marked, self._services.store.endpoints.by_id, now_us())
        keeping = question(keep=True) if marked.any else None
        keeps = await ask_keeping(question(), keeping, self._theme, self._over)
        if keeps is None:
            return
        ids = requests.ids
        if keeps:
            since = await self._services.store.captures.marked(None)  # others may have marked some meanwhile
            # For a million requests this takes too long for the GUI thread.
            ids = await in_thread(_without, ids, marked.any | since.any)
        await self._services.deletes.delete(ids)

    async def set_read(self, requests: SelectedRequests, read: bool) -> None:
        """Mark these requests read or unread."""
        mark = partial(self._services.store.captures.mark_read, read=read)
        done = await self.batch.run("Marking", requests.ids, mark)
        if requests.count > 1:
            self._report(f"Marked {count_of(done, 'request')} {'read' if read else 'unread'}.", done, requests)

    async def star(self, requests: SelectedRequests, starred: bool) -> None:
        """Star these requests, or remove their stars."""
        mark = partial(self._services.store.captures.star, starred=starred)
        done = await self.batch.run("Starring" if starred else "Removing stars from", requests.ids, mark)
        if requests.count > 1:
            what = f"Starred {count_of(done, 'request')}." if starred else f"{count_of(done, 'star')} removed."
            self._report(what, done, requests)

    async def set_note(self, capture_id: str, note: str) -> None:
        """Save the request's note; an empty one removes it."""
        await self._services.store.captures.set_note(capture_id, note)
        self._toast.say("Note saved." if note.strip() else "Note removed.")

    async def curl_of(self, capture: Capture) -> tuple[str, bool]:
        """The command that sends this request again, and whether it holds the body or names a file for it."""
        body = await self._services.store.captures.body(capture.id) if capture.size <= PASTE_MAX else None
        endpoint = self._services.store.endpoints.by_id(capture.endpoint_id)
        base = self._services.capture_url(endpoint).partition("/catch/")[0] if endpoint else ""
        # For a long body this takes too long for the GUI thread.
        command = await in_thread(curl_command, capture, body, base)
        return command, body is not None

    async def copy_curl(self, summary: Summary) -> None:
        """Put the curl command that sends this request again on the clipboard."""
        self._to_copy = summary.id
        capture = await self._services.store.captures.get(summary.id)
        if capture is None:
            self._toast.say("This request is no longer stored.")
            return
        command, has_body = await self.curl_of(capture)
        if self._to_copy != summary.id:
            return
        QGuiApplication.clipboard().setText(command)
        if has_body:
            self._toast.say("Copied as curl.")
        else:
            self._toast.say(f"Copied. Save the body as {body_file(capture)} first: it is too large for a command.")

    def copy_link(self, link: str) -> None:
        """Put a `hookline:` link on the clipboard."""
        self._to_copy = None
        QGuiApplication.clipboard().setText(link)
        self._toast.say("Copied a link that opens in Hookline.")

    def _report(self, text: str, done: int, requests: SelectedRequests) -> None:
        """Say what was done, and how much was left when the user stopped it."""
        unchanged = requests.count - done
        if done:
            self._toast.say(f"{text} Stopped. {count_of(unchanged, 'request')} unchanged." if unchanged else text)


def _without(ids: Sequence[str], kept: frozenset[str]) -> list[str]:
    return [name for name in ids if name not in kept]
