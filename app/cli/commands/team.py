"""`hookline nodes` and `hookline team`: the programs that run on a team's store, and its roles; `hookline store copy`:
move to one, or back."""

from __future__ import annotations

import os
import signal
from argparse import ArgumentTypeError
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from app.cli.call import Call, LocalCall
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.options import absolute_path
from app.cli.output import Column, Output, ProgressLine, print_table, when_text
from app.core.backup import CopiedStore, copy_progress_text, damaged_text
from app.core.settings import STORE_VARIABLE, is_store_address, says_password, store_error
from app.core.team import Role
from app.core.text import count_of

if TYPE_CHECKING:
    from hookline.records import Node


HELP = "list the programs that run on a team's store, and what each does for all of them"
DETAILS = (
    f"{HELP}: sending to a target, deleting by age or for storage limits. Where none runs on this data folder, the"
    " command itself is one."
)
EXAMPLES = (
    ("See which nodes are alive", "hookline nodes"),
    ("Count them in a script", "hookline nodes --json | jq length"),
)
COLUMNS: tuple[Column[Node], ...] = (
    Column("NODE", lambda one: str(one.number)),
    Column("VERSION", lambda one: one.version, left_out=2),
    Column("STARTED", lambda one: when_text(one.started_at), left_out=3),
    Column("SEEN", lambda one: when_text(one.seen_at), left_out=1),
    Column("HERE", lambda one: "yes" if one.current else "no"),
    Column("JOBS", lambda one: ", ".join(one.jobs) or "-", least=8),
)


TEAM_EXAMPLES = {
    "init": (("Make the tables and the roles", "hookline team init postgresql://admin@db.example.com/team"),)
}
TEAM_DETAILS = (
    "Makes a team's store: its tables, and a role for each thing that a user of the database may do there. Give each"
    " user one of them; without, a user cannot use the store. May be run again, also where nodes are running."
)
MAY = {
    Role.CAPTURE: "captures; reads no request and changes no endpoint",
    Role.READER: "sees everything and changes nothing",
    Role.MEMBER: "does everything",
}


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    commands.add("nodes", HELP, DETAILS, EXAMPLES, run=nodes)
    help_ = "make a team's store, and roles for its users"
    verb = commands.noun("team", help_, TEAM_DETAILS, examples=TEAM_EXAMPLES)
    init = verb("init", init_team, "make the tables and the roles capture, reader and member", local=True)
    init.add_argument(
        "address",
        metavar="ADDRESS",
        nargs="?",
        default=None,
        help=f"the store, such as postgresql://USER@HOST/DATABASE; if omitted, the one that {STORE_VARIABLE} names",
    )
    _add_store(commands)


def nodes(call: Call) -> int:
    asked = call.api.asked.nodes()
    return call.send(asked, lambda out, found: print_table(out, COLUMNS, found), "items")


def init_team(call: LocalCall) -> int:
    given = call.options.address
    if wrong := store_error(given):
        raise CliError(wrong, Exit.USAGE)
    address = given or os.environ.get(STORE_VARIABLE)
    if not address:
        raise CliError(f"Say which store: hookline team init ADDRESS, or set {STORE_VARIABLE}.", Exit.USAGE)
    roles = call.services.init_team(address)
    if call.out.as_json:
        call.out.json(roles)
        return Exit.DONE
    width = max(map(len, roles.values()))
    call.out.line("The store has its tables and these roles:")
    for role, name in roles.items():
        call.out.line(f"  {name:<{width}}  {MAY[role]}")
    call.out.line(f"Give each user of the database one, such as: GRANT {roles[Role.MEMBER]} TO ann;")
    return Exit.DONE


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

        before = signal.getsignal(signal.SIGINT)  # first, as it may be pressed at once
        signal.signal(signal.SIGINT, end)
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
