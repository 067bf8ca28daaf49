"""The sidebar's head names a team's store, and its menu leads to others."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from app.core.team import StoreChoice
from app.db.postgres.store import Store
from app.ui.open_store_dialog import OpenStoreDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import StatusDot
from app.ui.store_commands import RecentStore, RecentStores
from app.ui.widgets.dialog import Question
from tests.factories import draft
from tests.support import until
from tests.ui.desk import Desk, shown_over
from tests.ui.drawn import drawn
from tests.ui.stores.team_desk import ADDRESS, open_team_desk
from tests.ui.waiting import settle, wait_for_widget

SHOP = "postgresql://ann@db.example.com/shop"


def entries(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if not action.isSeparator()]


def entry(menu: QMenu, text: str) -> QAction:
    return next(action for action in menu.actions() if action.text() == text)


async def test_who_has_only_their_own_store_sees_nothing_of_others(desk: Desk, window: MainWindow) -> None:
    head = window.sidebar.head
    assert head.store.text() == "Hookline"
    assert not head.store.isEnabled()
    assert (drawn(head.store).words, drawn(head.store).icons) == (["Hookline"], [])
    assert head.store.accessibleName() == "Store: Hookline"
    assert head.listening.shown_text() == "127.0.0.1:8787"
    listed = [command.name for command in window.commands.registry.all() if command.isEnabled()]
    assert "Open team store…" in listed
    assert not {"Use my own store", "Stop capturing on this machine"} & set(listed)
    assert window.stores.capture.reason == "This machine always captures into your own store."


async def test_a_recent_store_is_checked_then_opened(desk: Desk) -> None:
    RecentStores(desk.folder).use(RecentStore(SHOP, captures=True))
    async with shown_over(desk) as window:
        store = window.sidebar.head.store
        assert store.isEnabled()
        (arrow,) = drawn(store).icons
        assert arrow.text == "collapse"
        assert drawn(store).text("Hookline").at.x() < arrow.at.x() < store.width()
        menu = window.stores.menu()
        assert entries(menu) == ["My own store", "ann@db.example.com/shop", "Open team store…", "Remove from this list"]
        assert entry(menu, "My own store").isChecked()
        entry(menu, "ann@db.example.com/shop").trigger()
        await until(lambda: desk.reopened)
        assert desk.checked == [(SHOP, "")]
        assert desk.reopened == [StoreChoice(address=SHOP, captures=True)]
        assert (desk.settings.store, desk.settings.window_captures) == (SHOP, True)


async def test_a_recent_store_can_be_removed(desk: Desk) -> None:
    RecentStores(desk.folder).use(RecentStore(SHOP))
    async with shown_over(desk) as window:
        remove = entry(window.stores.menu(), "Remove from this list").menu()
        assert isinstance(remove, QMenu)
        remove.actions()[0].trigger()
        assert entries(window.stores.menu()) == ["My own store", "Open team store…"]
        assert not window.sidebar.head.store.isEnabled()


async def test_a_command_asks_for_the_address(desk: Desk, window: MainWindow) -> None:
    window.stores.open.trigger()
    dialog = await wait_for_widget(OpenStoreDialog, window)
    QTest.keyClicks(dialog.focusWidget(), SHOP)
    dialog.open_button.click()
    await until(lambda: desk.reopened)
    assert desk.reopened == [StoreChoice(address=SHOP)]


async def test_unsaved_settings_are_asked_about_before_another_store(desk: Desk, window: MainWindow) -> None:
    window.dialogs.open_settings()
    (settings,) = window.findChildren(SettingsDialog)
    settings.form["port"].set_value(9000)
    for discards in (False, True):
        settings.storage.open_button.click()
        question = await wait_for_widget(Question, settings)
        assert not window.findChildren(OpenStoreDialog)
        (question.confirm if discards else question.cancel).click()
        await settle()
        assert bool(window.findChildren(SettingsDialog)) is not discards
    dialog = await wait_for_widget(OpenStoreDialog, window)
    assert desk.settings.port != 9000
    dialog.reject()
    window.dialogs.open_settings()
    await settle()
    (settings,) = window.findChildren(SettingsDialog)
    settings.storage.open_button.click()
    assert not settings.isVisible(), "there is nothing to ask"
    (await wait_for_widget(OpenStoreDialog, window)).reject()


async def test_a_teams_store_is_named_and_ones_own_is_a_click_away(tmp_path: Path, postgres_url: str) -> None:
    RecentStores(tmp_path).use(RecentStore(SHOP))
    async with open_team_desk(tmp_path, postgres_url) as desk, shown_over(desk) as window:
        head = window.sidebar.head
        assert head.store.text() == desk.store.place.rpartition("/")[2]
        assert head.listening.shown_text() == "No node captures"
        menu = window.stores.menu()
        assert entries(menu) == [
            "My own store",
            "ann@db.example.com/team",
            "ann@db.example.com/shop",
            "Open team store…",
            "Capture on this machine, too",
            "Remove from this list",
        ]
        assert entry(menu, "ann@db.example.com/team").isChecked()
        entry(menu, "My own store").trigger()
        await until(lambda: desk.reopened)
        assert desk.reopened == [StoreChoice()]
        assert desk.settings.store is None


async def test_this_machine_captures_only_when_asked_to(tmp_path: Path, postgres_url: str) -> None:
    async with open_team_desk(tmp_path, postgres_url) as desk, shown_over(desk) as window:
        assert RecentStores(tmp_path).all() == [RecentStore(ADDRESS)]
        window.stores.capture.trigger()
        await until(lambda: desk.reopened)
        assert desk.reopened == [None]
        assert desk.settings.window_captures


async def test_the_window_says_who_captures_and_where(tmp_path: Path, postgres_url: str) -> None:
    async with open_team_desk(tmp_path, postgres_url) as desk, shown_over(desk) as window:
        (dot,) = window.sidebar.findChildren(StatusDot)
        node = await Store.open(postgres_url, lambda _: None, base_url=lambda: "https://hooks.example.com")
        try:
            await node.endpoints.create(draft())
            await until(lambda: window.sidebar.head.listening.shown_text() == "1 node captures")
            assert dot.accessibleName() == "Listening"
            assert desk.store.nodes.others.base_url == "https://hooks.example.com"
        finally:
            await node.close()
        await until(lambda: window.sidebar.head.listening.shown_text() == "No node captures")
        assert dot.accessibleName() == "Not listening"
        assert desk.store.nodes.others.base_url == "https://hooks.example.com"


@pytest.mark.qt_log_ignore("This plugin does not support")
async def test_a_store_whose_address_is_not_kept_leads_to_ones_own(tmp_path: Path, postgres_url: str) -> None:
    async with open_team_desk(tmp_path, postgres_url) as desk:
        desk.services = desk.with_services(store_address=None)
        async with shown_over(desk) as window:
            window.sidebar.head.store.click()
            menu = await wait_for_widget(QMenu, window)
            assert entries(menu)[0] == "My own store"
            assert window.sidebar.head.store.toolTip() == desk.store.place
            menu.close()
