"""JSON as a tree: expanding, collapsing and copying, also by keyboard, and the reason if a body is too large for it."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest

from app.ui.inspector.body import tree_view
from app.ui.inspector.body.body_source import BodySource
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import settle, until

BODY = b'{"id":12345678901234567890,"id":2,"items":[{"n":1.10,"t":"a\\u202eb"}],"evil":"\xe2\x80\xae"}'


async def show_tree(shown: PageDesk, body: bytes, **fields: Any) -> None:
    await open_body(shown, body, "application/json", **fields)
    pane = shown.detail.body
    if pane.views.current() != "tree":
        pane.views.activated.emit("tree")
    await until(lambda: pane.stack.currentWidget() is pane.tree)
    await until(lambda: bool(pane.tree.view.nodes.tree or pane.tree.reason.text()))


async def test_a_tree_is_walked_and_copied_from_by_keyboard(shown: PageDesk) -> None:
    await show_tree(shown, gzip.compress(BODY), headers=(("Content-Encoding", "gzip"),))
    view = shown.detail.body.tree.view
    QAbstractItemModelTester(view.nodes, QAbstractItemModelTester.FailureReportingMode.Warning, view)
    root = view.nodes.index(0, 0)
    names = [view.nodes.index(row, 0, root).data() for row in range(view.nodes.rowCount(root))]
    assert names == ["id", "id", "items", "evil"]
    assert view.nodes.index(0, 1, root).data() == "12345678901234567890"
    assert view.nodes.index(3, 1, root).data() == '"\\u202e"'
    tokens, ground = shown.desk.theme.tokens, Qt.ItemDataRole.ForegroundRole
    colours = [view.nodes.index(row, column, root).data(ground) for row, column in ((0, 0), (0, 1), (2, 1), (3, 1))]
    expected = tokens.code_key, tokens.code_number, tokens.text_muted, tokens.code_string
    assert colours == [QColor(one) for one in expected]
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
    assert shown.detail.body.stack.currentWidget() is shown.detail.body.tree
    # There is nothing to search where no tree could be made.
    await show_tree(shown, b"[1")
    shown.detail.body.open_find()
    await until(lambda: shown.detail.body.stack.currentWidget() is shown.detail.body.code)


async def test_a_small_tree_opens_with_its_first_levels(shown: PageDesk) -> None:
    await show_tree(shown, json.dumps({"a": 1, "b": {"c": {"d": 2}}, "e": list(range(30)), "f": [3]}).encode())
    view = shown.detail.body.tree.view
    root = view.nodes.index(0, 0)
    assert view.isExpanded(root)
    assert [view.isExpanded(view.nodes.index(row, 0, root)) for row in range(4)] == [False, True, False, True]


async def test_the_names_have_the_room_they_need_and_leave_half_to_the_values(shown: PageDesk) -> None:
    shown.page.resize(1600, 700)
    await show_tree(shown, json.dumps({"a_name_that_is_long_but_fits": 1}).encode())
    view = shown.detail.body.tree.view
    await until(view.isVisible)
    await settle()
    assert view.columnWidth(0) >= view.sizeHintForColumn(0)
    shown.page.resize(760, 700)
    await settle()
    assert view.width() < 2 * view.sizeHintForColumn(0)
    assert view.columnWidth(0) <= max(160, view.width() // 2)


async def test_what_is_no_tree_says_why(shown: PageDesk) -> None:
    pane = shown.detail.body
    for body, why in (
        (b'{"a":1,}', "Not valid JSON at line 1"),
        (b"[" * 100_000, "too deep"),
        (b'["' + b"x" * 9_000_000 + b'"]', "too large"),
    ):
        await show_tree(shown, body)
        await until(lambda why=why: why in pane.tree.reason.text())  # type: ignore[misc]
    await open_body(shown, b"hello", "text/plain")
    assert pane.views.current() == "text"


def token(payload: object) -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256"}, payload)]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + ".c2ln"


async def test_values_are_decoded_in_place_by_keyboard(tmp_path: Path) -> None:
    inner = base64.b64encode(json.dumps({"token": token({"sub": "ann", "exp": 1_700_000_000})}).encode()).decode()
    body = json.dumps({"plain": "words", "data": inner, "at": 1_700_000_000})

    async with open_page(tmp_path) as shown:
        await show_tree(shown, body.encode())
        view = shown.detail.body.tree.view
        model = view.nodes
        QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Warning, view)
        root = model.index(0, 0)
        plain, data, at = (model.index(row, 0, root) for row in range(3))
        assert not model.hasChildren(plain)
        assert not model.can_decode(plain)
        assert "UTC" in at.siblingAtColumn(1).data(Qt.ItemDataRole.ToolTipRole)
        view.setFocus()
        view.setCurrentIndex(data)
        QTest.keyClick(view, Qt.Key.Key_Return)
        await until(lambda: model.rowCount(data))
        decoded = model.index(0, 0, data)
        assert (decoded.data(), decoded.siblingAtColumn(1).data()) == ("decoded from Base64", "{1 member}")
        await until(lambda: view.isExpanded(decoded))
        inside = model.index(0, 0, decoded)
        assert inside.data() == "token"
        # What was decoded may hold another; its path says through what it leads.
        view.setCurrentIndex(inside)
        menu = {action.text(): action for action in view.actions()}
        assert menu["Decode value"].isEnabled()
        menu["Decode value"].trigger()
        await until(lambda: model.rowCount(inside))
        claims = model.index(0, 0, inside)
        assert claims.data() == "decoded from JSON Web Token, not verified"
        assert "signature is not checked" in claims.data(Qt.ItemDataRole.ToolTipRole)
        sub = model.index(0, 1, model.index(1, 0, claims))
        assert sub.data() == '"ann"'
        view.setCurrentIndex(sub)
        assert not menu["Decode value"].isEnabled()
        view.copy_path()
        assert QGuiApplication.clipboard().text() == "data → token → payload.sub"
        view.copy_value()
        assert QGuiApplication.clipboard().text() == "ann"
        # The value itself is copied as it was sent.
        view.setCurrentIndex(data)
        view.copy_value()
        assert QGuiApplication.clipboard().text() == inner
        QTest.keyClick(view, Qt.Key.Key_Return)
        assert not view.isExpanded(data)
        assert not view.grab().isNull()


async def test_find_in_a_tree_passes_by_what_was_decoded(tmp_path: Path) -> None:
    inner = base64.b64encode(b'{"needle": 1}').decode()
    body = json.dumps({"a": {"data": inner, "x": "needle"}, "needle": 2})

    async with open_page(tmp_path) as shown:
        await show_tree(shown, body.encode())
        pane = shown.detail.body
        view, model = pane.tree.view, pane.tree.view.nodes
        data = model.index(0, 0, model.index(0, 0, model.index(0, 0)))
        view.setCurrentIndex(data)
        view.open_current()
        await until(lambda: model.rowCount(data))
        shown.detail.open_find()
        pane.find_bar.field.setText("needle")
        await until(lambda: pane.find_bar.count.text() == "1 of 2")
        assert model.path(view.currentIndex()) == "a.x"
        QTest.keyClick(pane.find_bar.field, Qt.Key.Key_Return)
        assert (pane.find_bar.count.text(), model.path(view.currentIndex())) == ("2 of 2", "needle")
        pane.find_bar.field.clear()
        assert (pane.find_bar.count.text(), pane.find_bar.next.isEnabled()) == ("", False)
        pane.find_bar.field.setText("needle")
        await until(lambda: pane.find_bar.count.text() == "1 of 2")
        # What was decoded is no part of the body: its path goes through the value, and it is not counted.
        assert model.path(model.index(0, 0, model.index(0, 0, data))) == "a.data → needle"


async def test_a_tree_that_is_still_read_is_not_said_to_have_no_match(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, go_on = tree_view.read_plain, asyncio.Event()

    async def late(source: BodySource, limit: int) -> bytes:
        await go_on.wait()
        return await read(source, limit)

    monkeypatch.setattr(tree_view, "read_plain", late)
    await open_body(shown, b'{"needle": 1}', "application/json")
    pane = shown.detail.body
    shown.detail.open_find()
    pane.find_bar.field.setText("needle")
    await until(lambda: pane.find_bar.count.text() == "1 of 1")
    pane.views.activated.emit("tree")
    await until(lambda: pane.stack.currentWidget() is pane.tree)
    assert pane.find_bar.count.text() == "Loading…"
    go_on.set()
    await until(lambda: pane.find_bar.count.text() == "1 of 1")


async def test_what_cannot_be_decoded_after_all_opens_nothing(tmp_path: Path) -> None:
    # It begins like Base64, but does not end so.
    body = json.dumps(["a" * 3_000 + "!", "[" + "1," * 900])

    async with open_page(tmp_path) as shown:
        await show_tree(shown, body.encode())
        view = shown.detail.body.tree.view
        root = view.nodes.index(0, 0)
        for row in range(2):
            index = view.nodes.index(row, 0, root)
            assert view.nodes.can_decode(index)
            view.expand(index)
            await until(lambda index=index: not view.nodes.can_decode(index))  # type: ignore[misc]
            assert not view.nodes.hasChildren(index)
