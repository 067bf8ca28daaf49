"""Stages a backup while the store is in use; it takes the database's place once the store is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from shutil import disk_usage
from threading import Event as Flag

from app.core.backup import BackupContents, BackupStep
from app.core.errors import BackupError
from app.data_folder.reserve_file import reserve_size
from app.db.sqlite.backup.restore import discard_staged, stage


class StagingCancelledError(Exception):
    """The user has cancelled it."""


class RestoreStaging:
    """One backup at a time. `disk_reserve` returns the setting in bytes. Used on the loop's thread."""

    def __init__(self, folder: Path, disk_reserve: Callable[[], int]) -> None:
        self._folder, self._disk_reserve = folder, disk_reserve
        self._cancelling = Flag()
        self._is_running = False
        self.progress: tuple[BackupStep, int, int] = ("copying", 0, 0)
        """The step, the bytes done and all bytes."""

    async def stage(self, file: Path) -> BackupContents | None:
        """Check the backup `file` and stage it; returns what it holds, None if it was cancelled. When it
        raises a HooklineError, nothing has changed."""
        if self._is_running:
            raise BackupError("Another backup is being checked. Wait for it, or cancel it.")
        self._is_running = True
        self._cancelling.clear()
        self.progress = ("copying", 0, 0)
        staging = asyncio.create_task(asyncio.to_thread(self._stage, file), name="staging of a backup")
        try:
            return await asyncio.shield(staging)
        except StagingCancelledError:
            return None
        except asyncio.CancelledError:  # Hookline is closing, and would wait for the thread
            self.cancel()
            await asyncio.gather(staging, return_exceptions=True)
            await self.discard()
            raise
        finally:
            self._is_running = False

    def cancel(self) -> None:
        """End the staging; nothing stays of it."""
        self._cancelling.set()

    async def discard(self) -> None:
        """Delete what was staged."""
        await asyncio.to_thread(discard_staged, self._folder)

    def _stage(self, file: Path) -> BackupContents:
        spare = reserve_size(self._disk_reserve(), disk_usage(self._folder).total)
        return stage(self._folder, file, self._report, spare)

    def _report(self, step: BackupStep, done: int, total: int) -> None:
        if self._cancelling.is_set():
            raise StagingCancelledError
        self.progress = (step, done, total)
