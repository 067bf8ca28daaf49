"""The chapter of what one does with requests and endpoints: notes, menus, many at once, pausing, and all dialogs."""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialog, QMenu

from app.core.model import Endpoint
from app.core.target import RetryRule, TargetDraft
from app.ui.about_dialog import AboutDialog, LicencesDialog
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.inspector.request_view import BODY
from app.ui.messages import Message
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.sidebar import DASHBOARD
from app.ui.widgets.dialog import Question
from docs import picture_data
from docs.book import SIZES, Book

STORAGE_ADVICE = "Senders get a 503 response and can retry; capturing resumes as soon as storing works."


async def draw_hand(book: Book, stripe: Endpoint) -> None:
    """On the requests of `stripe`."""
    page, captures = book.page, book.store.captures
    await book.show(stripe)
    await book.open("POST")
    rows = [page.feed.model.summary(row) for row in range(12)]
    await captures.star([rows[0].id, rows[4].id, rows[5].id])
    await captures.set_note(rows[0].id, "Arrived twice: see the ticket on retries.\nAsk billing before replaying it.")
    await captures.set_note(rows[7].id, "A good example for the tests.")
    book.detail.tabs.setCurrentIndex(BODY)
    await asyncio.sleep(0.3)
    await book.save("note", SIZES)
    book.detail.header.note.start()
    await book.save("note-writing")
    book.detail.header.note.cancel()
    page.show_list()
    await book.save("request-menu", before=partial(_open_menu, book))
    book.close_menus()
    page.list.select_row(1)
    for _ in range(6):
        QTest.keyClick(page.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    await book.save("selected", SIZES)
    page.commands.clear_selection()
    book.window.pause.set(True)
    await book.fill(stripe, [picture_data.stripe(book.rng) for _ in range(7)])
    await book.save("paused")
    book.window.pause.set(False)
    await book.save("endpoint-menu", before=partial(_open_notify, book))
    book.close_menus()
    await _own_window(book, rows[0].id)


async def _own_window(book: Book, capture_id: str) -> None:
    summary = next(
        one for one in map(book.page.feed.model.summary, range(book.page.feed.model.rowCount())) if one.id == capture_id
    )
    book.page.windows.open(summary)
    own = book.page.windows.open_now[capture_id]
    await asyncio.sleep(0.5)
    for scheme in ("light", "dark"):
        book.ready.theme.set_choice(scheme)
        await asyncio.sleep(0.2)
        book.write(own.grab(), f"own-window-{scheme}")
    own.close()


async def draw_targets(book: Book, endpoint: Endpoint) -> None:
    """The dialog of its targets, with two more: one paused, one wrong."""
    targets = book.store.targets
    retry = RetryRule(on=("connection", "timeout", "5xx"))
    more = TargetDraft(url="https://staging.example.org/webhooks/stripe", retry=retry, parallel=4)
    made = await targets.create(endpoint.id, more)
    await targets.create(endpoint.id, TargetDraft(url="http://old-billing.internal:8080/hooks", active=False))
    await targets.pause(made.id)
    book.window.endpoint_actions.edit_targets(endpoint)
    dialog = book.dialog(TargetsDialog)
    await asyncio.sleep(0.3)
    await book.save("targets", SIZES)
    dialog.column.list.select_row(1)
    await book.save("targets-paused")
    form = dialog.forms.of(dialog.edits.items[1])
    form.reveal("client_key")
    await book.save("targets-end")
    dialog.add()
    form = dialog.forms.of(dialog.edits.items[-1])
    form["url"].insert("ftp://example.org")
    form["timeout_ms"].setText("soon")
    await book.save("targets-errors")
    dialog.done(QDialog.DialogCode.Rejected)


def _open_menu(book: Book) -> None:
    book.close_menus()
    page = book.page
    place = page.list.visualRect(page.list.currentIndex()).bottomLeft() + QPoint(84, 0)
    page.commands.menu_of_selected().popup(page.list.viewport().mapToGlobal(place))


def _open_notify(book: Book) -> None:
    """The menu of the endpoint, with the choice of notifications beside it."""
    book.close_menus()
    header = book.page.header
    header.more.click()
    menu = header.notify.parentWidget()
    assert isinstance(menu, QMenu)
    menu.setActiveAction(header.notify.menuAction())
    QTest.keyClick(menu, Qt.Key.Key_Right)


async def draw_dialogs(book: Book, stripe: Endpoint) -> None:
    """Over the dashboard."""
    window, actions = book.window, book.window.endpoint_actions
    window.show_page(DASHBOARD)
    actions.create()
    await book.save("new-endpoint", SIZES)
    form = book.dialog(EndpointDialog).form
    form.more_button.click()
    form["forward_url"].insert("ftp://example.org")
    form.reveal("forward_url")
    await book.save("new-endpoint-more")
    book.dialog(EndpointDialog).done(QDialog.DialogCode.Rejected)  # Without the question about unsaved changes.
    await draw_targets(book, stripe)
    actions.delete(stripe)
    await book.until("the question", lambda: any(one.isVisible() for one in window.findChildren(Question)))
    await book.save("delete")
    book.dialog(Question).reject()
    window.dialogs.open_settings()
    await book.save("settings", SIZES)
    sections = book.dialog(SettingsDialog).sections
    for row in range(1, sections.count()):
        sections.setCurrentRow(row)
        await book.save(f"settings-{sections.item(row).text().lower()}")
    book.dialog(SettingsDialog).reject()
    window.dialogs.open_about()
    await book.save("about")
    book.dialog(AboutDialog).show_licences()
    await book.save("licences")
    book.dialog(LicencesDialog).reject()
    book.dialog(AboutDialog).reject()
    full = Message(text="The disk is full. Free some space.", advice=STORAGE_ADVICE)
    book.ready.messages.post(full)
    await book.save("banner")
    book.ready.messages.withdraw(full.key)
