"""The shortcuts dialog: how it opens, that it lists every key and no other, and that they do what it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.commands.command import Command, CommandGroup, CommandRegistry, KeyCaps, key_names_of
from app.ui.commands.shortcuts_dialog import EXTRA_SHORTCUTS, ShortcutsDialog, shortcut_rows
from app.ui.shell.main_window import MainWindow
from app.ui.theme.theme import Theme
from tests.ui.desk import Desk, shown
from tests.ui.waiting import activate, settle, until


def sheets(window: MainWindow) -> list[ShortcutsDialog]:
    return [dialog for dialog in window.findChildren(ShortcutsDialog) if dialog.isVisible()]


async def with_requests(desk: Desk, window: MainWindow) -> None:
    """Ten requests in the list, with the keyboard there and the newest chosen."""
    endpoint = desk.store.endpoints.all()[0]
    for _ in range(10):
        await desk.capture(endpoint)
    await activate(window)
    window.enter_endpoint(endpoint.id)
    await until(lambda: window.requests.list.hasFocus() and window.requests.feed.model.rowCount() == 10)
    window.requests.list.select_row(0)


class TestOpening:
    @pytest.mark.slow
    async def test_keys_open_it_outside_of_text_and_esc_closes_it(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            await with_requests(desk, window)
            line, rows = window.requests.filter.bar.line, window.requests.list
            places: tuple[QWidget, ...] = (rows, window.sidebar.row(desk.store.endpoints.all()[0].id))
            for place in places:
                for key in (Qt.Key.Key_F1, Qt.Key.Key_Question):
                    await activate(window)
                    place.setFocus()
                    QTest.keyClick(place, key)
                    assert len(sheets(window)) == 1, (place, key)
                    QTest.keyClick(sheets(window)[0].search, Qt.Key.Key_Escape)
                    await settle()
                    assert not sheets(window)
                    assert window.focusWidget() is place
            await activate(window)
            line.setFocus()
            QTest.keyClick(line, "?")
            assert line.text() == "?"
            assert not sheets(window)
            QTest.keyClick(line, Qt.Key.Key_F1)
            assert sheets(window)

    async def test_the_sidebar_leads_there_once(self, window: MainWindow) -> None:
        for _ in range(3):
            window.sidebar.keys_button.click()
        assert len(sheets(window)) == 1
        sheets(window)[0].reject()
        await settle()
        window.sidebar.keys_button.click()
        assert len(sheets(window)) == 1


class TestContent:
    async def test_it_is_made_of_the_book(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (_, window):
            extra = Command("Replay && more", Theme(), window, run=window.close, keys=("R",))
            gone = Command("Gone", Theme(), window, run=window.close, keys=("G",))
            gone.setVisible(False)
            window.commands.registry.add(extra, gone)
            window.commands.open_shortcuts()
            told = {row.text: row.keys for rows in shortcut_rows(window.commands.registry).values() for row in rows}
            assert told["Replay & more"] == (("R",),)
            assert told["Open"] == (("Enter",),)
            assert "Gone" not in told
            for action in window.commands.registry.all():
                if action.shortcuts() and action is not gone:
                    name = action.fixed_name
                    ways = told.pop(name)
                    assert set(ways) == {key_names_of(keys) for keys in action.shortcuts()}
                    assert len(set(ways)) == len(ways), f"{name}: a cap stands there twice"
            assert told.pop("Endpoint 1 to 9") == (("Ctrl", "1"), ("Ctrl", "9"))
            assert set(told) == {other.text for other in EXTRA_SHORTCUTS}
            rows = [row for block in sheets(window)[0].blocks for row in block.rows]
            named = {row.accessibleName() for row in rows}
            assert "Command palette: Ctrl+K" in named
            assert "Keyboard shortcuts: F1 or ?" in named
            assert all(row.findChildren(KeyCaps) for row in rows)

    async def test_it_names_what_a_key_does_whatever_is_selected(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):

            def told() -> set[str]:
                return {row.text for rows in shortcut_rows(window.commands.registry).values() for row in rows}

            before = told()
            assert {"Star or remove star", "Mark as read or unread", "Pause or resume list", "Delete"} <= before
            await with_requests(desk, window)
            window.requests.list.selectAll()
            window.pause.set(True)
            await until(lambda: "10 requests" in window.requests.commands.selected.delete.text())
            assert told() == before

    def test_a_search_leaves_what_is_looked_for(self, qapp: QApplication) -> None:
        registry = CommandRegistry()
        parent = QWidget()
        for group, text, keys in (
            (CommandGroup.LIST, "Filter", "/"),
            (CommandGroup.PROGRAM, "Settings", "Ctrl+,"),
            (CommandGroup.PROGRAM, "Quit", "Ctrl+Q"),
        ):
            registry.add(Command(text, Theme(), parent, run=parent.close, keys=(keys,), group=group))
        dialog = ShortcutsDialog(registry, Theme(), parent)

        def left(wanted: str) -> list[str]:
            dialog.search.setText(wanted)
            return [
                line.text
                for block in dialog.blocks
                for line, row in zip(block.shortcuts, block.rows, strict=True)
                if not row.isHidden() and not block.isHidden()
            ]

        everything = left("")
        assert {"Filter", "Settings", "Quit"} < set(everything)
        assert left("sett") == ["Settings"]
        assert left("ctrl+q") == ["Quit"]
        assert left("program") == ["Settings", "Quit"]
        assert left("/") == ["Filter"]
        assert dialog.no_matches.isHidden()
        assert left("zzqq") == []
        assert not dialog.no_matches.isHidden()
        assert left("") == everything
        parent.deleteLater()


class TestUnnamed:
    """The table of keys that are no commands is compared with what they do."""

    async def test_in_the_list(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            await with_requests(desk, window)
            rows = window.requests.list
            does = {
                "Next request": (4, 5),
                "Previous request": (4, 3),
                "Oldest request": (4, 9),
            }
            of_list = {other.text: other.keys for other in EXTRA_SHORTCUTS if other.group is CommandGroup.LIST}
            for text, (begin, end) in does.items():
                for key in of_list.pop(text):
                    rows.select_row(begin)
                    QTest.keySequence(rows, QKeySequence(key))
                    assert rows.currentIndex().row() == end, (text, key)
            await until(window.requests.detail.header.isVisible)
            window.requests.detail.take_focus()
            inside = window.focusWidget()
            assert window.requests.detail.isAncestorOf(inside)
            (back,) = of_list.pop("Back to the list, then clear its filter")
            QTest.keySequence(inside, QKeySequence(back))
            assert rows.hasFocus()
            window.requests.filter.bar.set_text("orders")
            QTest.keySequence(rows, QKeySequence(back))
            assert window.requests.filter.bar.line.text() == ""
            assert not of_list

    async def test_the_numbers(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=10) as (desk, window):
            await activate(window)
            (numbers,) = window.commands.registry.series
            assert len(numbers.commands) == 9
            for place, command in enumerate(numbers.commands):
                QTest.keySequence(window, command.shortcut())
                assert window.requests.endpoint_id == desk.store.endpoints.all()[place].id


class TestScrolling:
    async def test_its_keys_scroll_while_the_line_has_the_keyboard(self, window: MainWindow) -> None:
        window.resize(960, 600)
        window.commands.open_shortcuts()
        dialog = sheets(window)[0]
        await settle()
        bar, key = dialog.area.verticalScrollBar(), Qt.Key
        assert bar.maximum() > 0
        QTest.keyClick(dialog.search, key.Key_PageDown)
        assert bar.value() > 0
        QTest.keyClick(dialog.search, key.Key_PageUp)
        assert bar.value() == 0
        QTest.keyClick(dialog.search, key.Key_End)
        assert bar.value() == bar.maximum()
        QTest.keyClick(dialog.search, key.Key_Home)
        assert bar.value() == 0
        dialog.search.setText("e")
        QTest.keyClick(dialog.search, key.Key_Home)
        assert dialog.search.cursorPosition() == 0
