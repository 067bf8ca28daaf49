"""A data folder that is not there: mistyped, or not made yet."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.text import size_text
from tests.cli.conftest import Program, Run

COMMANDS = (
    "endpoint list",
    "endpoint show orders",
    "endpoint edit orders --name x",
    "endpoint rm orders --yes",
    "requests",
    "show @last",
    "mark @last --star",
    "rm @last --yes",
    "clear orders --yes",
    "deliveries",
    "refused",
    "status",
    "plan",
    "plan pro",
)


@pytest.mark.parametrize("there", [False, True])
def test_a_command_makes_nothing_in_a_mistyped_folder_and_says_so(run: Run, folder: Path, there: bool) -> None:
    if there:
        folder.mkdir()
    for command in COMMANDS:
        done = run(*command.split())
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith(f"hookline: There is no Hookline data in {folder}. Check --data-dir")
        assert done.err.count("\n") == 1
        assert list(folder.parent.iterdir()) == ([folder] if there else [])
        assert not there or list(folder.iterdir()) == []


def test_an_endpoint_can_be_made_in_a_new_folder(run: Run, folder: Path) -> None:
    assert run("endpoint", "add", "Orders", "--slug", "orders").code == 0
    assert (folder / "hookline.db").exists()
    assert run("endpoint", "show", "orders").code == 0


def test_settings_can_be_made_in_a_new_folder(run: Run, folder: Path) -> None:
    assert run("settings", "port").code == 3
    assert not folder.exists()
    assert run("settings", "port", "9000").out == "9000\n"
    assert run("settings", "port").out == "9000\n"


@pytest.mark.parametrize("by", ["environment", "settings"])
def test_a_team_s_store_needs_no_database_in_the_folder(
    run: Run, folder: Path, postgres_url: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "environment":
        monkeypatch.setenv("HOOKLINE_STORE", postgres_url)
    else:
        folder.mkdir()
        (folder / "settings.json").write_text(json.dumps({"store": postgres_url}))
    assert run("endpoint", "list").code == 0
    assert not (folder / "hookline.db").exists()


@pytest.mark.parametrize("command", ["requests", "status", "endpoint add x", "serve", "doctor"])
def test_a_data_folder_that_is_a_file_is_called_one(run: Run, tmp_path: Path, command: str) -> None:
    file = tmp_path / "data"
    file.write_text("mine")
    for given in (file, file / "below"):
        done = run(*command.split(), "--data-dir", str(given))
        told = done.out if command == "doctor" else done.err
        assert done.code == (1 if command == "doctor" else 3)
        assert f"{file} is a file, not a folder." in told
        assert "permissions" not in told.splitlines()[0] or command == "doctor"
    assert file.read_text() == "mine"


@pytest.mark.parametrize("command", ["requests", "serve", "doctor"])
def test_a_damaged_database_comes_with_all_ways_out(run: Run, folder: Path, command: str) -> None:
    folder.mkdir()
    (folder / "hookline.db").write_bytes(b"not a database" * 1000)
    done = run(command)
    told = done.out if command == "doctor" else done.err
    assert done.code == (1 if command == "doctor" else 3)
    assert "Restore a backup (hookline restore FILE), choose another folder" in told
    assert "hookline serve --set-aside-damaged, or the window, which asks." in told
    assert (folder / "hookline.db").read_bytes() == b"not a database" * 1000


@pytest.mark.slow
def test_status_and_doctor_agree_on_the_size(serve: Callable[..., Program], run: Run) -> None:
    serve("--endpoint", "Orders")
    before, after, checked = 0, 1, ""
    while before != after:  # the index may be written meanwhile
        before = run("status", "--json").json["database_bytes"]
        checked = next(one["text"] for one in run("doctor", "--json").json if one["name"] == "Database")
        after = run("status", "--json").json["database_bytes"]
    assert checked == f"{size_text(after)} with its log and search index, sound"
    assert f"Database: {size_text(after)}\n" in run("status").out
