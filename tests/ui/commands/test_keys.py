"""The keys of the real window: none is taken twice, all that the design names are there, and the papers tell them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.ui.commands.shortcuts_dialog import EXTRA_SHORTCUTS
from app.ui.shell.main_window import MainWindow
from tests.ui.desk import Desk, shown
from tests.ui.desktop.recording import with_tray
from tests.ui.waiting import activate, settle, until

ROOT = Path(__file__).parents[3]
PORTABLE = QKeySequence.SequenceFormat.PortableText


async def opened(desk: Desk, window: MainWindow) -> None:
    """The first endpoint, with a request chosen in its list."""
    endpoint = desk.store.endpoints.all()[0]
    for _ in range(3):
        await desk.capture(endpoint)
    await activate(window)
    window.enter_endpoint(endpoint.id)
    await until(lambda: window.requests.feed.model.rowCount() == 3)
    window.requests.list.select_row(0)
    await until(lambda: window.requests.detail.header.isVisible() and window.isActiveWindow())


def muted(window: MainWindow, twice: list[str]) -> set[str]:
    """All keys of the window; pressed from now on they do nothing but tell when two want them."""
    keys: set[str] = set()
    for action in window.findChildren(QAction):
        keys |= {sequence.toString(PORTABLE) for sequence in action.shortcuts()}
        action.blockSignals(True)  # Qt warns of an ambiguous action, and a warning fails the test
    for shortcut in window.findChildren(QShortcut):
        key = shortcut.key().toString(PORTABLE)
        keys.add(key)
        shortcut.disconnect(shortcut, None, None, None)  # type: ignore[call-overload]
        shortcut.activatedAmbiguously.connect(Telltale(shortcut, key, twice).hear)
    window.requests.list.blockSignals(True)  # some keys it takes itself
    return keys - {""}


class Telltale:
    """Notes a key that two want."""

    def __init__(self, shortcut: QShortcut, key: str, twice: list[str]) -> None:
        self._key, self._twice = key, twice
        shortcut.setProperty("telltale", self)

    def hear(self) -> None:
        self._twice.append(self._key)


class TestNoneTwice:
    async def test_wherever_the_keyboard_is(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            await opened(desk, window)
            twice: list[str] = []
            keys = muted(window, twice)
            assert {"Ctrl+K", "F1", "?", "Ctrl+N", "Ctrl+F", "/", "Ctrl+1"} <= keys
            page = window.requests
            places: tuple[QWidget, ...] = (
                window.sidebar.row(desk.store.endpoints.all()[0].id),
                window.dashboard,
                page.list,
                page.filter.bar.line,
                page.detail.tabs,
                page.detail.body.findChildren(QWidget)[0],
            )
            for place in places:
                for key in sorted(keys):
                    place.setFocus()
                    QTest.keySequence(window.focusWidget() or window, QKeySequence(key))
            await settle()
            assert twice == []
            assert window.isActiveWindow(), "a dialog took the keys"

    async def test_the_trap_works(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            await opened(desk, window)
            for _ in range(2):
                QShortcut(QKeySequence("Ctrl+F12"), window)
            twice: list[str] = []
            muted(window, twice)
            window.requests.list.setFocus()
            QTest.keySequence(window.requests.list, QKeySequence("Ctrl+F12"))
            assert twice == ["Ctrl+F12"]

    async def test_in_the_registry(self, tmp_path: Path) -> None:
        """Neither a key nor a name stands there twice, nor among the keys that are no commands."""

        async with shown(tmp_path) as (_, window):
            registry = window.commands.registry
            commands = [*registry.all(), *(one for series in registry.series for one in series.commands)]
            keys = [key.toString(PORTABLE) for command in commands for key in command.shortcuts()]
            keys += [QKeySequence(key).toString(PORTABLE) for other in EXTRA_SHORTCUTS for key in other.keys]
            names = [command.name for command in commands] + [other.text for other in EXTRA_SHORTCUTS]
            assert [key for key, count in Counter(keys).items() if count > 1] == []
            assert [name for name, count in Counter(names).items() if count > 1] == []


class TestAllThere:
    NAMED = ("Ctrl+N", "Ctrl+K", "Ctrl+F", "/", "J", "K", "Up", "Down", "Return", "C", "U", "Del", "Ctrl+1", "Ctrl+9")
    """The keys that the window's design names, of features that are there."""

    async def test_every_key_that_is_promised(self, window: MainWindow) -> None:
        registry = window.commands.registry
        commands = [*registry.all(), *(one for series in registry.series for one in series.commands)]
        there = {key.toString(PORTABLE) for command in commands for key in command.shortcuts()}
        there |= {QKeySequence(key).toString(PORTABLE) for other in EXTRA_SHORTCUTS for key in other.keys}
        assert [key for key in self.NAMED if key not in there] == []

    async def test_every_command_of_the_registry_does_something(self, tmp_path: Path) -> None:
        """Each is connected, and has a name."""

        async with shown(tmp_path) as (_, window):
            commands = list(window.commands.registry.all())
            assert len(commands) > 20
            for command in commands:
                assert command.receivers("2triggered(bool)") > 0, command.text()
                assert command.name

    @pytest.mark.parametrize("paper", ["docs/window.md", "packaging/linux/hookline.1.in"])
    def test_the_papers_tell_how_to_find_them(self, paper: str) -> None:
        text = (ROOT / paper).read_text("utf-8")
        assert "Ctrl+K" in text
        assert "F1" in text


class TestSteps:
    async def test_next_and_previous_endpoint_go_round(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=3) as (desk, window):
            ids = [endpoint.id for endpoint in desk.store.endpoints.all()]
            await activate(window)
            seen = []
            for key in ("Ctrl+PgDown", "Ctrl+PgDown", "Ctrl+PgDown", "Ctrl+PgDown", "Ctrl+PgUp", "Ctrl+PgUp"):
                QTest.keySequence(window.focusWidget() or window, QKeySequence(key))
                seen.append(window.requests.endpoint_id)
            assert seen == [ids[0], ids[1], ids[2], ids[0], ids[2], ids[1]]
            window.commands.page_requested.emit("refused")
            QTest.keySequence(window, QKeySequence("Ctrl+PgUp"))
            assert window.requests.endpoint_id == ids[2]
            for endpoint_id in ids:
                await desk.store.endpoints.delete(endpoint_id)
            await settle()
            QTest.keySequence(window, QKeySequence("Ctrl+PgUp"))
            assert window.pages.currentWidget() is window.dashboard

    async def test_quit_ends_the_program_though_closing_would_not(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as there:
            await there.desk.change_settings({"on_close": "tray"})
            there.window.close()
            assert not there.ended
            there.window.show()
            QTest.keySequence(there.window, QKeySequence("Ctrl+Q"))
            assert there.ended
