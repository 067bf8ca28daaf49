"""`hookline mcp` while no Hookline runs."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from app.cli.commands import mcp as command
from tests.cli.agent import agent, error, result
from tests.cli.conftest import Run, press_ctrl_c_at_once

pytestmark = pytest.mark.slow


def test_it_reads_what_is_stored_but_waits_for_nothing(folder: Path, run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")

    async def ask() -> None:
        async with agent(folder, "--allow-send") as client:
            assert [one["slug"] for one in (await result(client, "list_endpoints"))["endpoints"]] == ["orders"]
            assert (await result(client, "status"))["running"] is False
            assert "does not capture" in await error(client, "wait_for_request", timeout_seconds=1)
            assert "does not capture" in await error(client, "send_request", endpoint="orders")

    asyncio.run(ask())
    assert run("endpoint", "list", "--json").code == 0, "it holds the data folder for each call only"


def test_calls_that_an_agent_makes_at_once_each_find_what_is_stored(folder: Path, run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")

    async def ask() -> None:
        async with agent(folder) as client:
            found = await asyncio.gather(*(result(client, "list_endpoints") for _ in range(4)))
            assert [[one["slug"] for one in each["endpoints"]] for each in found] == [["orders"]] * 4

    asyncio.run(ask())


def test_a_folder_without_data_is_an_error_the_agent_can_read(folder: Path) -> None:
    async def ask() -> None:
        async with agent(folder) as client:
            assert "There is no Hookline data" in await error(client, "list_endpoints")

    asyncio.run(ask())


def test_without_its_library_it_says_what_to_install(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    done = run("mcp")
    assert done.code == 3
    assert done.err == (
        "hookline: hookline mcp needs a library that is not installed. Install it with: pip install 'hookline[mcp]'\n"
    )


def test_a_package_says_where_to_get_it(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    done = run("mcp")
    assert done.code == 3
    assert done.err == (
        "hookline: This package of Hookline does not include hookline mcp. Install Hookline with pip too:"
        " pip install 'hookline[mcp]'. The hookline mcp of that one uses the same data.\n"
    )


def test_ctrl_c_as_it_begins_to_listen_for_that_ends_its_input_too(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stdin, os.fdopen(writing, "w"):
        monkeypatch.setattr(sys, "stdin", stdin)
        with monkeypatch.context() as pressing:
            press_ctrl_c_at_once(pressing)
            with command._input_until_ctrl_c() as interrupted:
                assert stdin.read() == ""
        assert interrupted()
