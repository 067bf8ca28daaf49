"""The PostgreSQL server of the tests: each test has a database of its own, and nothing of it outlives them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

ROOT = Path(__file__).parents[1]
STARTS = "from tests.postgres import PostgresServer; server = PostgresServer(); print(server.folder, flush=True); "


def started(program: str, first: str = "") -> subprocess.Popen[str]:
    """A process that does `first`, starts a server, prints its folder, and goes on with `program`."""
    return subprocess.Popen(
        [sys.executable, "-c", first + STARTS + program],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def becomes(true: Callable[[], bool]) -> bool:
    """Whether it is true within 20 seconds."""
    end = time.monotonic() + 20
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    return true()


def test_each_test_has_a_database_of_its_own(postgres_server: PostgresServer, postgres_url: str) -> None:
    import psycopg

    other = postgres_server.create()
    with psycopg.connect(postgres_url) as one, psycopg.connect(postgres_server.url(other)) as two:
        one.execute("CREATE TABLE requests (number integer)")
        one.commit()
        names = [connection.execute("SELECT to_regclass('requests')").fetchone() for connection in (one, two)]
        assert names == [("requests",), (None,)]
        postgres_server.drop(other)  # somebody is connected to it
        with pytest.raises(psycopg.OperationalError):
            two.execute("SELECT 1")


def test_it_speaks_utf_8_sorts_by_code_point_and_has_no_port(postgres_url: str) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        shown = [
            connection.execute(f"SELECT current_setting('{name}')").fetchone()
            for name in ("server_encoding", "lc_collate", "listen_addresses", "fsync", "autovacuum")
        ]
        assert shown == [("UTF8",), ("C",), ("",), ("off",), ("on",)]


def test_peewee_takes_the_url(postgres_url: str) -> None:
    from peewee import PostgresqlDatabase

    database = PostgresqlDatabase(postgres_url, prefer_psycopg3=True)
    database.execute_sql("CREATE TABLE requests (number integer, body bytea)")
    database.execute_sql("INSERT INTO requests VALUES (%s, %s)", (1, b"\0\xff"))
    assert [(number, bytes(body)) for number, body in database.execute_sql("SELECT * FROM requests")] == [
        (1, b"\0\xff")
    ]
    database.close()


@pytest.mark.slow
@pytest.mark.usefixtures("postgres_server")  # skips where there is none
@pytest.mark.parametrize(
    "how", ["told", *(pytest.param(how, marks=pytest.mark.long) for how in ("interrupted", "terminated")), "killed"]
)
def test_it_ends_with_the_process_that_started_it(how: str) -> None:
    process = started("input(); server.close()")
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip())
    server = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    assert runs(server)
    if how != "told":
        process.send_signal({"interrupted": signal.SIGINT, "terminated": signal.SIGTERM, "killed": signal.SIGKILL}[how])
    process.communicate("\n")
    assert becomes(lambda: not folder.exists())
    assert becomes(lambda: not runs(server))


@pytest.mark.slow
@pytest.mark.usefixtures("postgres_server")
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="the other tests are not run by root already")
def test_whoever_is_not_root_starts_it_too() -> None:
    import pwd

    nobody = pwd.getpwnam("nobody")
    # Python and the checkout may be where only root can read.
    first = f"import os, tests.postgres; os.setgroups([]); os.setgid({nobody.pw_gid}); os.setuid({nobody.pw_uid}); "
    process = started("print(server.create(), server.folder.stat().st_uid); server.close()", first)
    said, errors = process.communicate()
    assert (said.splitlines()[1:], errors) == ([f"test_1 {nobody.pw_uid}"], "")
    assert not Path(said.splitlines()[0]).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in programs are shell scripts")
@pytest.mark.parametrize(("version", "new_enough"), [("14.20", False), ("15.1", True)])
def test_it_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, new_enough: bool
) -> None:
    from tests import postgres

    for name in ("initdb", "postgres"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "PLACES", "nothing/*/bin")
    assert postgres.programs() == (tmp_path.resolve() if new_enough else None)
    why_not = "PostgreSQL 15 or newer is not installed: postgresql in Debian and Ubuntu, "
    assert (postgres.why_no_server() or "").startswith("" if new_enough else why_not)
