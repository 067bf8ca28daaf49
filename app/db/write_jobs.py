"""What the writer is given, and what it returns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from peewee import Database

from app.core.model import Capture
from app.core.target import Target

Add = tuple["asyncio.Future[int]", Capture, bytes, int | None, Sequence[Target], int | None, bytes, int, int]
"""A capture to store: the future that waits for its number, the record, its body or the last part of a long one, the
key of a body whose other parts are stored, the targets to queue it for, the endpoint's version, its headers as they are
stored, its total bytes, and how many are to be written now.

A tuple, because one is created for each request.
"""


class AdaptiveBatch:
    """How many rows a step of background work processes, so that it delays captures by about `TARGET_S`."""

    TARGET_S = 0.004

    def __init__(self, rows: int, least: int = 16, most: int = 4096) -> None:
        self.rows, self._least, self._most = rows, least, most

    def adapt(self, seconds: float) -> None:
        """Adjust to how long the last step took."""
        if seconds > self.TARGET_S:
            self.rows = max(self._least, self.rows // 2)
        elif seconds < self.TARGET_S / 3:
            self.rows = min(self._most, self.rows * 2)

    def use_smallest(self) -> None:
        """Continue with the smallest step, because there was no room for the last one."""
        self.rows = self._least


def nothing(_: object) -> None:
    """The default for writes that nothing in memory depends on."""


class Job:
    """One write. `after` runs on the loop, in the order of commits; `failed` runs instead when nothing was written."""

    __slots__ = ("after", "any_file", "batch", "cost", "failed", "in_transaction", "result", "run")

    def __init__(
        self,
        run: Callable[[Database], Any],
        after: Callable[[Any], None],
        failed: Callable[[Exception], None],
        batch: AdaptiveBatch | None = None,
        *,
        in_transaction: bool = True,
        cost: int = 0,
        any_file: bool = False,
    ) -> None:
        """With a `batch` it is background work; unless `in_transaction` it runs outside of a transaction. With
        `any_file` it runs also while the file is not Hookline's.

        `cost` is how many bytes senders make it store: the disk reserve must remain free.
        """
        self.run, self.after, self.failed = run, after, failed
        self.batch, self.in_transaction, self.cost, self.any_file = batch, in_transaction, cost, any_file
        self.result: Any = None


class JobResult:
    """The results of a group, passed to the loop in one call."""

    __slots__ = ("_began", "adds", "failures", "first_seq", "jobs", "seconds")

    def __init__(self) -> None:
        self.adds: list[Add] = []
        self.first_seq = 0
        """The number of the first of `adds`; those of the others follow."""
        self.jobs: list[Job] = []
        self.failures: list[tuple[Add | Job, Exception]] = []
        self._began = time.perf_counter()
        self.seconds = 0.0
        """How long it took to write and commit them."""

    def committed(self) -> None:
        """All of it is on disk, or has failed."""
        self.seconds = time.perf_counter() - self._began
