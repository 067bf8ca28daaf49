"""`hookline --complete`, which completions call: it finds what is stored, changes nothing and never complains."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli.commands.completion import script_of
from app.core.delivery import Delivery
from app.db.sqlite.store import Store
from tests import deliveries, factories
from tests.cli.conftest import ROOT, Program, Run
from tests.cli.stored import store_requests

IDS = [f"019a1b2c-{at:04d}-7000-8000-000000000000" for at in range(3)]


@pytest.fixture
def complete(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """What is offered for the last word of a line, after options that name the data folder."""

    def call(line: str, replaced: str = "", options: str = "") -> list[str]:
        capsys.readouterr()
        options = options or f"--data-dir '{folder}'"
        assert main(["--complete", f"hookline {options} {line}", replaced]) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        return shown.out.splitlines()

    return call


@pytest.mark.slow
def test_slugs_with_their_names_and_ids_with_their_targets(
    folder: Path, complete: Callable[..., list[str]], serve: Callable[..., Program]
) -> None:
    store_requests(folder, "orders", [{"id": one, "target": f"/catch/orders/\x1b{one[-1]}"} for one in IDS])
    store_requests(folder, "pay", [])
    serve()
    assert complete("endpoint show ") == ["orders\tOrders", "pay\tPay"]
    assert complete("endpoint show p") == ["pay\tPay"]
    assert complete("show ") == [
        "@last\tthe newest request",
        *(f"{one}\tPOST /catch/orders/\\x1b0" for one in reversed(IDS)),
    ]
    assert [line[:36] for line in complete("show 019A1B2C-0001")] == [IDS[1]]
    assert complete("show @") == ["@last\tthe newest request"]
    assert complete("tail ", options=f"--data-dir={folder}")[0] == "orders\tOrders"
    assert complete("deliveries --replay=@l") == ["--replay=@last\tthe replay started last"]
    assert complete("replay --endpoint o") == ["orders\tOrders"]


@pytest.mark.slow
def test_targets_with_their_urls_and_deliveries_with_their_state(
    folder: Path, complete: Callable[..., list[str]], serve: Callable[..., Program]
) -> None:
    async def make() -> list[Delivery]:
        store = await Store.open(folder, lambda _: None)
        endpoint = await store.endpoints.create(factories.draft(slug="orders", forward_url=deliveries.URL))
        gone = await store.endpoints.create(factories.draft(slug="gone", forward_url=deliveries.URL))
        rows = [(await deliveries.queued(store, one))[0] for one in (endpoint, endpoint, gone)]
        await deliveries.fail(store, rows[0])
        await store.targets.pause(endpoint.targets[0].id)
        await store.endpoints.delete(gone.id)
        await store.close()
        return rows

    folder.mkdir(mode=0o700)
    failed, queued, _ = asyncio.run(make())
    serve()
    assert complete("target show ") == [f"{failed.target_id}\torders to {deliveries.URL}"]
    assert complete("target show 9") == []
    assert complete("delivery ") == [
        "@last\tthe delivery queued last",
        f"{queued.id}\tqueued {deliveries.URL}/orders?x=1",
        f"{failed.id}\tfailed {deliveries.URL}/orders?x=1",
    ]
    assert [line[:36] for line in complete(f"delivery {failed.id[:30].upper()}")] == [failed.id]


@pytest.mark.slow
def test_replays_with_their_state(
    folder: Path, complete: Callable[..., list[str]], run: Run, serve: Callable[..., Program]
) -> None:
    store_requests(folder, "orders", [{}])
    serve()
    run("replay", "@last", "--to", "http://127.0.0.1:9")
    identity = run("replays", "--json").json[0]["id"]
    assert complete("replays ") == ["@last\tthe replay started last", f"{identity}\tdone"]
    assert complete(f"replays {identity[:9]}") == [f"{identity}\tdone"]


def words(offered: list[str]) -> list[str]:
    return [line.split("\t")[0] for line in offered]


def test_commands_verbs_and_options_with_their_help(complete: Callable[..., list[str]]) -> None:
    assert complete("end") == ["endpoint\tlist, create and change endpoints"]
    assert {"serve", "listen", "completion", "tunnel", "version"} <= set(words(complete("")))
    assert words(complete("endpoint --json e")) == ["edit"]
    assert words(complete("endpoint add Shop --ret")) == ["--retention-days"]
    assert words(complete("status ")) == ["--help", "--json", "--data-dir", "--wait"]
    assert words(complete("status -- ")) == ["--help", "--json", "--data-dir", "--wait"]
    assert "--replaced" not in words(complete("--r"))


def test_settings_with_their_titles_and_their_values(complete: Callable[..., list[str]]) -> None:
    assert complete("settings po") == ["port\tCapture port"]
    assert words(complete("settings theme ")) == ["system", "light", "dark"]
    assert words(complete("settings tunnel_autostart o")) == ["on", "off"]
    assert words(complete("settings when_full ")) == ["delete_oldest", "stop_capturing"]
    assert {"ngrok", "own", "none"} <= set(words(complete("settings tunnel_program ")))
    assert complete("settings port ") == complete("settings bogus ") == []


def test_choices_and_places_for_files_and_folders(complete: Callable[..., list[str]]) -> None:
    assert words(complete("plan ")) == ["free", "pro"]
    assert words(complete("replay --gaps o")) == words(complete("replay --gaps=o", "o")) == ["original"]
    assert words(complete("replay --gaps=o")) == ["--gaps=original"]
    assert words(complete("plan 'p")) == words(complete('plan "p')) == ["pro"]
    assert complete("restore x") == complete("replay --body-file ") == [":file"]
    assert complete("--data-dir ") == complete("--data-dir=x") == [":folder"]


def test_what_a_running_program_stored_a_moment_ago(
    serve: Callable[..., Program], run: Run, complete: Callable[..., list[str]]
) -> None:
    serve()
    run("endpoint", "add", "New", "--slug", "new")
    assert complete("endpoint show ") == ["new\tNew"]
    run("endpoint", "rm", "new", "--yes")
    assert complete("endpoint show ") == []


def test_nothing_is_made_and_nothing_is_said(folder: Path, complete: Callable[..., list[str]]) -> None:
    assert complete("endpoint show ") == []
    assert not folder.exists()
    store_requests(folder, "orders", [])
    before = sorted(file.name for file in folder.iterdir())
    assert complete("endpoint show ") == [], "no program runs"
    assert complete("show ") == ["@last\tthe newest request"]
    assert sorted(file.name for file in folder.iterdir()) == before
    assert complete("show ", options="--data-dir ~no-such-user/x") == []
    assert complete("bogus ") == complete("endpoint bogus ") == complete("endpoint show x y") == []
    assert main(["--complete"]) == 0


@pytest.mark.slow
def test_it_loads_neither_network_nor_store(folder: Path, serve: Callable[..., Program], run: Run) -> None:
    """What makes it quick, without a clock in the test."""
    serve()
    run("endpoint", "add", "New", "--slug", "new")
    heavy = "{'asyncio', 'httpx', 'aiohttp', 'peewee', 'PySide6', 'sqlite3'}"
    line = f"['--complete', 'hookline --data-dir {folder} endpoint show ']"
    code = f"import sys, app.__main__; app.__main__.main({line}); sys.exit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr.strip()) == ("new\tNew\n", "")


@pytest.mark.parametrize(
    ("word", "is_quoted"),
    [("@last", True), ("a b", True), ("it's", True), ("a;b", True), ("$a", True), ("orders", False), (IDS[0], False),
     ("--gaps=original", False), ("500", False)],
)  # fmt: skip
def test_powershell_quotes_what_it_would_read_as_more_than_a_word(word: str, is_quoted: bool) -> None:
    special = re.search(r'\$name -match "([^"]+)"', script_of("powershell"))
    assert special
    assert (re.search(special[1], word) is not None) == is_quoted


def test_powershell_reads_the_blocks_of_its_script_to_their_ends() -> None:
    code = re.sub(r"#.*|\"(?:[^\"`]|`.)*\"|'[^']*'", "", script_of("powershell"))
    open_ones: list[str] = []
    for sign in re.findall(r"[][(){}]", code):
        if sign in "([{":
            open_ones.append(sign)
        else:
            assert open_ones.pop() + sign in ("()", "[]", "{}")
    assert not open_ones
