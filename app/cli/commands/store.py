"""`hookline store copy`: copy a store into a new one."""

from __future__ import annotations

import signal
from argparse import ArgumentTypeError
from pathlib import Path
from threading import Event

from app.cli.call import LocalCall
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.options import absolute_path
from app.cli.output import Output, ProgressLine
from app.core.backup import CopiedStore, copy_progress_text, damaged_text
from app.core.settings import is_store_address, says_password
from app.core.text import count_of

HELP = "move endpoints and requests between a data folder and a team's store"
COPY_HELP = "copy a store into a new one"
COPY_DETAILS = (
    "Copies endpoints, targets, requests, deliveries and replays, and compares the copy with the original, which is"
    " only read. FROM and TO are each a data folder, or the address of a team's store, whose password is in ~/.pgpass."
    " TO has to be new, and no Hookline may run on either. Whatever ends it, the same command goes on where it stopped."
)
EXAMPLES = {
    "copy": (
        ("Move to a team's store", "hookline store copy ~/.local/share/hookline service=team"),
        ("Move back to a folder", "hookline store copy postgresql://ann@db.example.com/team ~/team"),
    ),
}


def add_parser(commands: Commands) -> None:
    """Add the noun and its verb to the command line."""
    verb = commands.noun("store", HELP, examples=EXAMPLES, shared=("json",))
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
        _print(call.out, copied, str(target))
    return Exit.DONE


def _print(out: Output, copied: CopiedStore, target: str) -> None:
    counts = f"{count_of(copied.endpoints, 'endpoint')} and {count_of(copied.requests, 'request')}"
    out.line(f"Copied {counts} to {target}.")
    if copied.queued:
        deliveries = count_of(copied.queued, "queued delivery", "queued deliveries")
        out.line(f"{deliveries} will be sent from there. Do not start Hookline on the original, or it sends them, too.")
    if copied.damaged:
        out.message(f"{damaged_text(len(copied.damaged))} They are as the original has them, of these requests:")
        for request_id in copied.damaged:
            out.line(request_id)
