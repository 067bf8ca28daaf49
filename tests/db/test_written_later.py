"""What nothing depends on is written a little later, and is given up once the writer is closed."""

from __future__ import annotations

import asyncio
from typing import cast

from app.core.errors import StorageUnavailableError
from app.db.writer_thread import Job, WriterThread, WrittenLater


class ClosedWriter:
    def __init__(self) -> None:
        self.asked = 0

    def put(self, _: Job) -> None:
        self.asked += 1
        raise StorageUnavailableError("Hookline is closing: nothing is stored any more.")


async def test_a_closed_writer_is_not_asked_again_and_again() -> None:
    writer = ClosedWriter()
    later = WrittenLater[int](cast(WriterThread, writer), lambda *_: None, "numbers", delay_s=0.01)
    later.add(1)
    await asyncio.sleep(0.1)
    assert writer.asked == 1
    later.add(2)
    await asyncio.sleep(0.1)
    assert writer.asked == 1
