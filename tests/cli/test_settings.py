"""`hookline settings`, and the storage limits of endpoints, on a store that the command opens itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.settings import Settings
from app.core.sizes import GIB
from app.data_folder.private_files import load_settings
from tests.cli.conftest import Program, Run
from tests.support import free_port


@pytest.mark.usefixtures("empty_store")
def test_lists_every_setting_with_what_it_means(run: Run) -> None:
    rows = [line.split("\t") for line in run("settings").out.splitlines()]
    assert [row[0] for row in rows] == list(Settings.__struct_fields__)
    assert {row[0]: row[1] for row in rows}["body_limit"] == "100 MiB"
    assert all(row[2].endswith(".") for row in rows)


def test_the_first_start_decides_on_a_storage_limit_and_keeps_it(run: Run, folder: Path) -> None:
    assert run("settings").code == 3
    assert not folder.exists()
    run("endpoint", "add", "Orders")
    limit = run("settings", "storage_limit", "--json").json["storage_limit"]
    assert 0 < limit <= 20 * GIB
    assert json.loads((folder / "settings.json").read_text())["storage_limit"] == limit
    run("settings", "storage_limit", "none")
    assert run("settings", "storage_limit").out == "none\n"


@pytest.mark.usefixtures("empty_store")
def test_a_setting_is_changed_saved_and_printed_as_it_is_typed(run: Run, folder: Path) -> None:
    for value, text in (("500 MB", "500 MB"), ("1.5gib", "1.5 GiB"), ("33554432", "32 MiB")):
        done = run("settings", "storage_limit", value)
        assert (done.code, done.out) == (0, text + "\n")
    run("settings", "when_full", "stop_capturing")
    run("settings", "port", "9000")
    run("settings", "api_port", "9001")
    run("settings", "base_url", "https://hooks.example.org")
    run("settings", "theme", "dark")
    run("settings", "on_close", "tray")
    saved = load_settings(folder)
    assert (saved.storage_limit, saved.when_full, saved.port) == (33_554_432, "stop_capturing", 9000)
    assert (saved.api_port, saved.base_url) == (9001, "https://hooks.example.org")
    assert (saved.theme, saved.on_close) == ("dark", "tray")
    assert run("settings", "--json").json["api_port"] == 9001
    assert run("settings", "base_url", "none").out == "none\n"


@pytest.mark.usefixtures("empty_store")
def test_values_that_cannot_be_are_refused(run: Run) -> None:
    before = run("settings").out
    for key, value, told in (
        ("storage_limit", "0", "16 MiB to 1024 TiB"),
        ("storage_limit", "15 MiB", "16 MiB to 1024 TiB, not 15 MiB"),
        ("storage_limit", "2000 TiB", "not 2000 TiB"),
        ("storage_limit", "plenty", "a size, such as 500 MB"),
        ("storage_limit", "-5", "a size, such as 500 MB"),
        ("when_full", "explode", "delete_oldest or stop_capturing"),
        ("theme", "pink", "system, light or dark"),
        ("port", "8k", "a whole number"),
        ("port", "70000", "1 to 65535, not 70000"),
        ("port", "none", "a whole number"),
        ("host", "nowhere", "IP address"),
    ):
        done = run("settings", key, value)
        assert done.code == 2, value
        assert told in done.err, value
    assert run("settings").out == before


@pytest.mark.usefixtures("empty_store")
def test_a_setting_that_is_none_is_told(run: Run) -> None:
    done = run("settings", "colour")
    assert done.code == 2
    assert "hookline settings" in done.err


def test_an_endpoint_gets_a_storage_limit_and_loses_it(run: Run) -> None:
    added = run("endpoint", "add", "Orders", "--slug", "orders", "--storage-limit", "500 MB")
    assert "0 B of 500 MB, then its oldest requests are deleted" in added.out
    edited = run("endpoint", "edit", "orders", "--when-full", "stop_capturing")
    assert "0 B of 500 MB, then senders get 503" in edited.out
    changed = run("endpoint", "edit", "orders", "--storage-limit", "none", "--json").json
    assert (changed["storage_limit"], changed["when_full"]) == (None, "stop_capturing")
    assert "Storage" not in run("endpoint", "show", "orders").out


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--storage-limit", "0", "1 MiB to 1024 TiB, not 0"),
        ("--storage-limit", "1023 KiB", "1 MiB to 1024 TiB, not 1023 KiB"),
        ("--storage-limit", "lots", "500 MB or 2 GiB"),
        ("--when-full", "explode", "delete_oldest"),
    ],
)
def test_an_endpoints_limit_that_cannot_be_is_refused(run: Run, option: str, value: str, told: str) -> None:
    done = run("endpoint", "add", "Orders", option, value)
    assert done.code == 2
    assert told in done.err
    assert run("endpoint", "list").out == ""


@pytest.mark.slow
def test_a_running_program_changes_at_once_its_own_ports_too(
    serve: Callable[..., Program], run: Run, folder: Path
) -> None:
    serve()
    assert run("settings", "storage_limit", "17 MiB").out == "17 MiB\n"
    before = json.loads((folder / "runtime.json").read_text())
    for key in ("port", "api_port"):
        done = run("settings", key, str(free_port()))
        assert (done.code, done.err) == (0, "")
    after = json.loads((folder / "runtime.json").read_text())
    assert before["api_url"] != after["api_url"]
    assert before["capture_url"] != after["capture_url"]
    assert run("settings", "storage_limit").out == "17 MiB\n"


@pytest.mark.slow
def test_a_value_of_this_run_is_marked_and_saved_when_it_is_set(
    serve: Callable[..., Program], run: Run, folder: Path
) -> None:
    url = "https://run.example.org"
    serve("--base-url", url)
    said = "For this run only. No value is saved."
    rows = {row[0]: row for row in (line.split("\t") for line in run("settings").out.splitlines())}
    assert rows["base_url"][1] == url
    assert rows["base_url"][2].endswith(said)
    assert rows["port"][2].endswith(" For this run only. The saved value is 8787.")
    assert "this run" not in rows["body_limit"][2]
    shown = run("settings", "base_url")
    assert (shown.out, shown.err) == (f"{url}\n", f"hookline: {said}\n")
    assert run("settings", "--json").json["overridden"]["base_url"] is None
    changed = run("settings", "base_url", url)
    assert (changed.out, changed.err) == (f"{url}\n", "")
    assert load_settings(folder).base_url == url
    assert load_settings(folder).port == Settings().port
