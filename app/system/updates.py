"""Notices that the program's own file was replaced or removed while it runs, and restarts the program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from app.core.model import Record
from app.system import installation

LOOK_S = 60.0

Mark = tuple[int, int, int, int]


class Change(Record, frozen=True):
    """What happened to the program, and what to do about it. `startable`: whether there is a program to start."""

    text: str
    advice: str
    startable: bool


UPDATED = Change(
    text="Hookline was updated while it was running.",
    advice="Hookline keeps capturing. Restart Hookline to use the new version.",
    startable=True,
)
REMOVED = Change(
    text="Hookline was removed from this computer while it was running.",
    advice="Hookline keeps capturing until you close it. Your requests stay in the data folder.",
    startable=False,
)


class ProgramFile:
    """The file at `path` as it was when this was made: as early as can be in the life of the program."""

    def __init__(self, path: Path) -> None:
        self._path, self._known = path, _mark(path)

    async def changes(self, pause_s: float | None = None) -> AsyncIterator[Change]:
        """Each change of it, looked for every `pause_s` seconds, by default a minute.

        An installer may take the old file away before it lays down the new one: it is removed when it stays away.
        """
        missed = 0
        while self._known is not None:
            await asyncio.sleep(LOOK_S if pause_s is None else pause_s)
            # A file on a network can keep one waiting.
            mark = await asyncio.to_thread(_mark, self._path)
            missed = 0 if mark else missed + 1
            if missed == 2:
                yield REMOVED
            elif mark and mark != self._known:
                self._known = mark
                yield UPDATED


def start(arguments: Sequence[str]) -> None:
    """Restart the program as a separate process; OSError when it cannot be started."""
    detached = getattr(subprocess, "DETACHED_PROCESS", 0) if sys.platform == "win32" else 0
    process = subprocess.Popen(
        [*installation.command(), *arguments], stdin=subprocess.DEVNULL, start_new_session=True, creationflags=detached
    )
    process.returncode = 0  # nobody waits for it, and this process ends first


def _mark(path: Path) -> Mark | None:
    """What identifies a file, None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
