"""Detects that the program's own file was replaced or removed while it runs, and restarts the program."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from app.core.record import Record
from app.system import installation

LOOK_S = 60.0

FileStamp = tuple[int, int, int, int]


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
    """The file at `path` as it was when this object was created, as early as possible in a run."""

    def __init__(self, path: Path) -> None:
        self._path, self._known = path, _stamp(path)

    async def changes(self, pause_s: float | None = None) -> AsyncIterator[Change]:
        """Each change, checked every `pause_s` seconds, by default a minute.

        An installer may remove the old file before it writes the new one, so only a file that stays away counts as
        removed.
        """
        missed = 0
        while self._known is not None:
            await asyncio.sleep(LOOK_S if pause_s is None else pause_s)
            # A file on a network may be slow.
            stamp = await asyncio.to_thread(_stamp, self._path)
            missed = 0 if stamp else missed + 1
            if missed == 2:
                yield REMOVED
            elif stamp and stamp != self._known:
                self._known = stamp
                yield UPDATED


def start(arguments: Sequence[str]) -> None:
    """Restart the program as a separate process; OSError when it cannot be started."""
    detached = getattr(subprocess, "DETACHED_PROCESS", 0) if sys.platform == "win32" else 0
    process = subprocess.Popen(
        [*installation.command(), *arguments], stdin=subprocess.DEVNULL, start_new_session=True, creationflags=detached
    )
    process.returncode = 0  # nobody waits for it, and this process ends first


def _stamp(path: Path) -> FileStamp | None:
    """The identity of a file's version, None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
