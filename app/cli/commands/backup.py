"""`hookline backup`: write a backup of the database, also while Hookline captures."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.call import Call
from app.cli.errors import CliError, Exit
from app.cli.options import absolute_path
from app.cli.output import Output
from app.cli.progress import uncancel, until_ended
from app.core.backup import damaged_text, progress_text
from app.core.text import size_text

if TYPE_CHECKING:
    from app.cli.client import Answer
    from hookline.records import Backup

HELP = "write a backup of the database to a file, also while Hookline captures"
DETAILS = (
    "Writes all endpoints and requests, as they are when the backup begins, to one file that hookline restore reads."
    " Captures go on meanwhile. Settings and the API token are not part of it. Ctrl-C cancels and leaves no file."
)
EXAMPLES = (
    ("Back up to another disk", "hookline backup /mnt/backup/hookline.db"),
    ("Replace yesterday's backup", "hookline backup ~/hookline-backup.db --force"),
)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("backup", parents=shared, help=HELP, description=DETAILS, examples=EXAMPLES)
    parser.set_defaults(run=backup, waits=True)
    parser.add_argument("file", metavar="FILE", type=Path, help="the file to write")
    parser.add_argument("--force", action="store_true", default=False, help="replace the file if it exists")


async def backup(call: Call) -> int:
    import asyncio  # start-up time: the shells' completions load this module

    path = absolute_path(call.options.file)
    try:
        begun = await call.api.answer(call.api.asked.start_backup(str(path), overwrite=call.options.force))
        answer = await until_ended(call.out, begun, lambda: call.api.answer(call.api.asked.backup()), _progress)
    except asyncio.CancelledError:
        uncancel()
        answer = await _cancel(call, path)
    ended = answer.value
    if ended.state == "failed":
        raise CliError(ended.problem or "The backup failed.", Exit.ENVIRONMENT)
    if ended.state == "cancelled":
        raise CliError("The backup was cancelled. No file was written.", Exit.INTERRUPTED)
    return call.show(answer, _print)


def _progress(backup: Backup) -> str | None:
    running = backup.state == "running"
    return progress_text(backup.step, backup.done_bytes, backup.total_bytes) if running else None


async def _cancel(call: Call, path: Path) -> Answer[Backup]:
    """It may not have begun yet; then another one is left alone."""
    with contextlib.suppress(CliError):
        if (await call.api.answer(call.api.asked.backup())).value.path == str(path):
            return await call.api.answer(call.api.asked.cancel_backup())
    raise CliError("The backup was cancelled before it began.", Exit.INTERRUPTED)


def _print(out: Output, backup: Backup) -> None:
    out.line(f"Backed up to {backup.path} ({size_text(backup.size)}).")
    if backup.damaged_bodies:
        out.message(damaged_text(backup.damaged_bodies) + " To see the first: hookline doctor --full")
