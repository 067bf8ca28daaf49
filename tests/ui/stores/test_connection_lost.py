"""While a team's store cannot be reached the window says so, keeps what is typed, and comes back by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PySide6.QtTest import QTest

from app.core.clock import now_us
from app.db.postgres.store import Store
from app.ui import tasks
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.shell.main_window import MainWindow
from tests import factories
from tests.postgres import PostgresServer
from tests.stored import store_request
from tests.support import until
from tests.ui.desk import Desk, shown_over
from tests.ui.stores.team_desk import Database, open_team_desk
from tests.ui.waiting import wait_for_widget


@pytest.fixture
async def database(postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """With two endpoints and a request for the second, from another node."""
    monkeypatch.setattr(tasks, "AGAIN_S", 0.1)
    database = Database(postgres_server)
    node = await Store.open(database.url, lambda _: None)
    await node.endpoints.create(factories.draft(name="First"))
    endpoint = await node.endpoints.create(factories.draft(name="Second"))
    await store_request(node.captures, factories.capture(b"{}", endpoint_id=endpoint.id, received_at=now_us()), b"{}")
    await node.close()
    yield database
    database.close()


async def lost(desk: Desk, window: MainWindow, database: Database) -> None:
    database.take_away()
    await until(lambda: window.sidebar.head.listening.shown_text() == "No connection")
    (message,) = (one for one in desk.messages.waiting() if one.key == "storage")
    assert message.text.startswith("The database server cannot be reached.")
    assert "keeps what you type" in message.advice


async def back(desk: Desk, window: MainWindow, database: Database) -> None:
    database.give_back()
    await until(lambda: window.sidebar.head.listening.shown_text() != "No connection")
    await until(lambda: "storage" not in {one.key for one in desk.messages.waiting()})


async def test_a_list_that_could_not_be_read_is_there_once_it_can(tmp_path: Path, database: Database) -> None:
    async with open_team_desk(tmp_path, database.url) as desk, shown_over(desk) as window:
        first, second = desk.store.endpoints.all()
        window.show_endpoint(first.id)
        await lost(desk, window, database)
        window.show_endpoint(second.id)
        await until(lambda: window.requests.feed.endpoint_id == second.id)
        await back(desk, window, database)
        await until(lambda: window.requests.feed.model.rowCount() == 1)
        await until(lambda: window.requests.activity.source.total.total == 1)
        assert [one.key for one in desk.messages.waiting()] == ["address"]


@pytest.mark.slow
async def test_what_is_typed_meanwhile_stays(tmp_path: Path, database: Database) -> None:
    async with open_team_desk(tmp_path, database.url) as desk, shown_over(desk) as window:
        second = desk.store.endpoints.all()[1]
        window.show_endpoint(second.id)
        await until(lambda: window.requests.feed.model.rowCount() == 1)
        window.requests.list.select_row(0)
        await until(lambda: window.requests.detail.capture is not None)
        note = window.requests.detail.header.note
        note.start()
        QTest.keyClicks(note.text, "half ")
        await lost(desk, window, database)
        QTest.keyClicks(note.text, "a note")
        QTest.keyClicks(window.requests.filter.bar.line, "method:POST")
        window.endpoint_actions.edit(second)
        form = (await wait_for_widget(EndpointDialog, window)).form
        form["name"].selectAll()
        QTest.keyClicks(form["name"], "Renamed")
        await back(desk, window, database)
        assert form["name"].text() == "Renamed"
        dialog = await wait_for_widget(EndpointDialog, window)
        dialog.submit()
        await until(lambda: desk.store.endpoints.all()[1].name == "Renamed")
        assert note.text.toPlainText() == "half a note"
        note.save()
        await until(lambda: window.requests.feed.model.summary(0).note == "half a note")
        assert window.requests.filter.bar.line.text() == "method:POST"
