"""`hookline --complete`, which completions call: it finds what is stored, changes nothing and never complains."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.__main__ import main
from app.core.delivery import Delivery
from app.db.store import Store
from tests import deliveries, factories
from tests.cli.conftest import ROOT, Program, Run
from tests.cli.stored import store_requests

IDS = [f"019a1b2c-{at:04d}-7000-8000-000000000000" for at in range(3)]


@pytest.fixture
def complete(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """What is offered for a word of a line that names the data folder."""

    def call(kind: str, word: str, *line: str) -> list[str]:
        capsys.readouterr()
        assert main(["--complete", kind, word, *(line or ("hookline", "--data-dir", str(folder)))]) == 0
        shown = capsys.readouterr()
        assert shown.err == ""
        return shown.out.splitlines()

    return call


def test_slugs_with_their_names_and_ids_with_their_targets(folder: Path, complete: Callable[..., list[str]]) -> None:
    store_requests(folder, "orders", [{"id": one, "target": f"/catch/orders/\x1b{one[-1]}"} for one in IDS])
    store_requests(folder, "pay", [])
    assert complete("slugs", "") == ["orders\tOrders", "pay\tPay"]
    assert complete("slugs", "p") == ["pay\tPay"]
    assert complete("ids", "") == [
        "@last\tthe newest request",
        *(f"{one}\tPOST /catch/orders/\\x1b0" for one in reversed(IDS)),
    ]
    assert [line[:36] for line in complete("ids", "019A1B2C-0001")] == [IDS[1]]
    assert complete("ids", "@") == ["@last\tthe newest request"]
    assert complete("slugs", "", "hookline", f"--data-dir={folder}", "show")[0] == "orders\tOrders"


def test_targets_with_their_urls_and_deliveries_with_their_state(
    folder: Path, complete: Callable[..., list[str]], run: Run
) -> None:
    async def make() -> list[Delivery]:
        store = await Store.open(folder, lambda _: None)
        endpoint = await store.endpoints.create(factories.draft(slug="orders", forward_url=deliveries.URL))
        gone = await store.endpoints.create(factories.draft(slug="gone", forward_url=deliveries.URL))
        rows = [(await deliveries.queued(store, one))[0] for one in (endpoint, endpoint, gone)]
        await deliveries.fail(store, rows[0])
        await store.endpoints.delete(gone.id)
        await store.close()
        return rows

    folder.mkdir(mode=0o700)
    failed, queued, _ = asyncio.run(make())
    assert complete("targets", "") == [f"{failed.target_id}\torders to {deliveries.URL}"]
    assert complete("targets", "9") == []
    assert complete("deliveries", "") == [
        "@last\tthe delivery queued last",
        f"{queued.id}\tqueued {deliveries.URL}",
        f"{failed.id}\tfailed {deliveries.URL}/orders?x=1",
    ]
    assert [line[:36] for line in complete("deliveries", failed.id[:30].upper())] == [failed.id]


def test_replays_with_their_state(folder: Path, complete: Callable[..., list[str]], run: Run) -> None:
    store_requests(folder, "orders", [{}])
    run("replay", "@last", "--to", "http://127.0.0.1:9")
    identity = run("replays", "--json").json[0]["id"]
    assert complete("replays", "") == ["@last\tthe replay started last", f"{identity}\tdone"]
    assert complete("replays", identity[:9]) == [f"{identity}\tdone"]


def test_what_a_running_program_stored_a_moment_ago(
    serve: Callable[..., Program], run: Run, complete: Callable[..., list[str]]
) -> None:
    serve()
    run("endpoint", "add", "New", "--slug", "new")
    assert complete("slugs", "") == ["new\tNew"]
    run("endpoint", "rm", "new", "--yes")
    assert complete("slugs", "") == []


def test_nothing_is_made_and_nothing_is_said(
    folder: Path, complete: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert complete("slugs", "") == []
    assert not folder.exists()
    store_requests(folder, "orders", [])
    before = sorted(file.name for file in folder.iterdir())
    assert complete("slugs", "") == ["orders\tOrders"]
    assert sorted(file.name for file in folder.iterdir()) == before
    (folder / "hookline.db").write_bytes(b"not a database" * 1000)
    assert complete("slugs", "") == []
    assert complete("ids", "x", "hookline", "--data-dir") == []
    assert complete("slugs", "", "hookline", "--data-dir", "~no-such-user/x") == []
    assert main(["--complete"]) == 0


def test_it_loads_neither_network_nor_store() -> None:
    """What makes it quick, without a clock in the test."""
    heavy = "{'asyncio', 'httpx', 'aiohttp', 'peewee', 'PySide6'}"
    line = "['--complete', 'slugs', '', 'hookline', '--data-dir', '/none']"
    code = f"import sys, app.__main__; app.__main__.main({line}); sys.exit(str({heavy} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr.strip()) == ("", "")
