"""`hookline restore`: put a backup in the place of the database."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from app.cli.call import LocalCall
from app.cli.confirm import add_yes, confirm
from app.cli.errors import Exit
from app.cli.options import absolute_path
from app.cli.progress import ProgressLine
from app.core.backup import BackupContents, BackupStep, contents_text, damaged_text, progress_text, start_text

HELP = "replace the database by a backup; the database is kept beside it"
DETAILS = (
    "Checks the backup, asks, and puts it in the place of the database, which is kept in the data folder under another"
    " name. Hookline must not be running on that folder. A backup of an older version is upgraded, the file itself is"
    " not changed. Ctrl-C cancels."
)
EXAMPLES = (
    ("Restore a backup", "hookline restore /mnt/backup/hookline.db"),
    ("Look at a backup in a folder of its own", "hookline restore backup.db --data-dir /tmp/look --yes"),
)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("restore", parents=shared, help=HELP, description=DETAILS, examples=EXAMPLES)
    parser.set_defaults(run_local=restore)
    parser.add_argument("file", metavar="FILE", type=Path, help="a file that hookline backup has written")
    add_yes(parser)


async def restore(call: LocalCall) -> int:
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
