"""`hookline backup`: write a backup of the database; `hookline restore`: put one in its place."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.call import Call, LocalCall
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.options import absolute_path
from app.cli.output import Output, ProgressLine, add_yes, confirm
from app.core.backup import (
    BackupContents,
    BackupStep,
    contents_text,
    damaged_text,
    progress_text,
    start_text,
)
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


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    _add_backup(commands)
    _add_restore(commands)


def _add_backup(commands: Commands) -> None:
    parser = commands.add("backup", HELP, DETAILS, EXAMPLES, run=backup)
    parser.add_argument("file", metavar="FILE", type=Path, help="the file to write")
    parser.add_argument("--force", action="store_true", default=False, help="replace the file if it exists")


def backup(call: Call) -> int:
    path = absolute_path(call.options.file)
    try:
        begun = call.api.answer(call.api.asked.start_backup(str(path), overwrite=call.options.force))
        answer = call.until_ended(begun, call.api.asked.backup(), _progress)
    except KeyboardInterrupt:
        answer = _cancel(call, path)
    ended = answer.value
    if ended.state == "failed":
        raise CliError(ended.problem or "The backup failed.", Exit.ENVIRONMENT)
    if ended.state == "cancelled":
        raise CliError("The backup was cancelled. No file was written.", Exit.INTERRUPTED)
    return call.show(answer, _print_backup)


def _progress(backup: Backup) -> str | None:
    running = backup.state == "running"
    return progress_text(backup.step, backup.done_bytes, backup.total_bytes) if running else None


def _cancel(call: Call, path: Path) -> Answer[Backup]:
    """It may not have begun yet; then another one is left alone."""
    with contextlib.suppress(CliError):
        if call.api.answer(call.api.asked.backup()).value.path == str(path):
            return call.api.answer(call.api.asked.cancel_backup())
    raise CliError("The backup was cancelled before it began.", Exit.INTERRUPTED)


def _print_backup(out: Output, backup: Backup) -> None:
    out.line(f"Backed up to {backup.path} ({size_text(backup.size)}).")
    if backup.damaged_bodies:
        out.message(damaged_text(backup.damaged_bodies) + " To see the first: hookline doctor --full")


RESTORE_HELP = "replace the database by a backup; the database is kept beside it"
RESTORE_DETAILS = (
    "Checks the backup, asks, and puts it in the place of the database, which is kept in the data folder under another"
    " name. Hookline must not be running on that folder. A backup of an older version is upgraded, the file itself is"
    " not changed. Ctrl-C cancels."
)
RESTORE_EXAMPLES = (
    ("Restore a backup", "hookline restore /mnt/backup/hookline.db"),
    ("Look at a backup in a folder of its own", "hookline restore backup.db --data-dir /tmp/look --yes"),
)


def _add_restore(commands: Commands) -> None:
    parser = commands.add("restore", RESTORE_HELP, RESTORE_DETAILS, RESTORE_EXAMPLES, run_local=restore)
    parser.add_argument("file", metavar="FILE", type=Path, help="a file that hookline backup has written")
    add_yes(parser)


def restore(call: LocalCall) -> int:
    file, accepted = absolute_path(call.options.file), []
    with ProgressLine(call.out) as line:

        def report(step: BackupStep, done: int, total: int) -> None:
            line.show(progress_text(step, done, total))

        def accept(contents: BackupContents) -> None:
            line.show("")
            confirm(call.options, _question(call.folder, file, contents), "Restoring", "Nothing was restored.")
            accepted.append(contents)

        kept = call.services.restore(call.folder, file, report, accept)
    contents = accepted[0]
    if call.out.as_json:
        call.out.json(
            {
                "data_folder": str(call.folder),
                "endpoints": contents.endpoints,
                "requests": contents.requests,
                "expired": contents.expired,
                "queued": contents.queued,
                "damaged_bodies": contents.damaged_bodies,
                "previous_database": None if kept is None else str(kept),
            }
        )
        return Exit.DONE
    call.out.line(f"Restored {contents_text(contents)}.")
    if contents.damaged_bodies:
        call.out.message(damaged_text(contents.damaged_bodies))
    if start_text(contents):
        call.out.line(start_text(contents))
    if kept is not None:
        call.out.line(f"The previous database is kept as {kept}. Delete it when you no longer need it.")
    return Exit.DONE


def _question(folder: Path, file: Path, contents: BackupContents) -> str:
    holds = f"{file} holds {contents_text(contents)}."
    question = f"Replace the database in {folder} by it? The database is kept beside it."
    damage = damaged_text(contents.damaged_bodies)
    return " ".join(filter(None, (holds, damage, start_text(contents), question)))
