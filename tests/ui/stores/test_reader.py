"""Who may only read a team's store sees everything, and is told why nothing can be changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.core.model import Capture, Endpoint
from app.core.target import TargetDraft
from app.core.team import Role
from app.db.postgres.store import Store
from app.ui.commands.command import Command
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.fields import Switch
from tests import factories
from tests.postgres import PostgresServer
from tests.stored import store_request
from tests.support import until
from tests.ui.desk import Desk, shown_over
from tests.ui.stores.team_desk import open_team_desk
from tests.ui.waiting import wait_for_widget

REASON = "Your role in the team’s store may only read."
CHANGES = {
    "New endpoint",
    "Replay",
    "Edit and replay…",
    "Replay many…",
    "Star",
    "Add note…",
    "Mark as read",
    "Mark as unread",
    "Delete",
    "Switch endpoint off",
    "Pause forwarding",
    "Resume forwarding",
    "Mark all as read",
    "Delete all requests…",
    "Move endpoint up",
    "Move endpoint down",
    "Delete endpoint…",
    "Retry",
    "Send now",
    "Retry all failed deliveries…",
    "Pause replay",
    "Cancel replay",
    "Repeat replay",
    "Repeat replay with changes…",
    "Replay failed requests…",
    "Create endpoint with this slug…",
    "Capture on this machine, too",
}


@dataclass
class Readers:
    desk: Desk
    window: MainWindow
    member: Store
    endpoint: Endpoint
    capture: Capture


@pytest.fixture
def team(postgres_server: PostgresServer) -> Iterator[str]:
    from tests.team import team_store

    with team_store(postgres_server) as address:
        yield address


@pytest.fixture
async def reader(team: str, tmp_path: Path) -> AsyncIterator[Readers]:
    """The window of a reader, on a request that a member's node has captured."""
    from tests.team import USERS, as_user

    address, base_url = as_user(team, USERS[Role.MEMBER]), "https://hooks.example.com"
    member = await Store.open(address, lambda _: None, base_url=lambda: base_url)
    try:
        endpoint = await member.endpoints.create(factories.draft(name="Orders"))
        await member.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:1/"))
        capture = await store_request(member.captures, factories.capture(b"{}", endpoint_id=endpoint.id), b"{}")
        async with open_team_desk(tmp_path, as_user(team, USERS[Role.READER])) as desk, shown_over(desk) as window:
            window.show_endpoint(endpoint.id)
            await until(lambda: window.requests.feed.model.rowCount() == 1)
            yield Readers(desk, window, member, endpoint, capture)
    finally:
        await member.close()


async def test_every_command_that_changes_something_says_why_it_cannot(reader: Readers) -> None:
    window = reader.window
    window.requests.list.select_row(0)
    await until(lambda: window.requests.detail.capture is not None)
    window.commands.palette.opening.emit()
    window.requests.commands.selected.refresh()
    window.refused.commands.refresh()
    commands = {one.name.partition("\t")[0]: one for one in window.findChildren(Command)}
    refused = {name for name, one in commands.items() if one.reason == REASON}
    assert refused == CHANGES
    for name in ("Copy as curl", "Edit endpoint…", "Send test request", "Open in new window"):
        assert not commands[name].reason


async def test_a_request_is_opened_and_stays_unread(reader: Readers) -> None:
    window = reader.window
    window.requests.list.select_row(0)
    await until(lambda: window.requests.detail.capture is not None)
    window.requests.detail.mark_read()
    await until(lambda: not reader.desk.tasks.running())
    assert reader.desk.messages.waiting() == ()
    assert reader.member.captures.counts(reader.endpoint.id).unread == 1


async def test_switches_stand_still(reader: Readers) -> None:
    window = reader.window
    row = window.sidebar.row(reader.endpoint.id)
    switches = [row.findChild(Switch), window.dashboard.rows.row(reader.endpoint.id).switch]
    for switch in switches:
        assert isinstance(switch, Switch)
        assert not switch.isEnabled()
        assert switch.toolTip() == REASON
    QTest.keyClick(row, Qt.Key.Key_Left)
    QTest.keyClick(row, Qt.Key.Key_Space)
    assert reader.desk.store.endpoints.all()[0].active


@pytest.mark.slow
async def test_forms_show_and_do_not_save(reader: Readers) -> None:
    window = reader.window
    window.endpoint_actions.edit(reader.endpoint)
    editing = await wait_for_widget(EndpointDialog, window)
    assert editing.form["name"].text() == "Orders"
    assert not editing.form["name"].isEnabled()
    assert not editing.submit_button.isEnabled()
    assert editing.problem.text() == REASON
    editing.reject()
    window.endpoint_actions.edit_targets(reader.endpoint)
    targets = await wait_for_widget(TargetsDialog, window)
    assert not targets.save_button.isEnabled()
    assert targets.problem.text() == REASON
    assert not targets.column.add.isVisible()
    targets.reject()


async def test_settings_of_the_store_stay(reader: Readers) -> None:
    reader.window.dialogs.open_settings()
    dialog = await wait_for_widget(SettingsDialog, reader.window)
    assert not dialog.form["plan"].isEnabled()
    assert not dialog.storage.run_button.isEnabled()
    assert dialog.storage.store_row.help_text() == reader.desk.store.place
    dialog.reject()


async def test_what_is_tried_all_the_same_is_refused_in_words(reader: Readers) -> None:
    reader.window.endpoint_actions.set_active(reader.endpoint, False)
    await until(reader.desk.messages.waiting)
    (message,) = reader.desk.messages.waiting()
    assert message.text == "Your role in the team's store may only read."
