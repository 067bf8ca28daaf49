"""Notices that nobody reads the output any more, for commands that may print nothing for long."""

from __future__ import annotations

import asyncio
import os
import select
import stat
import sys
from typing import TextIO

POLL_S = 0.5


async def until_closed(out: TextIO) -> None:
    """Return when the pipe that `out` writes to is closed at its other end; never for anything else."""
    if sys.platform == "win32" or not _is_pipe(out):
        await asyncio.Event().wait()
        return
    poll = select.poll()
    poll.register(out.fileno(), 0)  # POLLERR and POLLHUP are always reported
    while not poll.poll(0):  # noqa: ASYNC110 - what is waited for tells nobody
        await asyncio.sleep(POLL_S)


def _is_pipe(out: TextIO) -> bool:
    try:
        mode = os.fstat(out.fileno()).st_mode
    except (OSError, ValueError):  # not a file
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
