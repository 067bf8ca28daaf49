"""A copy that was interrupted goes on where it stopped, and until it is finished it is no store."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from app.core.errors import StoreCopyError
from app.db import store_copy
from app.db.endpoints import FINISH_COPY
from app.db.postgres.server_checks import check_database
from app.db.sqlite import database_checks
from app.db.store_copy import copy_store
from tests import damage, factories
from tests.db.helpers import Place, add_many, kept_bytes, query, recount_bytes
from tests.db.store_copy.conftest import NewPlace, opened
from tests.db.store_copy.samples import contents, fill, unreported

COPIER = """
import sys
from pathlib import Path
from app.db import store_copy

def report(step, done, total):
    print(step, done, flush=True)
    sys.stdin.readline()

store_copy.ROWS = int(sys.argv[1])
store_copy.copy_store(*(text if "://" in text else Path(text) for text in sys.argv[2:]), report)
"""
ROWS = 40


async def original_at(place: Place) -> None:
    """A store with five steps' requests, and some more."""
    async with opened(place) as store:
        await fill(store)
        await add_many(store, store.endpoints.all()[0].id, 5 * ROWS)


class Reports(list[tuple[str, int]]):
    """What a copy reports; it is interrupted at one of these."""

    def __init__(self, stop_at: tuple[str, int] | None = None) -> None:
        self._stop_at = stop_at

    def __call__(self, step: str, done: int, total: int) -> None:
        self.append((step, done))
        if self[-1] == self._stop_at:
            raise KeyboardInterrupt


@pytest.fixture
def target(engine: str, new_place: NewPlace) -> Place:
    return new_place("postgres" if engine == "sqlite" else "sqlite")


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_copy, "ROWS", ROWS)


@pytest.mark.slow
async def test_after_a_kill(place: Place, target: Place) -> None:
    await original_at(place)
    before = contents(place)
    arguments = [sys.executable, "-c", COPIER, str(ROWS), str(place), str(target)]
    with subprocess.Popen(  # noqa: ASYNC220 - it is killed below
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as copier:
        assert copier.stdin is not None
        assert copier.stdout is not None
        for _ in range(4):
            copier.stdout.readline()
            copier.stdin.write(b"\n")
            copier.stdin.flush()
        copier.kill()
    again = Reports()
    done = copy_store(place, target, again)
    assert 3 * ROWS <= again[0][1] <= 4 * ROWS
    assert done.requests == again[-1][1]
    assert contents(place) == before
    assert contents(target) == before
    assert kept_bytes(target) == recount_bytes(target)


@pytest.mark.parametrize("stop_at", [("copying", 2 * ROWS), ("checking", ROWS)])
async def test_no_hookline_starts_on_it_until_it_is_finished(
    place: Place, target: Place, stop_at: tuple[str, int]
) -> None:
    await original_at(place)
    with pytest.raises(KeyboardInterrupt):
        copy_store(place, target, Reports(stop_at))
    reached = contents(target)
    for _ in range(2):
        with pytest.raises(StoreCopyError, match=r"unfinished copy of .*\. Finish it \(hookline store copy\)"):
            async with opened(target):
                pass
    found = database_checks.check_database(target, full=False) if isinstance(target, Path) else check_database(target)
    assert (found.state, found.advice) == ("problem", FINISH_COPY)
    assert " is an unfinished copy of " in found.text
    with pytest.raises(StoreCopyError, match=r"is itself an unfinished copy\. Finish that first"):
        copy_store(target, place, unreported)
    again = Reports()
    copy_store(place, target, again)
    assert again[0] == ("copying", len(reached["capture"]))
    assert contents(target) == contents(place)
    async with opened(target) as store:
        assert len(store.endpoints.all()) == 2


async def test_from_a_folder_whose_hookline_was_killed(tmp_path: Path, new_place: NewPlace) -> None:
    killed, target = tmp_path / "killed", new_place("postgres")
    async with opened(tmp_path / "alive") as store:
        endpoint = await store.endpoints.create(factories.draft())
        await add_many(store, endpoint.id, 3 * ROWS)
        shutil.copytree(tmp_path / "alive", killed)
    log = (killed / "hookline.db-wal").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        copy_store(killed, target, Reports(("copying", ROWS)))
    again = Reports()
    assert copy_store(killed, target, again).requests == 3 * ROWS
    assert again[0] == ("copying", ROWS)
    assert (killed / "hookline.db-wal").read_bytes() == log


async def test_it_starts_over_when_the_original_was_used_meanwhile(place: Place, target: Place) -> None:
    await original_at(place)
    with pytest.raises(KeyboardInterrupt):
        copy_store(place, target, Reports(("copying", 2 * ROWS)))
    async with opened(place) as store:
        first = (await store.captures.between(0, 2**40, 1))[0]
        await store.captures.set_note(first.id, "now")
        await store.captures.delete([first.id])
        await store.endpoints.create(factories.draft())
    again = Reports()
    copy_store(place, target, again)
    assert again[0] == ("copying", 0)
    assert {**contents(target), "endpoint": []} == {**contents(place), "endpoint": []}
    assert kept_bytes(target) == recount_bytes(target)


async def test_what_differs_from_the_original_is_noticed(place: Place, target: Place) -> None:
    await original_at(place)
    (last,) = query(place, "SELECT id FROM capture ORDER BY seq DESC LIMIT 1")[0]

    def change(step: str, done: int, total: int) -> None:
        if (step, done) == ("checking", ROWS):
            damage.change_body(target, last)

    with pytest.raises(
        StoreCopyError, match=r"A body in the copy is not .*\. Run the same command again, which starts"
    ):
        copy_store(place, target, change)
    again = Reports()
    assert copy_store(place, target, again).damaged == ()
    assert again[0] == ("copying", 0)
    assert contents(target) == contents(place)


@pytest.mark.parametrize("lost", ["original", "copy"])
async def test_a_server_that_goes_away(new_place: NewPlace, lost: str) -> None:
    place, target = new_place("postgres"), new_place("postgres")
    await original_at(place)

    def cut(step: str, done: int, total: int) -> None:
        if (step, done) == ("copying", 2 * ROWS):
            with psycopg.connect(str(place if lost == "original" else target), autocommit=True) as administrator:
                others = "pid <> pg_backend_pid() AND datname = current_database()"
                administrator.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")

    with pytest.raises(
        StoreCopyError, match=r"stopped\. The database server cannot .*\. To go on, run the same command again\."
    ):
        copy_store(place, target, cut)
    again = Reports()
    copy_store(place, target, again)
    assert again[0] == ("copying", 2 * ROWS)
    assert contents(target) == contents(place)
