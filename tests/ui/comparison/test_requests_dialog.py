"""The window that compares two requests, over a real store, and the command that opens it."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from shiboken6 import isValid

from app.core.body_comparison import DECODED_MAX
from app.core.comparison import ONLY_BEGINNING
from app.core.model import Capture
from app.ui.comparison.requests_dialog import RequestsDialog
from app.ui.requests.page.requests_page import RequestsPage
from app.ui.requests.request_actions import NOT_TWO
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.notices import Toast
from tests import factories
from tests.stored import store_request
from tests.support import while_read
from tests.ui.desk import Desk, shown
from tests.ui.keyboard import Keyboard
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ALT = Qt.KeyboardModifier.AltModifier
JSON = (("Content-Type", "application/json"),)


async def stored(desk: Desk, body: bytes, **fields: Any) -> Capture:
    fields = {"endpoint_id": 1, "headers": JSON, **fields}
    return await store_request(desk.store.captures, factories.capture(body, **fields), body)


def of_window(window: QWidget) -> list[RequestsDialog]:
    return [dialog for dialog in window.findChildren(RequestsDialog) if dialog.isVisible()]


def notice(page: RequestsPage) -> str:
    return page.findChild(Toast).findChild(ElidedLabel).text()


def texts(dialog: RequestsDialog) -> list[str]:
    return [side.toPlainText() for side in dialog.view.body.sides]


@asynccontextmanager
async def listed(folder: Path, *bodies: bytes) -> AsyncIterator[tuple[Desk, MainWindow, list[Capture]]]:
    """The list of an endpoint with requests that have these bodies, oldest first."""
    async with shown(folder, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        captures = [await stored(desk, body, endpoint_id=endpoint.id) for body in bodies]
        window.enter_endpoint(endpoint.id)
        await until(lambda: window.requests.feed.model.rowCount() == len(bodies))
        await settle()
        yield desk, window, captures


@asynccontextmanager
async def compared(folder: Path, first: dict[str, Any], second: dict[str, Any]) -> AsyncIterator[RequestsDialog]:
    """The dialog, once it has read both."""
    async with shown(folder, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        two = [await stored(desk, **{"endpoint_id": endpoint.id, **fields}) for fields in (first, second)]
        window.dialogs.compare_requests(tuple(two))
        (dialog,) = of_window(window)
        await until(lambda: dialog.view.body_title.text() != "Reading…")
        yield dialog


async def test_two_selected_requests_are_compared_the_older_one_first(tmp_path: Path) -> None:
    async with listed(tmp_path, b'{"id":1,"ok":true}', b'{"id":2,"ok":true}') as (_, window, (older, newer)):
        rows = window.requests.list
        rows.selectAll()
        rows.setFocus()
        await settle()
        QTest.keyClick(rows, Qt.Key.Key_D)
        await until(lambda: of_window(window))
        (dialog,) = of_window(window)
        assert dialog.windowTitle() == "Compare two requests"
        assert not dialog.isModal()
        assert dialog.objectName() == f"{older.id} {newer.id}"
        await until(lambda: texts(dialog)[0])
        assert texts(dialog) == ['  {\n-   "id": 1,\n    "ok": true\n  }', '  {\n+   "id": 2,\n    "ok": true\n  }']
        assert dialog.view.body_title.text() == "Body · 1 difference"
        QTest.keyClick(rows, Qt.Key.Key_D)
        await settle(20)
        assert of_window(window) == [dialog], "the same two are compared once"
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        await until(lambda: not isValid(dialog))


async def test_it_can_be_run_while_exactly_two_are_selected(tmp_path: Path) -> None:
    async with listed(tmp_path, b"1", b"2", b"3") as (_, window, _):
        page = window.requests
        compare, button = page.commands.compare, page.list_footer.bar.compare
        for rows, refusal in (((0,), NOT_TWO), ((0, 2), ""), ((0, 1, 2), NOT_TWO)):
            page.list.clearSelection()
            page.list.selection.add(list(rows))
            await until(lambda refusal=refusal: compare.reason == refusal)
            await until(lambda refusal=refusal: button.isHidden() == bool(refusal))
            menu = page.commands.menu_of_selected()
            assert (compare in menu.actions()) == (len(rows) > 1)
            menu.close()
        compare.run()
        assert notice(page) == NOT_TWO
        window.show_page("tunnel")
        await until(lambda: compare.reason == "No list of requests is shown.")


async def test_a_request_that_is_no_longer_stored_is_said(tmp_path: Path) -> None:
    async with listed(tmp_path, b"1", b"2") as (desk, window, (older, _)):
        page = window.requests
        page.list.selectAll()
        await until(page.commands.compare.isEnabled)

        async def purged() -> None:
            await desk.store.captures.delete([older.id])

        while_read(desk.store.captures, "get", purged)
        page.commands.compare.trigger()
        await until(lambda: notice(page) == "One of these requests is no longer stored.")
        assert not of_window(window)


async def test_what_differs_of_method_and_target_is_marked(tmp_path: Path) -> None:
    first = {"body": b"", "method": "POST", "target": "/catch/a/orders?page=1"}
    second = {"body": b"", "method": "PUT", "target": "/catch/a/orders?page=2", "complete": False}
    async with compared(tmp_path, first, second) as dialog:
        for side, (method, target, length) in zip(
            dialog.sides,
            (("POST", "/catch/a/orders?page=1", "0 B"), ("PUT", "/catch/a/orders?page=2", "0 B · cut off")),
            strict=True,
        ):
            assert side.method.accessibleName() == method
            assert (side.target.text(), side.length.text()) == (target, length)
            assert [mark.isVisible() for mark in side.differs] == [True, True]
            assert [mark.accessibleName() for mark in side.differs] == ["Method is different", "Target is different"]
        assert dialog.view.body_title.text() == "Body · none"


async def test_the_same_method_and_target_have_no_mark(tmp_path: Path) -> None:
    same = {"body": b"", "method": "POST", "target": "/catch/a"}
    async with compared(tmp_path, same, same) as dialog:
        assert not any(mark.isVisible() for side in dialog.sides for mark in side.differs)


async def test_no_header_and_no_value_is_ignored_or_can_be(tmp_path: Path) -> None:
    first = {"body": b'{"id":1}', "headers": (*JSON, ("Date", "1"), ("X", "1"))}
    second = {"body": b'{"id":2}', "headers": (*JSON, ("Date", "2")), "trailers": (("X", "1"),)}
    async with compared(tmp_path, first, second) as dialog:
        table, view = dialog.view.headers, dialog.view
        words = [(table.rows.record(row).field, table.rows.index(row, 0).data(Qt.ItemDataRole.AccessibleTextRole))
                 for row in range(table.rows.rowCount())]  # fmt: skip
        assert words == [
            ("Date", "Different"),
            ("X", "Only in the first request"),
            ("X (trailer)", "Only in the second request"),
            ("Content-Type", "Same"),
        ]
        assert view.headers_title.text() == "Headers · 3 different"
        assert table.menu(0) is None
        assert table.accessibleName() == "Headers of both requests"
        side = view.body.sides[1]
        assert side.accessibleName() == "Body of the second request"
        middle = side.rect().center()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, middle, side.mapToGlobal(middle))
        QApplication.sendEvent(side.viewport(), event)
        (menu,) = side.findChildren(QMenu)
        assert not [one for one in menu.findChildren(QAction) if "Ignore" in one.text()]
        menu.close()


async def test_alt_and_arrows_lead_from_difference_to_difference(tmp_path: Path) -> None:
    async with compared(tmp_path, {"body": b"a\nsame\nb"}, {"body": b"x\nsame\ny"}) as dialog:
        first = dialog.view.body.sides[0]
        assert first.hasFocus()
        for key, line in ((Qt.Key.Key_Down, 2), (Qt.Key.Key_Down, 0), (Qt.Key.Key_Up, 2)):
            QTest.keyClick(dialog, key, ALT)
            assert first.textCursor().blockNumber() == line


async def test_all_of_it_is_reached_by_keys(tmp_path: Path) -> None:
    async with compared(tmp_path, {"body": b"1"}, {"body": b"2"}) as dialog:
        assert sorted(await Keyboard(dialog).tab_around()) == [
            "Body of the first request",
            "Body of the second request",
            "Close",
            "Headers of both requests",
            "Next difference in the body",
            "Previous difference in the body",
        ]


async def test_bodies_are_compared_unpacked(tmp_path: Path) -> None:
    packed = {"body": gzip.compress(b'{"id":1}'), "headers": (*JSON, ("Content-Encoding", "gzip"))}
    async with compared(tmp_path, {"body": b'{"id":1}'}, packed) as dialog:
        assert dialog.view.body_title.text() == "Body · no differences"
        assert not dialog.view.notes.isVisible()


async def test_of_long_bodies_it_is_said_that_only_the_beginning_is_compared(tmp_path: Path) -> None:
    long = b"line\n" * (DECODED_MAX // 5 + 1)
    async with compared(tmp_path, {"body": long + b"a"}, {"body": long + b"b"}) as dialog:
        assert dialog.view.notes.text().splitlines()[-1] == ONLY_BEGINNING
        assert dialog.view.body_title.text() == "Body · no differences", "not that they are the same"


@pytest.mark.parametrize("damaged", [False, True])
async def test_a_body_that_cannot_be_read_is_said_why(tmp_path: Path, damaged: bool) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        two = [await stored(desk, b"1", endpoint_id=endpoint.id) for _ in range(2)]
        if damaged:
            two[1] = await stored_damaged(desk, endpoint.id)
        else:
            await desk.store.captures.delete([two[1].id])
        window.dialogs.compare_requests(tuple(two))
        (dialog,) = of_window(window)
        await until(lambda: dialog.pages.currentWidget() is dialog.problem)
        assert ("damaged" if damaged else "no longer stored") in dialog.problem.text.text()


async def stored_damaged(desk: Desk, endpoint_id: int) -> Capture:
    """A request whose body is not what its SHA-256 is of."""
    capture = factories.capture(b"1", endpoint_id=endpoint_id)
    return await store_request(desk.store.captures, capture, b"2")


async def test_it_closes_with_the_window(tmp_path: Path) -> None:
    async with listed(tmp_path, b"1", b"2") as (_, window, two):
        window.dialogs.compare_requests(tuple(two))
        (dialog,) = of_window(window)
        window.dialogs.closing.emit()
        await until(lambda: not isValid(dialog))
