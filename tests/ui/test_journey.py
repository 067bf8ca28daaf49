"""A user's whole way through the real window on the real program, by keys and clicks, with real requests."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.inspector.request_view import BODY, HEADERS
from app.ui.shell.sidebar import REFUSED
from app.ui.widgets.dialog import Question
from app.ui.widgets.fields import Switch
from tests.e2e.senders import post
from tests.ui.program import Program, program_on
from tests.ui.waiting import activate, settle, until


def click(widget: Any) -> None:
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


@pytest.mark.usefixtures("no_time_to_undo")
async def test_create_edit_receive_read_switch_off_and_delete(tmp_path: Path) -> None:
    async with program_on(tmp_path) as program:
        await create(program)
        await edit(program)
        await receive_and_read(program)
        await switch_off(program)
        await delete(program)


async def create(program: Program) -> None:
    QTest.keyClick(program.window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
    dialog = await program.dialog(EndpointDialog)
    assert not dialog.submit_button.isEnabled()
    QTest.keyClicks(dialog.form["name"], "Journey")
    QTest.keyClicks(dialog.form["forward_url"], program.application.addresses.local_base() + "/catch/anything")
    await until(lambda: "loop forever" in dialog.form.fields["forward_url"].error())
    assert not dialog.submit_button.isEnabled()
    dialog.form["forward_url"].selectAll()
    QTest.keyClick(dialog.form["forward_url"], Qt.Key.Key_Delete)
    await until(dialog.submit_button.isEnabled)
    click(dialog.submit_button)
    await until(program.application.store.endpoints.all)
    assert program.endpoint.name == "Journey"
    assert program.endpoint.retention_days == 7
    await until(lambda: program.window.pages.currentWidget() is program.window.requests)
    await until(program.window.requests.list_area.empty.isVisible)
    await closed(program)


async def closed(program: Program) -> None:
    """Wait for the form to close, which it does after the endpoint is stored: nothing opens by itself before."""
    await until(lambda: not any(dialog.isVisible() for dialog in program.window.findChildren(EndpointDialog)))


async def edit(program: Program) -> None:
    program.window.endpoint_actions.edit(program.endpoint)
    dialog = await program.dialog(EndpointDialog)
    dialog.form["retention_days"].set_value(30)
    QTest.keyClick(dialog.form["name"], Qt.Key.Key_End)
    QTest.keyClicks(dialog.form["name"], " of one")
    click(dialog.submit_button)
    await until(lambda: program.endpoint.name == "Journey of one")
    assert program.endpoint.retention_days == 30
    await closed(program)


async def receive_and_read(program: Program) -> None:
    page = program.window.requests
    sent = b'{"order": 9007199254740993123, "note": "<b>plain</b>"}'
    assert (
        await program.send(sent, "Content-Type: application/json", "x-dup: 1", "X-Dup: 2", path="/orders?x=1")
    ).status == 200
    assert (await program.send(b"second")).status == 200
    await until(lambda: page.feed.model.rowCount() == 2)
    assert not page.list_area.empty.isVisible()
    await activate(program.window)
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
    await until(lambda: program.application.store.captures.counts(program.endpoint.id).unread == 1)


async def switch_off(program: Program) -> None:
    click(program.window.sidebar.row(program.endpoint.id).findChild(Switch))
    await until(lambda: not program.endpoint.active)
    assert (await program.send(b"{}")).status == 503
    assert program.application.store.captures.counts(program.endpoint.id).total == 2
    program.window.show_page(REFUSED)
    await until(lambda: program.window.refused.model.rowCount() == 1)
    click(program.window.sidebar.row(program.endpoint.id).findChild(Switch))
    await until(lambda: program.endpoint.active)
    assert (await program.send(b"{}")).status == 200


async def delete(program: Program) -> None:
    program.window.endpoint_actions.delete(program.endpoint)
    question = await program.dialog(Question)
    assert "3 requests" in question.windowTitle()
    click(question.cancel)
    await until(lambda: not question.isVisible())
    await settle()
    assert len(program.application.store.endpoints.all()) == 1
    program.window.endpoint_actions.delete(program.endpoint)
    url = program.application.addresses.capture_url(program.endpoint)
    click((await program.dialog(Question)).confirm)
    slug = url.rpartition("/")[2]
    await until(lambda: program.application.store.endpoints.capturing(slug) is None)
    assert program.application.store.endpoints.all() == ()
    assert (await asyncio.to_thread(post, url, b"{}")).status == 404
