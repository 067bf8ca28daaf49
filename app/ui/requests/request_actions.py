"""What the user does to requests: replay, mark, star, note, copy, delete; and the commands on those selected in a list,
or on the one in a detail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.core.activity import DASH
from app.core.bodies.escape import escape
from app.core.clock import local_time, now_us
from app.core.curl import PASTE_MAX, body_file, curl_command
from app.core.errors import HooklineError
from app.core.links import link_to_request
from app.core.model import Capture, DeliveryState, MarkedIds, Summary
from app.core.replay import ChosenRequests, MatchingRequests, ReplaySpec
from app.core.text import count_of
from app.ui.commands.command import Command, CommandGroup, Commands
from app.ui.deleting import ask_keeping, many_requests, short_text
from app.ui.deliveries.words import counted
from app.ui.messages import MessageAction
from app.ui.replay.replay_text import INCOMPLETE_LEFT_OUT, attempt_text
from app.ui.requests.select_all import BatchJob, SelectedRequests, selected_requests
from app.ui.services import Services
from app.ui.tasks import Tasks, in_thread
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import QuestionText, ask
from app.ui.widgets.notices import Toast

if TYPE_CHECKING:
    from app.ui.inspector.header import RequestHeader
    from app.ui.replay.replay_editor import SendResult

NAMED = 2
"""Name at most this many endpoints."""
NONE_SELECTED, ONLY_ONE = "No request is selected.", "Select a single request."
NOT_TWO = "Select two requests to compare them."
BATCH_RUNS = "Wait until the current batch is done."
NO_TARGET = "This endpoint has no target that is switched on: choose another URL."


def _endpoints(names: list[str]) -> str:
    quoted = [f"“{short_text(name)}”" for name in names]
    rest = len(quoted) - NAMED
    if rest > 0:
        return f"{', '.join(quoted[:NAMED])} and {count_of(rest, 'more endpoint')}"
    return " and ".join(quoted)


def _when(first: int, last: int, now: int) -> str:
    """`today, 09:14 - 11:02` (with an en dash), `on 19 Nov at 14:02`, `19 Nov 14:02 - 21 Nov 09:30`."""
    start, end, today = local_time(first), local_time(last), local_time(now).date()
    day = "today" if start.date() == today else f"{start.day} {start:%b}"
    if start.date() != end.date():
        return f"{start.day} {start:%b %H:%M} {DASH} {end.day} {end:%b %H:%M}"
    if f"{start:%H:%M}" == f"{end:%H:%M}":
        return f"{'' if day == 'today' else 'on '}{day} at {start:%H:%M}"
    return f"{day}, {start:%H:%M} {DASH} {end:%H:%M}"


class RequestActions:
    """Questions and dialogs open over `over`, notices go to `toast`; `batch` runs what is done to many. `listed` are
    the requests that the list shows; `show_deliveries` shows the deliveries of the open request. What takes time is a
    coroutine.
    """

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, over: QWidget, toast: Toast, *, batch: BatchJob
    ) -> None:
        self._services, self._theme, self._over, self._toast, self.batch = services, theme, over, toast, batch
        self._tasks, self.read_only = tasks, services.read_only
        self.listed: Callable[[], MatchingRequests] = MatchingRequests
        self.show_deliveries: Callable[[str], object] | None = None
        self._to_copy: str | None = None
        """The request whose command is on its way to the clipboard, unless something else was copied since."""

    def say(self, text: str) -> None:
        """A short notice."""
        self._toast.say(text)

    async def replay(self, requests: SelectedRequests) -> None:
        """Send these to their targets again; ask before many."""
        if requests.only is not None:
            await self._replay_one(requests.only)
            return
        if not any(self._targets(endpoint.id) for endpoint in self._services.store.endpoints.all()):
            self.replay_many(requests.ids, say=NO_TARGET)
            return
        many = count_of(requests.count, "request")
        text = f"This sends {many} to the targets of their endpoints again, oldest first, one after the other."
        text = f"{text} {INCOMPLETE_LEFT_OUT}"
        if await ask(self._over, self._theme, f"Replay {many}?", text, f"Replay {many}", kind="primary"):
            await self._services.replays.start(ReplaySpec(source=ChosenRequests(ids=tuple(requests.ids))))

    def edit_replay(self, requests: SelectedRequests, *, say: str = "") -> None:
        """Open the editor, or the form for many; `say` tells why it opened."""
        if requests.only is not None:
            self._tasks.start(self._load_editor(requests.only, say), "edit and replay", self._over)
        else:
            self.replay_many(requests.ids, say=say)

    async def _load_editor(self, only: Summary, say: str) -> None:
        # Start-up time, here and below: loaded when the user first replays something.
        from app.ui.replay.replay_editor import ReplayEditor
        from app.ui.replay.request_editors import load_request

        request = await load_request(only.id, self._services)
        if request is None:
            self._toast.say("This request is no longer stored.")
            return
        editor = ReplayEditor(request, self._services, self._theme, self._tasks, self._over)
        editor.many_requested.connect(self.replay_many)
        editor.open()
        if say:
            editor.explain(say)

    def replay_many(self, ids: Sequence[str] = (), *, say: str = "") -> None:
        """Open the form for many; `ids` are selected."""
        from app.ui.replay.replay_many_dialog import ReplayManyDialog  # as above

        parts = self._services, self._theme, self._tasks, self._over
        dialog = ReplayManyDialog(self.listed(), *parts, ids=tuple(ids))
        dialog.open()
        if say:
            dialog.form.select_url()

    async def read_two(self, requests: SelectedRequests) -> tuple[Capture, Capture] | None:
        """Both requests, the older one first; None if one of them is no longer stored, which is said."""
        found = [await self._services.store.captures.get(capture_id) for capture_id in requests.ids]
        stored = [capture for capture in found if capture is not None]
        if len(stored) < len(found):
            self._toast.say("One of these requests is no longer stored.")
            return None
        older, newer = sorted(stored, key=lambda capture: (capture.received_at, capture.id))
        return older, newer

    async def delete(self, requests: SelectedRequests) -> None:
        """Delete these requests. Many are asked about; those with marks are kept if the user chooses so."""
        if requests.count == 1:
            await self._services.deletes.delete(requests.ids)
            return
        marked = requests.among(await self._services.store.captures.marked(None))
        keeping = self._delete_question(requests, marked, keep=True) if marked.any else None
        keeps = await ask_keeping(self._delete_question(requests, marked), keeping, self._theme, self._over)
        if keeps is None:
            return
        ids = requests.ids
        if keeps:
            since = await self._services.store.captures.marked(None)  # others may have marked some meanwhile
            # For a million requests this takes too long for the GUI thread.
            ids = await in_thread(_without, ids, marked.any | since.any)
        await self._services.deletes.delete(ids)

    def _delete_question(self, requests: SelectedRequests, marked: MarkedIds, *, keep: bool = False) -> QuestionText:
        """`marked` are among these requests, and deleted unless `keep`."""
        endpoints = map(self._services.store.endpoints.by_id, requests.endpoint_ids)
        found = sorted((one.name for one in endpoints if one is not None), key=str.casefold)
        where = [f"in {_endpoints(found)}"] if found else []
        if requests.filter:
            where.append(f"matching “{short_text(requests.filter)}”")
        where.append(f"received {_when(requests.first, requests.last, now_us())}")
        newer = "Requests received since you selected them are kept." if requests.whole else ""
        return many_requests(
            requests.count, marked, keep=keep, every=requests.whole, where=", ".join(where), more=newer
        )

    async def toggle_read(self, requests: SelectedRequests) -> None:
        """Unread becomes read where any is unread, otherwise all become unread."""
        await self.set_read(requests, read=bool(requests.unread))

    async def set_read(self, requests: SelectedRequests, *, read: bool) -> None:
        mark = partial(self._services.store.captures.mark_read, read=read)
        done = await self.batch.run("Marking", requests.ids, mark)
        if requests.count > 1:
            self._report(f"Marked {count_of(done, 'request')} {'read' if read else 'unread'}.", done, requests)

    async def toggle_star(self, requests: SelectedRequests) -> None:
        """Whatever has no star gets one; where all have one, all lose it."""
        starred = requests.starred < requests.count
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
        base = self._services.about.base_url.rstrip("/")
        # For a long body this takes too long for the GUI thread.
        command = await in_thread(curl_command, capture, body, base)
        return command, body is not None

    async def copy_curl(self, requests: SelectedRequests) -> None:
        """Put the curl command that sends this request again on the clipboard."""
        (capture_id,) = requests.ids
        self._to_copy = capture_id
        capture = await self._services.store.captures.get(capture_id)
        if capture is None:
            self._toast.say("This request is no longer stored.")
            return
        command, has_body = await self.curl_of(capture)
        if self._to_copy != capture_id:
            return
        QGuiApplication.clipboard().setText(command)
        if has_body:
            self._toast.say("Copied as curl.")
        else:
            self._toast.say(f"Copied. Save the body as {body_file(capture)} first: it is too large for a command.")

    def copy_link(self, requests: SelectedRequests) -> None:
        """Put a `hookline:` link to this request on the clipboard."""
        self._to_copy = None
        QGuiApplication.clipboard().setText(link_to_request(*requests.ids))
        self._toast.say("Copied a link that opens in Hookline.")

    def _targets(self, endpoint_id: int) -> int:
        endpoint = self._services.store.endpoints.by_id(endpoint_id)
        return sum(target.active for target in endpoint.targets) if endpoint is not None else 0

    async def _replay_one(self, only: Summary) -> None:
        if not self._targets(only.endpoint_id):
            self.edit_replay(selected_requests((only,)), say=NO_TARGET)
            return
        if not only.complete:
            text = "Its sender disconnected before the end of the body. This sends the part that arrived."
            if not await ask(self._over, self._theme, "Replay an incomplete request?", text, "Replay", kind="primary"):
                return
        from app.ui.replay.replay_editor import replay_and_wait  # as above

        self._toast.say("Replaying…")
        spec = ReplaySpec(source=ChosenRequests(ids=(only.id,)), incomplete=not only.complete)
        try:
            sends, problem = await replay_and_wait(spec, self._services)
        except HooklineError as error:
            self._toast.say(f"Not replayed: {error}")
            return
        shown = self.show_deliveries if sends else None
        actions = [MessageAction("Show", partial(shown, only.id))] if shown is not None else []
        self._toast.say(result_text(only, sends, problem), *actions)

    def _report(self, text: str, done: int, requests: SelectedRequests) -> None:
        """Say what was done, and how much was left when the user stopped it."""
        unchanged = requests.count - done
        if done:
            self._toast.say(f"{text} Stopped. {count_of(unchanged, 'request')} unchanged." if unchanged else text)


def _without(ids: Sequence[str], kept: frozenset[str]) -> list[str]:
    return [name for name in ids if name not in kept]


class RequestCommands(Commands):
    """`requests` returns the ones they are about; call `refresh` when that changed. Those with keys are what a list, a
    detail and the palette offer.
    """

    group = CommandGroup.REQUEST
    own_window_requested = Signal(object)
    note_requested = Signal()

    def __init__(
        self,
        requests: Callable[[], SelectedRequests],
        actions: RequestActions,
        tasks: Tasks,
        theme: Theme,
        parent: QObject,
    ) -> None:
        super().__init__(theme, actions.say, parent, read_only=actions.read_only)
        self._requests, self._actions, self._tasks = requests, actions, tasks
        self._refreshing: SelectedRequests | None = None
        change = partial(self.command, changes=True)
        self.replay = change("Replay", "replay", actions.replay, self._not_any, "R", synonyms="resend send again")
        self.edit_replay = change("Edit and replay…", "edit-replay", actions.edit_replay, self._not_any, "Shift+R")
        self.curl = self.command("Copy as curl", "code", actions.copy_curl, _not_one, "C", synonyms="export")
        self.link = self.command("Copy link", "link", actions.copy_link, _not_one, "L")
        own, keys = self._own_window, ("Shift+Enter", "Shift+Return")
        self.own_window = self.command("Open in new window", "own-window", own, _not_one, *keys)
        self.star = change("Star", "star", actions.toggle_star, self._not_any, "S", fixed_name="Star or remove star")
        self.note = change("Add note…", "note", self._edit_note, _not_one, "N", fixed_name="Add or edit note…")
        toggle, both = actions.toggle_read, "Mark as read or unread"
        self.toggle_read = change("Mark as unread", "unread", toggle, self._not_any, "U", fixed_name=both)
        self.delete = change("Delete", "delete", actions.delete, self._not_any, "Del", synonyms="remove")
        mark_read, mark_unread = (partial(actions.set_read, read=read) for read in (True, False))
        self.mark_read = change("Mark as read", "read", mark_read, self._none_unread)
        self.mark_unread = change("Mark as unread", "unread", mark_unread, self._none_read)
        self.refresh()

    def show_in(self, header: RequestHeader, offered: Sequence[Command]) -> None:
        """Offer these in the header of the one request they are about, where its note is written and saved, too."""
        header.show_commands(offered, [self.own_window, self.link])  # the last two have no button where space is short
        self.note_requested.connect(header.note.start)
        header.note.store = self._actions.set_note

    @Slot()
    def refresh(self) -> None:
        """Name and enable each for the requests it is about now."""
        requests = self._refreshing = self._requests()
        count, only, unread = requests.count, requests.only, bool(requests.unread)
        many = f" {count:,} requests" if count > 1 else ""
        self.note.setText("Edit note…" if only is not None and only.note else "Add note…")
        self.toggle_read.show_as(f"Mark{many} as {'read' if unread else 'unread'}", "read" if unread else "unread")
        if count and requests.starred == count:
            self.star.show_as(f"Remove {f'{count:,} stars' if many else 'star'}", "starred", "warning_fill")
        else:
            self.star.show_as(f"Star{many}", "star")
        self.mark_read.setText(f"Mark{many} as read")
        self.mark_unread.setText(f"Mark{many} as unread")
        self.replay.setText(f"Replay{many}…" if many else "Replay")
        self.edit_replay.setText(f"Replay{many} with options…" if many else "Edit and replay…")
        self.delete.setText(f"Delete{many}…" if many else "Delete")
        super().refresh()
        self._refreshing = None

    def _run(self, run: Callable[..., Any]) -> None:
        work = run(self._requests())
        if work is not None:
            self._tasks.start(work, "a command on requests")

    def _reason(self, unavailable: Callable[[SelectedRequests], str | None] | None) -> str | None:
        requests = self._refreshing or self._requests()  # read once for all that are refreshed
        return requests.deleted or (unavailable(requests) if unavailable is not None else None)

    def _not_any(self, requests: SelectedRequests) -> str | None:
        if not requests.count:
            return NONE_SELECTED
        return BATCH_RUNS if self._actions.batch.busy else None

    def _none_unread(self, requests: SelectedRequests) -> str | None:
        return self._not_any(requests) or (None if requests.unread else "Already marked as read.")

    def _none_read(self, requests: SelectedRequests) -> str | None:
        return self._not_any(requests) or (None if requests.unread < requests.count else "Already marked as unread.")

    def _own_window(self, requests: SelectedRequests) -> None:
        self.own_window_requested.emit(requests.only)

    def _edit_note(self, requests: SelectedRequests) -> None:
        self.note_requested.emit()


def _not_one(requests: SelectedRequests) -> str | None:
    if requests.only is not None:
        return None
    return ONLY_ONE if requests.count else NONE_SELECTED


def result_text(only: Summary, sends: Sequence[SendResult], problem: str | None) -> str:
    """`Replayed POST to http://127.0.0.1:3000/hook: 200 in 12 ms.`"""
    method = escape(only.method[:20])
    if not sends:
        return f"Not replayed: {problem or 'nothing was sent.'}"
    if len(sends) == 1:
        send = sends[0]
        failed = send.delivery.state is not DeliveryState.DELIVERED
        outcome = attempt_text(send.attempt).rstrip(".")
        where = escape(send.attempt.url)
        if failed:
            return f"Replay of {method} to {where} failed: {outcome}."
        return f"Replayed {method} to {where}: {outcome}."
    counts = ", ".join(f"{count} {word}" for count, word in counted(send.delivery.state for send in sends))
    return f"Replayed {method} to {len(sends)} targets: {counts}."
