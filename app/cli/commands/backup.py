"""`hookline backup`: write a backup of the database; `hookline restore`: put one in its place; `hookline store copy`:
copy a store into a new one."""

from __future__ import annotations

import contextlib
import signal
from argparse import ArgumentTypeError
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from app.cli.call import Call, LocalCall
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.options import absolute_path
from app.cli.output import Output, ProgressLine, add_yes, confirm
from app.core.backup import (
    BackupContents,
    BackupStep,
    CopiedStore,
    contents_text,
    copy_progress_text,
    damaged_text,
    progress_text,
    start_text,
)
from app.core.settings import is_store_address, says_password
from app.core.text import count_of, size_text

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
    _add_store(commands)


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


STORE_HELP = "move endpoints and requests between a data folder and a team's store"
COPY_HELP = "copy a store into a new one"
COPY_DETAILS = (
    "Copies endpoints, targets, requests, deliveries and replays, and compares the copy with the original, which is"
    " only read. FROM and TO are each a data folder, or the address of a team's store, whose password is in ~/.pgpass."
    " TO has to be new, and no Hookline may run on either. Whatever ends it, the same command goes on where it stopped."
)
STORE_EXAMPLES = {
    "copy": (
        ("Move to a team's store", "hookline store copy ~/.local/share/hookline service=team"),
        ("Move back to a folder", "hookline store copy postgresql://ann@db.example.com/team ~/team"),
    ),
}


def _add_store(commands: Commands) -> None:
    verb = commands.noun("store", STORE_HELP, examples=STORE_EXAMPLES, shared=("json",))
    parser = verb("copy", copy, COPY_HELP, COPY_DETAILS, local=True)
    parser.add_argument("source", metavar="FROM", type=_store, help="the store to copy, which is only read")
    parser.add_argument("target", metavar="TO", type=_store, help="the new store; a folder is created if need be")


def _store(text: str) -> str | Path:
    if is_store_address(text):
        if says_password(text):
            raise ArgumentTypeError("leave out the password, which others could see; put it into ~/.pgpass")
        return text
    if "://" in text:
        raise ArgumentTypeError(
            f"{text.partition('://')[0]}:// begins no address of a store; use postgresql://USER@HOST/DATABASE,"
            " service=NAME or a data folder"
        )
    return absolute_path(Path(text))


def copy(call: LocalCall) -> int:
    if hasattr(call.options, "data_dir"):
        raise CliError("Name the data folder as FROM or TO, not with --data-dir.", Exit.USAGE)
    source, target, stop = call.options.source, call.options.target, Event()
    stopped = "Stopped before anything was copied."
    with ProgressLine(call.out) as line:

        def report(step: str, done: int, total: int) -> None:
            nonlocal stopped
            if stop.is_set():
                raise CliError(f"{stopped} To go on, run the same command again.", Exit.INTERRUPTED)
            stopped = f"Stopped while {step}: {done:,} of {count_of(total, 'request')} done."
            line.show(copy_progress_text(step, done, total))

        def end(*_: object) -> None:
            stop.set()
            signal.signal(signal.SIGINT, before)  # a second Ctrl-C does not wait for the next step

        before = signal.signal(signal.SIGINT, end)
        try:
            copied = call.services.copy_store(source, target, report)
        finally:
            signal.signal(signal.SIGINT, before)
    if call.out.as_json:
        call.out.json(
            {
                "endpoints": copied.endpoints,
                "requests": copied.requests,
                "queued": copied.queued,
                "damaged_bodies": list(copied.damaged),
            }
        )
    else:
        _print_copied(call.out, copied, str(target))
    return Exit.DONE


def _print_copied(out: Output, copied: CopiedStore, target: str) -> None:
    counts = f"{count_of(copied.endpoints, 'endpoint')} and {count_of(copied.requests, 'request')}"
    out.line(f"Copied {counts} to {target}.")
    if copied.queued:
        deliveries = count_of(copied.queued, "queued delivery", "queued deliveries")
        out.line(f"{deliveries} will be sent from there. Do not start Hookline on the original, or it sends them, too.")
    if copied.damaged:
        out.message(f"{damaged_text(len(copied.damaged))} They are as the original has them, of these requests:")
        for request_id in copied.damaged:
            out.line(request_id)
