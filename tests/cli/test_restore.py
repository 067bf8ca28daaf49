"""`hookline restore`: asks first, tells what it did, and leaves a running Hookline alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.clock import DAY_US, now_us
from tests.cli.conftest import Program, Run
from tests.cli.stored import store_requests


@pytest.fixture
def file(folder: Path, tmp_path: Path, run: Run) -> Path:
    """A backup with one request; one more was stored after it."""
    store_requests(folder, "orders", [{}])
    path = tmp_path / "backup.db"
    assert run("backup", str(path)).code == 0
    store_requests(folder, "later", [{}])
    return path


def slugs(run: Run) -> list[str]:
    return [endpoint["slug"] for endpoint in run("endpoint", "list", "--json").json]


def test_the_database_is_replaced_and_kept(folder: Path, file: Path, run: Run) -> None:
    done = run("restore", str(file), "--yes")
    assert (done.code, done.err) == (0, "")
    restored, kept = done.out.splitlines()
    assert restored.startswith("Restored 1 endpoint and 1 request, the newest from ")
    name = kept.removeprefix("The previous database is kept as ").partition(". Delete it")[0]
    assert Path(name).parent == folder
    assert slugs(run) == ["orders"]
    assert run("restore", name, "--yes").code == 0
    assert slugs(run) == ["orders", "later"]


def test_in_json(folder: Path, file: Path, run: Run) -> None:
    told = run("restore", str(file), "--yes", "--json").json
    assert Path(told.pop("previous_database")).is_file()
    none = dict.fromkeys(("expired", "queued", "damaged_bodies"), 0)
    assert told == {"data_folder": str(folder), "endpoints": 1, "requests": 1, **none}


def test_without_a_terminal_it_needs_yes(file: Path, run: Run) -> None:
    done = run("restore", str(file))
    assert (done.code, done.out) == (2, "")
    assert done.err == "hookline: Restoring asks first, and there is no terminal to ask on. Add --yes.\n"
    assert slugs(run) == ["orders", "later"]


@pytest.mark.parametrize(("answer", "restored"), [("n", False), ("", False), ("y", True)])
def test_the_question_tells_what_the_start_will_do(
    folder: Path,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    restored: bool,
) -> None:
    store_requests(folder, "orders", [{"received_at": now_us() - 100 * DAY_US}])
    file = folder.parent / "backup.db"
    assert run("backup", str(file)).code == 0
    store_requests(folder, "later", [{}])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdin.readline", lambda: f"{answer}\n")
    done = run("restore", str(file))
    assert done.code == (0 if restored else 1)
    assert f"{file} holds 1 endpoint and 1 request" in done.err
    assert "When Hookline starts with it, 1 request past retention is deleted." in done.err
    assert f"Replace the database in {folder} by it? The database is kept beside it. [y/N]" in done.err
    assert ("Nothing was restored." in done.err) is not restored
    assert slugs(run) == (["orders"] if restored else ["orders", "later"])


@pytest.mark.slow
def test_a_running_hookline_is_left_alone(folder: Path, file: Path, run: Run, serve: Callable[..., Program]) -> None:
    program = serve()
    done = run("restore", str(file), "--yes")
    assert (done.code, done.out) == (3, "")
    expected = f"{folder} is in use by Hookline (process {program.process.pid}). Close it, or choose another folder"
    assert done.err.startswith(f"hookline: {expected}")
    assert slugs(run) == ["orders", "later"]


def test_a_file_that_is_no_backup_makes_no_folder(folder: Path, tmp_path: Path, run: Run) -> None:
    for name, why in (("missing.db", "does not exist"), ("text.db", "not a database of Hookline")):
        (tmp_path / "text.db").write_text("no database " * 100)
        done = run("restore", str(tmp_path / name), "--yes")
        assert done.code == 3
        assert why in done.err
        assert done.err.count("\n") == 1
    assert not folder.exists()
