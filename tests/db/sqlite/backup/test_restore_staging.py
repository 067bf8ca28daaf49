"""A backup that is staged while the store is in use, and a Hookline that closes meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event as Flag

import pytest

from app.db.sqlite.restore import STAGED_NAME, RestoreStaging
from app.db.sqlite.store import Store
from tests import factories

PATIENCE_S = 60.0


async def test_nothing_is_left_running_or_staged_when_hookline_closes(tmp_path: Path) -> None:
    store = await Store.open(tmp_path, lambda _: None)
    await store.endpoints.create(factories.draft())
    await store.close()
    backup = (tmp_path / "hookline.db").rename(tmp_path / "backup.db")
    began, go = Flag(), Flag()

    def disk_reserve() -> int:
        """Asked on the thread that stages."""
        began.set()
        go.wait(PATIENCE_S)
        return 0

    data = tmp_path / "data"
    data.mkdir()
    staging = RestoreStaging(data, disk_reserve)
    task = asyncio.create_task(staging.stage(backup))
    assert await asyncio.to_thread(began.wait, PATIENCE_S)
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not (data / STAGED_NAME).exists()
    contents = await RestoreStaging(data, lambda: 0).stage(backup)
    assert contents is not None
    assert contents.endpoints == 1
