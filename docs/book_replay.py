"""The chapter of replaying: the editor, the form for many, the progress, and the page of replays."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QDialog

from app.core.model import Endpoint
from app.core.replay import MatchingRequests, OneUrl, OriginalGaps, ReplaySpec, ReplayState
from app.ui.replay.replay_editor import HEADERS, ReplayEditor
from app.ui.replay.replay_many_dialog import ReplayManyDialog
from app.ui.widgets.headers_field import NAME
from docs import picture_data
from docs.book import SIZES, Book

_BINARY = (("Content-Type", "application/octet-stream"),)
WIDE = ((1366, 768), SIZES[1])


async def draw(book: Book, stripe: Endpoint, binary: Endpoint) -> None:
    """On the requests of `stripe`, and one of `binary` whose body is no text."""
    await book.show(stripe)
    await book.open("POST")
    await _editor(book)
    await book.fill(binary, [picture_data.Request("PUT", "/exports/9.bin", _BINARY, bytes(range(256)) * 9)])
    await book.show(binary)
    await book.open("PUT")
    editor = await _open_editor(book)
    await book.save("replay-editor-binary", WIDE)
    editor.done(QDialog.DialogCode.Rejected)
    await book.show(stripe)
    await _many(book)
    await _progress(book, stripe)


async def _open_editor(book: Book) -> ReplayEditor:
    book.page.commands.opened.edit_replay.trigger()
    await book.until("the editor", lambda: any(one.isVisible() for one in book.window.findChildren(ReplayEditor)))
    return book.dialog(ReplayEditor)


async def _editor(book: Book) -> None:
    editor = await _open_editor(book)
    await book.save("replay-editor", WIDE)
    editor.submit()
    await book.until("the response", editor.response.isVisible)
    await asyncio.sleep(0.3)
    await book.save("replay-editor-sent", WIDE)
    editor.tabs.setCurrentIndex(HEADERS)
    await book.save("replay-editor-headers", WIDE)
    editor.url.setText("localhost:3000/hook")
    editor.url.textEdited.emit("")
    editor.method.setCurrentText("P OST")
    rows = editor.headers.field.grid.rows
    rows.setData(rows.index(0, NAME), "no name")
    await book.save("replay-editor-errors", WIDE)
    editor.done(QDialog.DialogCode.Rejected)


async def _many(book: Book) -> None:
    book.page.commands.replay.trigger()
    dialog = book.dialog(ReplayManyDialog)
    await book.until("the count", lambda: dialog.start.text() != "Replay")
    await book.save("replay-many", WIDE)
    dialog.form.requests.set_current("range")
    dialog.form.requests.activated.emit("range")
    dialog.form.pace.set_current("gaps")
    dialog.form.pace.activated.emit("gaps")
    dialog.form["pace.scale"].setText("10")
    dialog.form["pace.longest_gap_ms"].setText("2")
    for name, share in (("duplicate", "5"), ("drop", "1"), ("delay", "110")):
        dialog.form[f"faults.{name}"].setText(share)
    dialog.form["seed"].set_value(7)
    await asyncio.sleep(0.4)
    dialog.resize(dialog.sizeHint())
    await book.save("replay-many-options", WIDE)
    dialog.reject()


async def _progress(book: Book, stripe: Endpoint) -> None:
    replays, tracker = book.ready.application.replays, book.window.replays.tracker
    source = MatchingRequests(endpoint_id=stripe.id)
    slow = await replays.start(ReplaySpec(source=source, pace=OriginalGaps(scale=0.0125), concurrency=4))
    await book.until("some sends", lambda: (shown := tracker.shown) is not None and shown.progress.sent > 10)
    await book.save("replay-running", WIDE)
    await replays.pause(slow.id)
    await book.save("replay-paused")
    await replays.cancel(slow.id)
    await book.until("the end", lambda: (shown := tracker.shown) is not None and shown.state is ReplayState.CANCELLED)
    dead = ReplaySpec(source=source, destination=OneUrl(url="http://127.0.0.1:9/"))
    await replays.start(dead)
    await book.until("failures", lambda: (shown := tracker.shown) is not None and shown.state is ReplayState.DONE)
    done = await replays.start(ReplaySpec(source=source, concurrency=8, times=5))
    await book.until(
        "the end of all",
        lambda: (shown := tracker.shown) is not None and (shown.id, shown.state) == (done.id, ReplayState.DONE),
    )
    await book.save("replay-done", WIDE)
    book.window.replays.bar.show_page.click()
    await asyncio.sleep(0.3)
    await book.save("replays-summary", WIDE)
    page = book.window.replays_page
    page.list.select_row(1)
    await book.until("its failures", lambda: page.details.failures.rows.rowCount() > 0)
    await book.save("replays-failed")
    await book.show(stripe)
