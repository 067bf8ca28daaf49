"""Files that cannot be used are refused in words and left exactly as they were."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.core.errors import DamagedDatabaseError, DataFolderError, NewerDatabaseError
from app.db.sqlite import connection as connection_module
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add, add_many, files, query


def test_a_full_disk_is_told_from_other_errors() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("PRAGMA max_page_count = 1")
        with pytest.raises(sqlite3.OperationalError) as full:
            database.execute("CREATE TABLE one (value)")
        with pytest.raises(sqlite3.OperationalError) as wrong:
            database.execute("SELECT value FROM none")
    assert connection_module.is_out_of_space(full.value)
    assert not connection_module.is_out_of_space(wrong.value)


def fingerprint(folder: Path) -> dict[str, tuple[int, str]]:
    return {
        file.name: (file.stat().st_mode, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in folder.iterdir()
        if file.is_file()
    }


async def used_store(folder: Path) -> None:
    """A closed store with some requests in it."""
    store = await Store.open(folder, lambda _: None)
    made = await store.endpoints.create(factories.draft())
    await add_many(store, made.id, 200)
    await store.close()


async def refused(folder: Path, kind: type[DataFolderError]) -> str:
    before = fingerprint(folder)
    with pytest.raises(kind) as caught:
        await Store.open(folder, lambda _: None)
    assert type(caught.value) is kind
    assert caught.value.folder == folder
    assert fingerprint(folder) == before
    return str(caught.value)


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 100, os.urandom(8192), b"SQLite format 3\x00" + os.urandom(9000), b"x"]
)
async def test_what_is_no_database_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "hookline.db").write_bytes(content)
    message = await refused(tmp_path, DamagedDatabaseError)
    assert str(tmp_path / "hookline.db") in message


async def test_a_file_cut_short_is_damaged(tmp_path: Path) -> None:
    await used_store(tmp_path)
    file = tmp_path / "hookline.db"
    os.truncate(file, file.stat().st_size // 2)
    await refused(tmp_path, DamagedDatabaseError)


async def test_scribbled_tables_are_damaged(tmp_path: Path) -> None:
    await used_store(tmp_path)
    with (tmp_path / "hookline.db").open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(3_900))
    await refused(tmp_path, DamagedDatabaseError)


async def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "hookline.db")) as connection:
        connection.execute("CREATE TABLE recipes (id INTEGER PRIMARY KEY)")
    assert "not one of Hookline's" in await refused(tmp_path, DamagedDatabaseError)


@pytest.mark.parametrize("with_log", [False, True])
async def test_a_newer_database_is_not_touched(tmp_path: Path, with_log: bool) -> None:
    await used_store(tmp_path)
    connection = sqlite3.connect(tmp_path / "hookline.db", isolation_level=None)
    connection.execute("INSERT INTO migration VALUES ('0999_the_future', 1)")
    if not with_log:
        connection.close()
    (tmp_path / "hookline.db").chmod(0o644)
    message = await refused(tmp_path, NewerDatabaseError) if not with_log else await refused_beside(tmp_path)
    assert "0999_the_future" in message
    connection.close()


async def refused_beside(folder: Path) -> str:
    """As `refused`, while another connection keeps a log: readers may note themselves in the log's index."""
    before = fingerprint(folder)
    with pytest.raises(NewerDatabaseError) as caught:
        await Store.open(folder, lambda _: None)
    after = fingerprint(folder)
    assert {name: after[name] for name in ("hookline.db", "hookline.db-wal")} == {
        name: before[name] for name in ("hookline.db", "hookline.db-wal")
    }
    return str(caught.value)


async def test_a_log_without_its_database_is_not_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "hookline.db-wal").write_bytes(os.urandom(5000))
    assert "missing or empty" in await refused(tmp_path, DamagedDatabaseError)
    (tmp_path / "hookline.db").touch()
    assert "missing or empty" in await refused(tmp_path, DamagedDatabaseError)


async def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    (tmp_path / "hookline.db").touch(mode=0o644)
    store = await Store.open(tmp_path, lambda _: None)
    await store.endpoints.create(factories.draft())
    assert files(tmp_path)["hookline.db"] == 0o600
    await store.close()


async def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hookline.db").mkdir()
    assert "is not a file" in await refused(tmp_path, DataFolderError)


async def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataFolderError, match="cannot be used"):
        await Store.open(tmp_path / "nowhere", lambda _: None)


@contextlib.contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """The folder at a place where it cannot be written; root needs a mount for that."""
    if os.geteuid():
        (folder / "hookline.db").chmod(0o400)
        folder.chmod(0o500)
        yield folder
        folder.chmod(0o700)
        return
    here = folder / "mounted"
    here.mkdir()
    if subprocess.run(["mount", "--bind", "-o", "ro", folder, here], check=False, capture_output=True).returncode:
        pytest.skip("no right to mount")
    try:
        yield here
    finally:
        subprocess.run(["umount", "-l", here], check=True)


async def test_a_read_only_place_is_refused(tmp_path: Path) -> None:
    await used_store(tmp_path)
    with read_only(tmp_path) as folder:
        assert "Check the permissions" in await refused_at(folder)


async def refused_at(folder: Path) -> str:
    with pytest.raises(DataFolderError) as caught:
        await Store.open(folder, lambda _: None)
    assert type(caught.value) is DataFolderError
    return str(caught.value)


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA locking_mode = EXCLUSIVE")
connection.execute("BEGIN EXCLUSIVE")
connection.execute("UPDATE account SET plan = plan")
print("held", flush=True)
sys.stdin.read()
"""


async def test_a_database_locked_by_another_program_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "BUSY_S", 0.2)
    await used_store(tmp_path)
    command = [sys.executable, "-c", HOLD, tmp_path / "hookline.db"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:  # noqa: ASYNC220
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        assert "locked by another program" in await refused_at(tmp_path)
        holder.stdin.close()
    store = await Store.open(tmp_path, lambda _: None)
    await add(store, 1)
    await store.close()
    assert query(tmp_path, "SELECT count(*) FROM capture") == [(201,)]


async def test_the_number_of_the_store_is_in_the_file_from_the_start(tmp_path: Path) -> None:
    """Not only in the log: without it the file of another store could not be told from this one."""
    for _ in range(2):
        store = await Store.open(tmp_path, lambda _: None)
        header = (tmp_path / "hookline.db").read_bytes()[:100]
        await store.close()
        assert int.from_bytes(header[60:64]) == connection_module.store_number(store.account.instance_id)
