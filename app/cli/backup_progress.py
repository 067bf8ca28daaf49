"""Follows a backup to its end, with a line on the terminal that is updated meanwhile; Ctrl-C cancels the backup."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.client import Answer
from app.cli.errors import CliError, Exit
from app.cli.progress_line import ProgressLine
from app.core.backup import progress_text

if TYPE_CHECKING:
    from hookline.records import Backup

FIRST_POLL_S, POLL_S = 0.02, 0.25


async def run_backup(call: Call, path: Path, *, overwrite: bool) -> Answer[Backup]:
    """Begin a backup to the absolute `path`; returns it once it has ended."""
    pause_s = FIRST_POLL_S
    try:
        backup = await call.api.answer(call.api.asked.start_backup(str(path), overwrite=overwrite))
        with ProgressLine(call.out) as line:
            while (now := backup.value).state == "running":
                line.show(progress_text(now.step, now.done_bytes, now.total_bytes))
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, POLL_S)
                backup = await call.api.answer(call.api.asked.backup())
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        return await _cancel(call, path)
    return backup


async def _cancel(call: Call, path: Path) -> Answer[Backup]:
    """It may not have begun yet; then another one is left alone."""
    with contextlib.suppress(CliError):
        if (await call.api.answer(call.api.asked.backup())).value.path == str(path):
            return await call.api.answer(call.api.asked.cancel_backup())
    raise CliError("The backup was cancelled before it began.", Exit.INTERRUPTED)
