"""Random users find no way to break the window, while requests arrive, are delivered, changed and deleted.

`HOOKLINE_SEED="7 8"` has these users instead of the usual ones. What a failed one did is in its output.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog

from app.core.clock import now_us
from app.core.model import Plan, Refusal
from app.core.tunnel import TunnelState
from app.ui.requests.page import drag_out
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED
from tests import deliveries
from tests.db import hands
from tests.db.hands import Hands
from tests.ui.desk import Desk, open_desk, shown_over
from tests.ui.from_qt import Caller
from tests.ui.opened_urls import opened_urls
from tests.ui.random_user import TEXTS, RandomUser
from tests.ui.shown_wrong import shown_wrong
from tests.ui.stores.team_desk import Database, open_team_desk
from tests.ui.waiting import Heart, settle

SEEDS = [int(seed) for seed in os.environ.get("HOOKLINE_SEED", "1 2").split()]
ROUNDS, ACTS = 12, 40
LONGEST_S = 1.0
"""Of work of the window's thread between two turns of its loop."""
REST_S = 10.0
"""In so much time the window shows all that was done."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.qt_log_ignore("This plugin does not support"),
    pytest.mark.usefixtures("nothing_outside"),
]


@pytest.fixture
def nothing_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No browser, no dialog that lists folders, no drag to other programs, and no host but this one."""
    dice = random.Random(1)

    def choose(dialog: QFileDialog) -> None:
        dialog.selectFile(str(tmp_path / "chosen"))
        dialog.done(dice.choice((QDialog.DialogCode.Accepted, QDialog.DialogCode.Rejected)))

    def look_up(host: str, *more: Any, **named: Any) -> Any:
        if host != "127.0.0.1":
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return really_look_up(host, *more, **named)

    really_look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(QFileDialog, "open", choose)
    monkeypatch.setattr(drag_out, "run_drag", lambda *_: None)
    monkeypatch.setattr(hands, "NOW", now_us())
    monkeypatch.setattr(hands, "URLS", (deliveries.URL, "http://127.0.0.1:9/new"))
    with opened_urls("file", "http", "https"):
        yield


@asynccontextmanager
async def desk_over(
    place: str, folder: Path, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[Desk, Database | None]]:
    database = Database(request.getfixturevalue("postgres_server")) if place != "file" else None
    try:
        async with open_desk(folder) if database is None else open_team_desk(folder, database.url) as desk:
            await desk.store.account.set_plan(Plan.PRO)
            yield desk, database if place == "lost" else None
    finally:
        if database is not None:
            database.close()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("place", ["file", "team", "lost"])
async def test_a_random_user(
    place: str, seed: int, tmp_path: Path, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    """Who closes the window opens it again. `lost`: the team's server goes away in every second round."""
    async with desk_over(place, tmp_path, request) as (desk, server):
        dice, world = random.Random(seed), Hands(desk.store, random.Random(seed), restoring=False)
        for _ in range(6):
            await desk.endpoint(forward_url=deliveries.URL)
        for _ in range(60):
            await world.act()
        rounds = iter(range(ROUNDS))
        while True:
            async with shown_over(desk) as window:
                user = RandomUser(window, dice)
                for number in rounds:
                    if server is not None and number % 2:
                        server.take_away()
                    await act(desk, user, world)
                    if server is not None and number % 2:
                        server.give_back()
                    await rest(desk, window)
                    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
                    if window._stopped:
                        break
                else:
                    for page in (DASHBOARD, ALL_DELIVERIES, REFUSED, ALL_REQUESTS):
                        window.enter_page(page)
                        await rest(desk, window)
                    return
                await window.pending.close()


async def act(desk: Desk, user: RandomUser, world: Hands) -> None:
    """The user and the rest of the world do some things."""
    async with Heart() as heart:
        for _ in range(ACTS):
            if user.window._stopped:
                break
            deed = asyncio.create_task(world.act(), name="the world")
            if user.dice.random() < 0.2:
                happen(desk, user.dice)
            hand = Caller(user.act)  # some menus of Qt have a loop of their own
            await asyncio.sleep(user.dice.choice((0.001, 0.01, 0.03)))
            await deed
            del hand
    assert heart.longest < LONGEST_S


def happen(desk: Desk, dice: random.Random) -> None:
    """What is not in the store."""
    tunnels, endpoints = desk.tunnels, desk.store.endpoints.all()
    refusal = Refusal(at=now_us(), source_address="127.0.0.1", source_port=1, status=404, reason=dice.choice(TEXTS))
    dice.choice(
        (
            lambda: tunnels.come_up(problem=dice.choice((None, "It does not answer."))),
            lambda: tunnels.outdate(*(endpoint.id for endpoint in endpoints[:2])),
            lambda: tunnels.change(state=TunnelState.FAILED, url=None, problem="It ended.", url_changed=True),
            lambda: desk.refused.add(refusal, dice.choice((b"", b"GET / HTTP/1.1\r\n\r\n"))),
            lambda: desk.theme.set_choice(dice.choice(("light", "dark", "system"))),
        )
    )()


async def rest(desk: Desk, window: MainWindow) -> None:
    """Close all that is over the window, and wait until it shows what is stored."""
    if window._stopped:
        return
    window.commands.palette.dismiss()
    while over := [one for one in QApplication.topLevelWidgets() if one.isVisible() and one is not window]:
        for one in over:
            one.done(0) if isinstance(one, QDialog) else one.close()
        await settle()
    window.activateWindow()
    wrong = ["not looked at"]
    end = asyncio.get_running_loop().time() + REST_S
    while wrong and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.02)
        wrong = await shown_wrong(desk, window)
    assert wrong == []
