"""`hookline backup`, beside a running program and without one."""

from __future__ import annotations

import sqlite3
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from app.cli.call import Call
from app.cli.client import Answer, ApiClient
from app.cli.commands.backup import backup
from app.cli.errors import CliError, Exit
from app.cli.output import Output
from hookline.calls import Call as ApiCall
from hookline.records import Backup
from tests.cli.conftest import Program, Run
from tests.cli.stored import store_requests


def ids_in(file: Path) -> list[str]:
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        return [row[0] for row in connection.execute("SELECT id FROM capture ORDER BY seq")]


@pytest.mark.parametrize("beside", [False, True])
def test_a_backup_holds_what_is_stored(
    folder: Path, tmp_path: Path, run: Run, serve: Callable[..., Program], beside: bool
) -> None:
    ids = store_requests(folder, "orders", [{}, {}])
    if beside:
        serve()
    file = tmp_path / "a.db"
    done = run("backup", str(file))
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Backed up to {file} (")
    assert ids_in(file) == ids
    again = run("backup", str(file))
    assert (again.code, again.out) == (3, "")
    assert again.err == f"hookline: {file} exists already. Choose another name, or replace it (--force).\n"
    forced = run("backup", str(file), "--force", "--json")
    assert (forced.json["state"], forced.json["size"]) == ("done", file.stat().st_size)


@pytest.mark.slow
def test_a_relative_name_is_relative_to_the_callers_folder(
    empty_store: None, tmp_path: Path, run: Run, serve: Callable[..., Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    monkeypatch.chdir(tmp_path)
    assert run("backup", "a.db").code == 0
    assert ids_in(tmp_path / "a.db") == []


def test_without_data_there_is_nothing_to_back_up(folder: Path, tmp_path: Path, run: Run) -> None:
    done = run("backup", str(tmp_path / "a.db"))
    assert done.code == 3
    assert "There is no Hookline data" in done.err
    assert not (tmp_path / "a.db").exists()


class Interrupted:
    """An API whose user presses Ctrl-C while it answers the call named `during`; then `running` is being written."""

    def __init__(self, during: str, running: str) -> None:
        self._during, self._running = during, running
        self.calls: list[str] = []

    @property
    def asked(self) -> type[ApiClient]:
        return ApiClient

    def answer(self, asked: ApiCall[Any]) -> Answer[Backup]:
        call = {"POST /backup": "start", "GET /backup": "read"}.get(f"{asked.method} {asked.path}", "cancel")
        self.calls.append(call)
        if call == self._during:
            self._during = ""
            raise KeyboardInterrupt
        made = {
            "path": self._running if asked.content is None else asked.content["path"],
            "state": "cancelled" if call == "cancel" else "running",
            "step": "copying",
            "done_bytes": 1,
            "total_bytes": 2,
            "size": 0,
            "damaged_bodies": 0,
            "problem": None,
        }
        return Answer.of(msgspec.json.encode(made), Backup)


@pytest.mark.parametrize(
    ("during", "running", "calls", "message"),
    [
        ("read", "/b/a.db", ["start", "read", "read", "cancel"], r"cancelled\. No file was written"),
        ("start", "/b/a.db", ["start", "read", "cancel"], r"cancelled\. No file was written"),
        ("start", "/another.db", ["start", "read"], "cancelled before it began"),
    ],
)
def test_ctrl_c_cancels_this_backup(during: str, running: str, calls: list[str], message: str) -> None:
    api = Interrupted(during, running)
    call = Call(options=Namespace(file=Path("/b/a.db"), force=False), out=Output(), api=cast(ApiClient, api))
    with pytest.raises(CliError, match=message) as raised:
        backup(call)
    assert raised.value.code == Exit.INTERRUPTED
    assert api.calls == calls
