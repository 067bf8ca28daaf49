"""What came of a refused request is shown byte for byte, and trailers under the headers."""

from __future__ import annotations

import os
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.model import REFUSED_RAW_MAX, Refusal
from app.ui.inspector.request_view import HEADERS
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import REFUSED
from tests.ui.desk import Desk
from tests.ui.requests.page_desk import open_body, open_page
from tests.ui.waiting import settle, until

ODD = b"GET /<b>x</b> HTTP/1.1\r\nX: a\x1b[31m\0b\r\n\r\n"


def refuse(desk: Desk, raw: bytes = b"") -> None:
    desk.refused.add(
        Refusal(
            at=1_700_000_000_000_000 + desk.refused.total,
            source_address="::1",
            source_port=1,
            status=400,
            reason="Malformed HTTP: the head contains the control character 0x1b.",
            method="GET",
            target="/<b>x</b>",
        ),
        raw,
    )


async def test_what_came_of_the_chosen_one_is_shown_escaped_or_as_hexadecimal(desk: Desk, window: MainWindow) -> None:
    window.show_page(REFUSED)
    page = window.refused
    refuse(desk)
    refuse(desk, ODD)
    await until(lambda: page.model.rowCount() == 2)
    assert not page.raw.isVisible()
    page.table.selectRow(0)
    await until(lambda: page.raw.isVisible() and "GET /" in page.raw.view.code.toPlainText())
    assert "X: a\\x1b[31m\\x00b" in page.raw.view.code.toPlainText()
    page.table.setFocus()
    QTest.keyClick(page.table, Qt.Key.Key_Tab)
    assert page.raw.isAncestorOf(page.focusWidget())
    assert page.raw.caption.text() == f"The head, {len(ODD)} B, as received · from ::1 port 1"
    assert page.raw.reason.text() == page.model.record(0).reason
    refuse(desk, b"GET")
    await until(lambda: page.model.rowCount() == 3)
    assert "X: a" in page.raw.view.code.toPlainText()
    page.raw.view.views.set_current("hex")
    page.raw.view.views.activated.emit("hex")
    await until(page.raw.view.hex.isVisible)
    page.raw.view.views.activated.emit("text")
    page.table.selectRow(2)
    await until(page.raw.view.nothing.isVisible)
    page.table.setFocus()
    page.table.selectRow(1)
    await until(page.raw.view.code.isVisible)
    QTest.keyClick(page.table, Qt.Key.Key_Return)
    assert page.raw.view.code.hasFocus()
    page.table.selectRow(0)
    assert page.raw.caption.text() == "3 B, as received · from ::1 port 1", "no head ends there"
    page.clear_button.click()
    assert not page.raw.isVisible()


async def test_bytes_that_were_cut_or_made_room_are_told(desk: Desk, window: MainWindow) -> None:
    page = window.refused
    window.show_page(REFUSED)
    for _ in range(257):
        refuse(desk, os.urandom(REFUSED_RAW_MAX))
    await until(lambda: page.model.rowCount() == 257)
    page.table.selectRow(0)
    assert page.raw.caption.text().startswith("The first 64 KiB, as received · ")
    await until(page.raw.view.hex.isVisible)
    page.table.selectRow(256)
    assert page.raw.caption.text().startswith("The 64 KiB received were dropped to make room for newer")


async def test_trailers_stand_under_the_headers(tmp_path: Path) -> None:
    async with open_page(tmp_path) as shown_page:
        detail = shown_page.detail
        trailers = (("X-Sum", "1"), ("x-sum", "<b>2</b>\x1b"), ("Host", "v" * 5_000))
        await open_body(shown_page, b"", "", trailers=trailers)
        detail.tabs.setCurrentIndex(HEADERS)
        await settle()
        table = detail.view.fields.trailers
        assert table.pairs.records() == list(trailers)
        assert table.isVisible()
        assert table.accessibleName() == "Trailers"
        assert table.height() <= 220
        assert detail.view.headers.height() > 80
        await open_body(shown_page, b"", "")
        assert not table.isVisible()
