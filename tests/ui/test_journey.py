"""A user's whole way through the real window on the real program, by keys and clicks, with real requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.application import Application
from app.core.model import Endpoint
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.inspector.tabs.tabs import BODY, HEADERS
from app.ui.messages import Messages
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import REFUSED
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import Question
from app.ui.widgets.switch import Switch
from app.window_session import services_of
from tests.e2e.senders import Answer, post
from tests.ui.waiting import activate, settle, until


@dataclass
class Desk:
    """The program, its window, and a sender outside."""

    application: Application
    window: MainWindow

    @property
    def endpoint(self) -> Endpoint:
        return self.application.store.endpoints.all()[0]

    async def send(self, body: bytes, *headers: str, path: str = "") -> Answer:
        url = self.application.addresses.capture_url(self.endpoint) + path
        return await asyncio.to_thread(post, url, body, *headers)

    async def dialog(self, kind: type[Any]) -> Any:
        await until(lambda: [dialog for dialog in self.window.findChildren(kind) if dialog.isVisible()])
        return next(dialog for dialog in self.window.findChildren(kind) if dialog.isVisible())


@asynccontextmanager
async def desk_on(folder: Path) -> AsyncIterator[Desk]:
    """Everything `hookline` starts, on free ports."""
    application = Application(folder, {"port": 0, "api_port": 0})
    await application.open()
    await application.listen()
    theme, tasks = Theme(), Tasks(Messages())
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    theme.apply(app)
    with theme.deferred_styling():
        window = MainWindow(services_of(application), theme, tasks, on_close=lambda: None)
    window.show()
    await until(window.isActiveWindow)
    try:
        yield Desk(application, window)
    finally:
        window.close()
        await tasks.cancel_all()
        window.deleteLater()
        await application.close()


def click(widget: Any) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


@pytest.mark.usefixtures("no_time_to_undo")
async def test_create_edit_receive_read_switch_off_and_delete(tmp_path: Path) -> None:
    async with desk_on(tmp_path) as desk:
        await create(desk)
        await edit(desk)
        await receive_and_read(desk)
        await switch_off(desk)
        await delete(desk)


async def create(desk: Desk) -> None:
    QTest.keyClick(desk.window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    dialog = await desk.dialog(EndpointDialog)
    assert not dialog.submit_button.isEnabled()
    QTest.keyClicks(dialog.form["name"], "Journey")
    QTest.keyClicks(dialog.form["forward_url"], desk.application.addresses.local_base() + "/catch/anything")
    await until(lambda: "loop forever" in dialog.form.fields["forward_url"].error())
    assert not dialog.submit_button.isEnabled()
    dialog.form["forward_url"].selectAll()
    QTest.keyClick(dialog.form["forward_url"], Qt.Key.Key_Delete)
    await until(dialog.submit_button.isEnabled)
    click(dialog.submit_button)
    await until(desk.application.store.endpoints.all)
    assert desk.endpoint.name == "Journey"
    assert desk.endpoint.retention_days == 7
    await until(lambda: desk.window.pages.currentWidget() is desk.window.requests)
    await until(desk.window.requests.list_area.empty.isVisible)
    await closed(desk)


async def closed(desk: Desk) -> None:
    """Wait for the form to close, which it does after the endpoint is stored: nothing opens by itself before."""
    await until(lambda: not any(dialog.isVisible() for dialog in desk.window.findChildren(EndpointDialog)))


async def edit(desk: Desk) -> None:
    desk.window.endpoint_actions.edit(desk.endpoint)
    dialog = await desk.dialog(EndpointDialog)
    dialog.form["retention_days"].set_value(30)
    QTest.keyClick(dialog.form["name"], Qt.Key.Key_End)
    QTest.keyClicks(dialog.form["name"], " of one")
    click(dialog.submit_button)
    await until(lambda: desk.endpoint.name == "Journey of one")
    assert desk.endpoint.retention_days == 30
    await closed(desk)


async def receive_and_read(desk: Desk) -> None:
    page = desk.window.requests
    sent = b'{"order": 9007199254740993123, "note": "<b>plain</b>"}'
    assert (
        await desk.send(sent, "Content-Type: application/json", "x-dup: 1", "X-Dup: 2", path="/orders?x=1")
    ).status == 200
    assert (await desk.send(b"second")).status == 200
    await until(lambda: page.feed.model.rowCount() == 2)
    assert not page.list_area.empty.isVisible()
    await activate(desk.window)
    # The first opens by itself, and is read by whoever has Hookline in front.
    await until(lambda: [page.feed.model.summary(row).read for row in (0, 1)] == [False, True])
    page.list.setFocus()
    await until(lambda: page.detail.capture is not None and page.detail.capture.target.endswith("/orders?x=1"))
    await until(lambda: "9007199254740993123" in page.detail.body.code.toPlainText())
    assert "<b>plain</b>" in page.detail.body.code.toPlainText()
    page.detail.tabs.setCurrentIndex(HEADERS)
    headers = page.detail.capture.headers
    assert [pair for pair in headers if pair[0].lower() == "x-dup"] == [("x-dup", "1"), ("X-Dup", "2")]
    page.detail.tabs.setCurrentIndex(BODY)
    await until(lambda: page.feed.model.summary(1).read)
    await until(lambda: desk.application.store.captures.counts(desk.endpoint.id).unread == 1)


async def switch_off(desk: Desk) -> None:
    click(desk.window.sidebar.row(desk.endpoint.id).findChild(Switch))
    await until(lambda: not desk.endpoint.active)
    assert (await desk.send(b"{}")).status == 503
    assert desk.application.store.captures.counts(desk.endpoint.id).total == 2
    desk.window.show_page(REFUSED)
    await until(lambda: desk.window.refused.model.rowCount() == 1)
    click(desk.window.sidebar.row(desk.endpoint.id).findChild(Switch))
    await until(lambda: desk.endpoint.active)
    assert (await desk.send(b"{}")).status == 200


async def delete(desk: Desk) -> None:
    desk.window.endpoint_actions.delete(desk.endpoint)
    question = await desk.dialog(Question)
    assert "3 requests" in question.windowTitle()
    click(question.cancel)
    await until(lambda: not question.isVisible())
    await settle()
    assert len(desk.application.store.endpoints.all()) == 1
    desk.window.endpoint_actions.delete(desk.endpoint)
    url = desk.application.addresses.capture_url(desk.endpoint)
    click((await desk.dialog(Question)).confirm)
    slug = url.rpartition("/")[2]
    await until(lambda: desk.application.store.endpoints.capturing(slug) is None)
    assert desk.application.store.endpoints.all() == ()
    assert (await asyncio.to_thread(post, url, b"{}")).status == 404
