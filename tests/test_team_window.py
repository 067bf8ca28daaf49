"""The program with a window on a team's store: it leaves capturing, and work for the team, to nodes unless asked."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from app.application import Application
from app.core.errors import HooklineError
from app.core.model import SentTest
from app.window_session import services_of
from tests.conftest import ROOT
from tests.e2e.senders import post
from tests.factories import draft
from tests.support import until

if TYPE_CHECKING:
    from tests.postgres import PostgresServer


class Team:
    """A node, and the program with a window, which `window` opens once the node says where it captures, if it does."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder, self._settings = folder, {"port": 0, "api_port": 0, "store": url}
        self._running: list[Application] = []

    async def node(self) -> Application:
        return await self._start("node", window=False)

    async def window(self, **settings: Any) -> Application:
        return await self._start("window", window=True, **settings)

    async def _start(self, name: str, *, window: bool, **settings: Any) -> Application:
        (self._folder / name).mkdir()
        program = Application(self._folder / name, {**self._settings, **settings}, window=window)
        self._running.append(program)
        await program.open()
        await program.listen()
        await program.serve_api()
        return program

    async def close(self) -> None:
        for program in self._running:
            await program.close()


async def hookline(*words: str, folder: Path, **environment: str) -> str:
    command = [sys.executable, "-m", "hookline", *words, "--data-dir", str(folder)]
    env = {**os.environ, **environment}
    return (await asyncio.to_thread(subprocess.run, command, cwd=ROOT, env=env, capture_output=True, text=True)).stdout


@pytest.fixture
async def team(postgres_server: PostgresServer, tmp_path: Path) -> AsyncIterator[Team]:
    name = postgres_server.create()
    team = Team(tmp_path, postgres_server.url(name))
    yield team
    await team.close()
    postgres_server.drop_later(name)


async def test_urls_are_those_that_a_node_names(team: Team) -> None:
    node, window = await team.node(), await team.window(base_url="https://mine.example.com")
    endpoint = await node.store.endpoints.create(draft(name="Orders"))
    await until(lambda: window.store.nodes.others.capturing == 1)
    assert window.addresses.listening is None
    assert window.addresses.capture_url(endpoint) == f"/catch/{endpoint.slug}"
    base = node.addresses.local_base()
    node.current_settings.override(base_url=base)
    await until(lambda: window.addresses.capture_url(endpoint) == f"{base}/catch/{endpoint.slug}")
    assert f"{base}/catch/" in window.addresses.own_bases()
    await until(lambda: window.store.endpoints.by_id(endpoint.id))
    sent = await services_of(window).send_test(endpoint)
    assert sent == SentTest(status=200, place=base, public=True)
    assert window.store.captures.counts(endpoint.id).total == 1


async def test_nothing_is_sent_where_the_address_is_not_known(team: Team) -> None:
    window = await team.window()
    endpoint = await window.store.endpoints.create(draft())
    with pytest.raises(HooklineError, match="does not capture into the team's store, and no node says where"):
        await services_of(window).send_test(endpoint)
    with pytest.raises(HooklineError, match="so a tunnel would lead nowhere"):
        await window.tunnels.start("cloudflared-quick")


async def test_what_nodes_capture_is_forwarded_by_them(team: Team) -> None:
    node, window = await team.node(), await team.window()
    assert (node.store.works, window.store.works) == (True, False)
    endpoint = await window.store.endpoints.create(draft(forward_url="http://127.0.0.1:9/"))
    await node.store.endpoints.look_again(endpoint.slug)
    assert (await asyncio.to_thread(post, node.addresses.capture_url(endpoint), b"{}")).status == 200
    await until(lambda: window.store.captures.counts(endpoint.id).total == 1)
    one, other = await window.store.nodes.all()
    await until(lambda: window.store.nodes.others.capturing == 1)
    assert [node.current for node in (one, other)] == [False, True]
    assert not other.jobs


async def test_settings_can_be_changed_while_no_port_is_open(team: Team) -> None:
    window = await team.window()
    await window.change_settings({"theme": "dark"})
    assert window.settings.theme == "dark"


async def test_it_captures_when_asked_to(team: Team) -> None:
    window = await team.window(window_captures=True)
    assert window.store.works
    endpoint = await window.store.endpoints.create(draft())
    assert (await asyncio.to_thread(post, window.addresses.capture_url(endpoint), b"{}")).status == 200


@pytest.mark.slow
async def test_a_command_needs_no_data_of_its_own(team: Team, tmp_path: Path) -> None:
    node = await team.node()
    endpoint = await node.store.endpoints.create(draft(name="Orders"))
    node.current_settings.override(base_url="https://hooks.example.com")
    watching = await team.window()
    await until(lambda: watching.store.nodes.others.base_url)
    said = await hookline("endpoint", "list", folder=tmp_path / "new", HOOKLINE_STORE=str(node.settings.store))
    assert f"https://hooks.example.com/catch/{endpoint.slug}" in said


@pytest.mark.slow
async def test_commands_say_which_store_is_in_use_and_who_captures(team: Team) -> None:
    node, window = await team.node(), await team.window()
    await until(lambda: window.store.nodes.others.capturing == 1)
    said = json.loads(await hookline("status", "--json", folder=window.folder))
    assert (said["store"], said["captures"], said["capture_url"]) == (node.store.place, True, None)
    lines = dict(line.split(": ", 1) for line in (await hookline("status", folder=window.folder)).splitlines())
    assert lines["Captures at"] == "not here, but on other nodes"
    assert lines["Store"] == node.store.place
    assert lines["Running"].startswith(f"process {os.getpid()}, ")
