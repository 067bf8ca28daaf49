"""`hookline backup`: write a backup of the database, also while Hookline captures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.call import Call
from app.cli.errors import CliError, Exit
from app.cli.options import absolute_path
from app.cli.output import Output
from app.core.backup import damaged_text
from app.core.text import size_text

if TYPE_CHECKING:
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
    from app.cli.backup_progress import run_backup  # start-up time: it loads asyncio

    path = absolute_path(call.options.file)
    answer = await run_backup(call, path, overwrite=call.options.force)
    ended = answer.value
    if ended.state == "failed":
        raise CliError(ended.problem or "The backup failed.", Exit.ENVIRONMENT)
    if ended.state == "cancelled":
        raise CliError("The backup was cancelled. No file was written.", Exit.INTERRUPTED)
    return call.show(answer, _print)


def _print(out: Output, backup: Backup) -> None:
    out.line(f"Backed up to {backup.path} ({size_text(backup.size)}).")
    if backup.damaged_bodies:
        out.message(damaged_text(backup.damaged_bodies) + " To see the first: hookline doctor --full")
