"""What cannot be copied is refused in a sentence that says what to do, and nothing is changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import psycopg
import pytest

from app.core.errors import HooklineError
from app.core.settings import Settings
from app.core.team import Role
from app.data_folder.private_files import save_settings
from app.db import store_copy
from app.db.counts import RESPONSES
from app.db.postgres import database
from app.db.postgres import store_place as postgres_place
from app.db.postgres.database import LOCK_S
from app.db.store_copy import copy_store
from tests import factories
from tests.db.helpers import Place, add, query, write
from tests.db.store_copy.conftest import NewPlace, opened
from tests.db.store_copy.samples import contents, unreported
from tests.postgres import PostgresServer
from tests.team import OUTSIDER, USERS, as_user, team_store


def name_of(place: Place) -> str:
    return str(place) if isinstance(place, Path) else "postgresql://postgres@"


async def some_store(place: Place) -> None:
    async with opened(place) as store:
        endpoint = await store.endpoints.create(factories.draft())
        await add(store, endpoint.id)


def refusal(source: Place, target: Place) -> str:
    with pytest.raises(HooklineError) as refused:
        copy_store(source, target, unreported)
    text = str(refused.value)
    assert "\n" not in text
    return text


@pytest.fixture
def engines(engine: str) -> tuple[str, str]:
    """That of the test, and the other."""
    return engine, "postgres" if engine == "sqlite" else "sqlite"


async def test_a_store_that_has_been_used(new_place: NewPlace, engines: tuple[str, str]) -> None:
    source, target = map(new_place, engines)
    await some_store(source)
    await some_store(target)
    before = contents(target)
    assert refusal(source, target).endswith("without Hookline's data; nothing was copied.")
    assert contents(target) == before
    async with opened(target) as store:
        await store.endpoints.delete(store.endpoints.all()[0].id)
        await store._cleanup.run()
    assert query(target, "SELECT count(*) FROM endpoint") == [(0,)]
    assert "has been used: only a store that is new can become a copy" in refusal(source, target)


async def test_an_unfinished_copy_of_another_store(new_place: NewPlace, engines: tuple[str, str]) -> None:
    source, target = map(new_place, engines)
    other = new_place("sqlite")
    for place in (source, other):
        await some_store(place)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(other, target, stop)
    before = contents(target)
    assert f"is an unfinished copy of another store, {other}. Finish that, or name " in refusal(source, target)
    assert contents(target) == before


async def test_nothing_to_copy(new_place: NewPlace, engines: tuple[str, str], postgres_url: str) -> None:
    source = new_place("sqlite") if engines[0] == "sqlite" else postgres_url
    target = new_place("sqlite")
    assert refusal(source, target).startswith(f"There is no Hookline data in {name_of(source)}")
    assert not target.exists()
    assert not isinstance(source, Path) or not source.exists()


@pytest.mark.parametrize("used", ["source", "target"])
async def test_a_store_in_use(
    new_place: NewPlace, engines: tuple[str, str], used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.application import Application

    source, target = map(new_place, engines)
    await some_store(source)
    place = source if used == "source" else target
    folder = place if isinstance(place, Path) else new_place("sqlite")
    application = Application(folder, {} if isinstance(place, Path) else {"store": place})
    await application.open()
    try:
        text = await asyncio.to_thread(refusal, source, target)
    finally:
        await application.close()
    assert text.startswith(f"{name_of(place)}")
    assert f"is in use by {'Hookline (process' if isinstance(place, Path) else '1 node'}" in text
    assert text.endswith("nothing was copied.")
    copy_store(source, target, unreported)


async def test_no_node_starts_meanwhile(new_place: NewPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = new_place("postgres"), new_place("postgres")
    await some_store(source)
    impatient = database._SETTINGS.replace(f"lock_timeout TO '{LOCK_S}s'", "lock_timeout TO '100ms'")
    monkeypatch.setattr(database, "_SETTINGS", impatient)
    refused = []

    async def start(place: Place) -> None:
        with pytest.raises(HooklineError, match="Another Hookline holds up the database server"):
            async with opened(place):
                pass
        refused.append(place)

    def start_both(step: str, done: int, total: int) -> None:
        if (step, done) == ("checking", 0):
            asyncio.run(start(source))
            asyncio.run(start(target))

    await asyncio.to_thread(copy_store, source, target, start_both)
    assert refused == [source, target]
    assert contents(target) == contents(source)


async def test_a_role_that_may_not(postgres_server: PostgresServer, new_place: NewPlace) -> None:
    source = new_place("sqlite")
    await some_store(source)
    with team_store(postgres_server) as address:
        edge, rita, mona = (as_user(address, USERS[role]) for role in (Role.CAPTURE, Role.READER, Role.MEMBER))
        for user, said in ((edge, "may only capture"), (rita, "may only read")):
            assert f"Your role in the team's store {said}. Name postgresql://" in refusal(source, user)
        assert "may only capture" in refusal(edge, new_place("sqlite"))
        assert "has no role in this team's store" in refusal(as_user(address, OUTSIDER), new_place("sqlite"))
        copy_store(source, mona, unreported)
        back = new_place("sqlite")
        copy_store(rita, back, unreported)
        assert contents(back) == contents(source)


@pytest.mark.parametrize("newer", ["source", "target"])
async def test_a_store_of_a_newer_version(new_place: NewPlace, engines: tuple[str, str], newer: str) -> None:
    source, target = map(new_place, engines)
    await some_store(source)
    async with opened(target):
        pass
    write(source if newer == "source" else target, "INSERT INTO migration VALUES ('9001_more', 1)")
    assert "by a newer Hookline (it holds 9001_more)" in refusal(source, target)
    assert query(target, "SELECT count(*) FROM endpoint") == [(0,)]


async def test_an_original_of_an_older_version(
    place: Place, new_place: NewPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await some_store(place)
    monkeypatch.setattr(store_copy, "MIGRATIONS", (("9001_more", unreported),))
    monkeypatch.setattr(postgres_place, "MIGRATIONS", (*postgres_place.MIGRATIONS, "9001_more"))
    target = new_place("sqlite")
    assert "was written by an older Hookline. Start this one on it once; nothing was copied" in refusal(place, target)
    assert not target.exists()


async def test_a_server_that_cannot_be_reached(new_place: NewPlace, tmp_path: Path) -> None:
    folder = new_place("sqlite")
    await some_store(folder)
    nobody = f"postgresql:///team?host={tmp_path}"
    for source, target in ((folder, nobody), (nobody, tmp_path / "new")):
        assert refusal(source, target).endswith("Check that the server runs there.")
    assert not (tmp_path / "new").exists()


async def test_the_same_store(place: Place) -> None:
    await some_store(place)
    assert "is both stores. Name another to copy to" in refusal(place, place)


async def test_a_database_of_another_program(new_place: NewPlace, postgres_url: str) -> None:
    source = new_place("sqlite")
    await some_store(source)
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE SCHEMA hookline CREATE TABLE theirs (id int)")
    assert "has tables of another program" in refusal(source, postgres_url)


async def test_a_damaged_file(new_place: NewPlace, tmp_path: Path) -> None:
    source, target = new_place("sqlite"), new_place("sqlite")
    source.mkdir()
    (source / "hookline.db").write_bytes(b"not a database" * 1_000)
    assert "The database file is damaged" in refusal(source, target)
    assert not target.exists()


async def test_a_file_in_place_of_a_folder(place: Place, tmp_path: Path) -> None:
    await some_store(place)
    file = tmp_path / "file"
    file.write_bytes(b"mine")
    assert refusal(place, file).startswith(f"{file} is a file. Name the data folder that it is in")
    assert file.read_bytes() == b"mine"


async def test_a_folder_whose_database_is_missing(place: Place, new_place: NewPlace) -> None:
    await some_store(place)
    target = new_place("sqlite")
    target.mkdir()
    (target / "search.db").write_bytes(b"x")
    assert "is missing, but search.db beside it shows that there was one" in refusal(place, target)


@pytest.mark.parametrize(("setting", "owner"), [("storage_limit", 1), ("response_limit", RESPONSES)])
async def test_a_limit_that_would_delete_some_of_it(
    place: Place, new_place: NewPlace, setting: str, owner: int
) -> None:
    await some_store(place)
    write(place, "UPDATE storage_use SET bytes = ? WHERE owner = ?", 2**30, owner)
    target = new_place("sqlite")
    target.mkdir()
    save_settings(target, msgspec.structs.replace(Settings(), **{setting: 2**29}))
    before = sorted(target.iterdir())
    text = refusal(place, target)
    assert text.startswith(f"The copy takes 1.0 GiB, more than the {setting} of {target}, 512 MiB. ")
    assert sorted(target.iterdir()) == before


async def test_a_disk_without_room(place: Place, new_place: NewPlace) -> None:
    await some_store(place)
    write(place, "UPDATE storage_use SET bytes = ? WHERE owner = 1", 2**50)
    target = new_place("sqlite")
    assert refusal(place, target).startswith(f"The copy takes about 1024 TiB, and the disk of {target} has ")
    assert not target.exists()
