"""What the user does to requests, with the questions asked before anything goes for good."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.core.clock import now_us
from app.core.curl import PASTE_MAX, body_file, curl_command
from app.core.model import Capture, Endpoint, Summary
from app.core.text import count_of
from app.ui.requests.page.confirm_delete import KEEP, clear_question, delete_question
from app.ui.requests.selection.batch_job import BatchJob
from app.ui.requests.selection.selected_requests import SelectedRequests
from app.ui.services import Services
from app.ui.theme.theme import Theme
from app.ui.widgets.question import Question, QuestionText
from app.ui.widgets.toast import Toast


class RequestActions:
    """Coroutines for the page's buttons, menus and keys; questions open over `over`, notices go to `toast`.

    What is done to many goes through `bulk`.
    """

    def __init__(self, services: Services, theme: Theme, over: QWidget, toast: Toast, bulk: BatchJob) -> None:
        self._services, self._theme, self._over, self._toast, self.bulk = services, theme, over, toast, bulk
        """Told which requests the user deletes, before their rows go: by what tells them from others."""

    def say(self, text: str) -> None:
        """A short notice."""
        self._toast.say(text)

    async def agree_to_delete(self, chosen: SelectedRequests) -> SelectedRequests | None:
        """Which of these requests the user wants to be deleted; None where that is none."""
        marked = chosen.among(await self._services.captures.clearings.marked(None))
        question = partial(delete_question, chosen, marked, self._services.endpoints.by_id, now_us())
        keeps = await self._ask(question(), question(keep=True) if marked.any and chosen.only is None else None)
        if keeps is None:
            return None
        if not keeps:
            return chosen
        # of a million it takes longer than the window may stand still
        left = await asyncio.get_running_loop().run_in_executor(None, _without, chosen.ids, marked.any)
        return replace(chosen, ids=left)

    async def delete(self, chosen: SelectedRequests) -> None:
        """Delete these requests, as was agreed."""
        await self._services.captures.delete(chosen.ids)

    async def set_read(self, chosen: SelectedRequests, read: bool) -> None:
        """Mark these requests read or unread."""
        mark = partial(self._services.captures.mark_read, read=read)
        done = await self.bulk.run("Marking", chosen.ids, mark)
        if chosen.count > 1:
            self._tell(f"Marked {count_of(done, 'request')} {'read' if read else 'unread'}.", done, chosen)

    async def star(self, chosen: SelectedRequests, starred: bool) -> None:
        """Give these requests a star, or take it."""
        mark = partial(self._services.captures.star, starred=starred)
        done = await self.bulk.run("Starring" if starred else "Taking stars of", chosen.ids, mark)
        if chosen.count > 1:
            what = f"Starred {count_of(done, 'request')}." if starred else f"{count_of(done, 'star')} removed."
            self._tell(what, done, chosen)

    async def set_note(self, capture_id: str, note: str) -> None:
        """Keep this as the request's note; an empty one removes it."""
        await self._services.captures.set_note(capture_id, note)
        self._toast.say("Note saved." if note.strip() else "Note removed.")

    async def curl_of(self, capture: Capture) -> tuple[str, bool]:
        """The command that sends this request again, and whether it holds the body or names a file for it."""
        body = await self._services.captures.body(capture.id) if capture.size <= PASTE_MAX else None
        endpoint = self._services.endpoints.by_id(capture.endpoint_id)
        base = self._services.capture_url(endpoint).partition("/catch/")[0] if endpoint else ""
        # of a long body it takes longer than the window may stand still
        command = await asyncio.get_running_loop().run_in_executor(None, curl_command, capture, body, base)
        return command, body is not None

    async def copy_curl(self, summary: Summary) -> None:
        """Put the command that sends this request again on the clipboard."""
        capture = await self._services.captures.get(summary.id)
        if capture is None:
            self._toast.say("That request is not stored any more.")
            return
        command, whole = await self.curl_of(capture)
        QGuiApplication.clipboard().setText(command)
        if whole:
            self._toast.say("Copied as curl.")
        else:
            self._toast.say(f"Copied. Save the body as {body_file(capture)} first: it is too large for a command.")

    def copy_link(self, link: str) -> None:
        """Put a `hookline:` link on the clipboard."""
        QGuiApplication.clipboard().setText(link)
        self._toast.say("Copied a link that opens in Hookline.")

    async def mark_all_read(self, endpoint: Endpoint) -> None:
        """Mark every request of the endpoint read."""
        await self._services.captures.mark_all_read(endpoint.id)

    async def clear(self, endpoint: Endpoint) -> None:
        """Delete every request of the endpoint once the user has agreed."""
        total = self._services.captures.counts(endpoint.id).total
        if not total:
            return
        marked = await self._services.captures.clearings.marked(endpoint.id)
        question = partial(clear_question, endpoint, total, marked)
        keeps = await self._ask(question(), question(keep=True) if marked.any else None)
        if keeps is not None:
            await self._services.captures.clear(endpoint.id, ("starred", "noted") if keeps else ())

    async def _ask(self, asked: QuestionText, keeping: QuestionText | None) -> bool | None:
        """Whether marked requests are kept, which is asked where `keeping` says how; None: nothing is deleted."""
        question = Question(asked.title, asked.text, asked.confirm, self._theme, self._over)
        if keeping is not None:
            question.offer(KEEP, keeping)
        return question.taken if await question.answer() else None

    def _tell(self, text: str, done: int, chosen: SelectedRequests) -> None:
        """What was done; of what was stopped, how much is left as it was."""
        left = chosen.count - done
        if done:
            self._toast.say(f"{text} Stopped. {count_of(left, 'request')} unchanged." if left else text)


def _without(ids: Sequence[str], kept: frozenset[str]) -> list[str]:
    return [name for name in ids if name not in kept]
