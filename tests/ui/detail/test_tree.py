"""JSON as a tree: opened and closed, copied from, by keyboard too; what is too much for it says why."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest

from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import until

Run = Callable[[Coroutine[Any, Any, Any]], Any]
BODY = b'{"id":12345678901234567890,"id":2,"items":[{"n":1.10,"t":"a\\u202eb"}],"evil":"\xe2\x80\xae"}'


async def show_tree(shown: PageDesk, body: bytes, **fields: Any) -> None:
    await open_body(shown, body, "application/json", **fields)
    pane = shown.detail.body
    if pane.views.taken() != "tree":
        pane.views.chosen.emit("tree")
    await until(lambda: pane.stack.currentWidget() is pane.tree)
    await until(lambda: bool(pane.tree.view.nodes.tree or pane.tree.why.text()))


def test_a_tree_is_walked_and_copied_from_by_keyboard(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            await show_tree(shown, gzip.compress(BODY), headers=(("Content-Encoding", "gzip"),))
            view = shown.detail.body.tree.view
            QAbstractItemModelTester(view.nodes, QAbstractItemModelTester.FailureReportingMode.Warning, view)
            root = view.nodes.index(0, 0)
            names = [view.nodes.index(row, 0, root).data() for row in range(view.nodes.rowCount(root))]
            assert names == ["id", "id", "items", "evil"]
            assert view.nodes.index(0, 1, root).data() == "12345678901234567890"
            assert view.nodes.index(3, 1, root).data() == '"\\u202e"'
            view.setFocus()
            view.setCurrentIndex(view.nodes.index(2, 0, root))
            view.open_below()
            inner = view.nodes.index(0, 0, view.nodes.index(2, 0, root))
            assert view.isExpanded(inner)
            view.setCurrentIndex(view.nodes.index(0, 1, inner))
            view.copy_path()
            assert QGuiApplication.clipboard().text() == "items[0].n"
            view.copy_value()
            assert QGuiApplication.clipboard().text() == "1.10"
            QTest.keyClick(view, Qt.Key.Key_Left)
            view.setCurrentIndex(view.nodes.index(0, 0, root))
            QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
            await until(lambda: QGuiApplication.clipboard().text() == "12345678901234567890")
            QTest.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
            await until(lambda: QGuiApplication.clipboard().text() == "id")
            view.close_all()
            assert not view.isExpanded(root)
            assert not view.grab().isNull()
            # The choice holds for the next body of this type.
            await show_tree(shown, b"[]")
            shown.detail.body.open_find()
            await until(lambda: shown.detail.body.stack.currentWidget() is shown.detail.body.code)

    run(check())


def test_what_is_no_tree_says_why(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            pane = shown.detail.body
            for body, why in (
                (b'{"a":1,}', "Not valid JSON at line 1"),
                (b"[" * 100_000, "too deep"),
                (b'["' + b"x" * 9_000_000 + b'"]', "too large"),
            ):
                await show_tree(shown, body)
                await until(lambda why=why: why in pane.tree.why.text())  # type: ignore[misc]
            await open_body(shown, b"hello", "text/plain")
            assert pane.views.taken() == "text"

    run(check())
