"""A process killed while it stores: every request it was told is stored can be read."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.core.model import PART_SIZE
from app.db.sqlite.store import Store
from tests.db.helpers import kept_bytes, query, recount, recount_bytes
from tests.support import until

pytestmark = pytest.mark.slow

ADDER = """
import asyncio, sys
from pathlib import Path
from app.db.sqlite.store import Store
from tests import factories
from tests.db.helpers import add

async def main():
    store = await Store.open(Path(sys.argv[1]), lambda _: None, fsync=sys.argv[3] == "1")
    draft = factories.draft(storage_limit=int(sys.argv[2]) or None)
    made = await store.endpoints.create(draft) if not store.endpoints.all() else store.endpoints.all()[0]

    async def adder(number):
        while True:
            capture = await add(store, made.id, b"%d" % number)
            store.captures.responded(capture.seq, 0.5)
            print(capture.id, number, flush=True)

    async def uploader():
        while True:
            key = await store.captures.add_part(None, 0, bytes(2 ** 19))
            await store.captures.add_part(key, 2 ** 19, bytes(2 ** 20))

    await asyncio.gather(uploader(), *(adder(number) for number in range(16)))

asyncio.run(main())
"""


@pytest.mark.parametrize(("seconds", "fsync"), [(0.1, "1"), (0.4, "1"), (0.4, "0")])
async def test_whatever_add_returned_for_survives_a_kill(tmp_path: Path, seconds: float, fsync: str) -> None:
    told: list[tuple[str, bytes]] = []
    for _ in range(2):
        with subprocess.Popen(  # noqa: ASYNC220 - it is read to its end below
            [sys.executable, "-c", ADDER, tmp_path, "0", fsync], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
        ) as adder:
            assert adder.stdout is not None
            lines = [adder.stdout.readline()]
            time.sleep(seconds)  # noqa: ASYNC251 - it is the other process that goes on
            adder.kill()
            lines += adder.stdout.readlines()
        told += [(line.split()[0].decode(), line.split()[1]) for line in lines if line.endswith(b"\n")]
    assert len(told) >= 2  # as many as the machine stored in that time
    store = await Store.open(tmp_path, lambda _: None)
    (endpoint,) = store.endpoints.all()
    for capture_id, body in told:
        assert await store.captures.body(capture_id) == body
    assert store.captures.counts(endpoint.id) == recount(tmp_path)[endpoint.id]
    assert kept_bytes(tmp_path) == recount_bytes(tmp_path)
    assert store.captures.counts(endpoint.id).total >= len(told)
    await until(lambda: query(tmp_path, "SELECT count(*) FROM loose_body") == [(0,)])
    assert query(tmp_path, "SELECT count(*) FROM capture_body WHERE length(data) >= ?", PART_SIZE // 2) == [(0,)]
    assert query(tmp_path, "PRAGMA integrity_check") == [("ok",)]
    assert kept_bytes(tmp_path)[0] == 0
    assert store.limits.use().used == store.captures.counts(endpoint.id).stored_bytes
    assert query(tmp_path, "PRAGMA foreign_key_check") == []
    await store.close()


async def test_a_kill_while_the_oldest_go_leaves_the_bytes_counted_right(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: ASYNC220 - it is read to its end below
        [sys.executable, "-c", ADDER, tmp_path, str(2**20), "1"], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as adder:
        assert adder.stdout is not None
        told = [adder.stdout.readline() for _ in range(1_500)]
        adder.kill()
        told += adder.stdout.readlines()
    store = await Store.open(tmp_path, lambda _: None)
    (endpoint,) = store.endpoints.all()
    # The oldest may be on their way out still: between two looks at the file, and in memory a moment later than there.
    await until(lambda: kept_bytes(tmp_path)[endpoint.id] == recount_bytes(tmp_path)[endpoint.id])
    await until(lambda: store.captures.counts(endpoint.id) == recount(tmp_path)[endpoint.id])
    kept = [summary.id for summary in await store.captures.page(endpoint.id, limit=2_000)]
    assert 400 < len(kept) < len(told)
    newest = [line.split()[0].decode() for line in told[-200:] if line.endswith(b"\n")]
    assert set(newest) <= set(kept)
    await store._cleanup.run()
    assert store.limits.use().used == sum(kept_bytes(tmp_path).values()) == sum(recount_bytes(tmp_path).values())
    await store.close()
