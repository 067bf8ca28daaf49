"""`hookline replays`: what was replayed, how far it is; pause, resume, cancel."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from app.cli.argument_types import row_count
from app.cli.call import Call
from app.cli.commands.replay import (
    destination_text,
    is_running,
    outcome_text,
    progress_text,
    selection_text,
    show_to_its_end,
)
from app.cli.errors import CliError, Exit
from app.cli.identifiers import REPLAY_HELP, replay_id, with_short_ids
from app.cli.output import GREEN, RED, Output
from app.cli.table import Column, Row
from app.cli.text import brief_time, when_text

if TYPE_CHECKING:
    from hookline.calls import Call as ApiCall
    from hookline.records import FullReplay, Replay

HELP = "list replays, or show, pause, resume or cancel one"
DETAILS = (
    f"{HELP}. A replay is interrupted when Hookline ends before it does; --resume sends the rest. If Hookline is not"
    " running, --resume waits for the end of the replay."
)
EXAMPLES = (
    ("See how far the last replay is, or its summary", "hookline replays @last"),
    ("Send no more for now", "hookline replays @last --pause"),
)
COLUMNS = (
    Column("ID"),
    Column("CREATED", left_out=2, short=brief_time, shortened=5),
    Column("STATE"),
    Column("TOTAL", left_out=4),
    Column("SENT", left_out=1),
    Column("DELIVERED", left_out=5),
    Column("FAILED", empty="0"),
    Column("REQUESTS", least=10, left_out=1),
    Column("TO", least=12, left_out=3, empty="their targets"),
)
VERBS = {"pause": "send no more until it is resumed", "resume": "continue it", "cancel": "send no more"}


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("replays", parents=shared, help=HELP, description=DETAILS, examples=EXAMPLES)
    parser.set_defaults(run=replays, waits=True, verb=None)
    parser.add_argument("id", metavar="REPLAY", nargs="?", help=REPLAY_HELP)
    verbs = parser.add_mutually_exclusive_group()
    for verb, text in VERBS.items():
        verbs.add_argument(f"--{verb}", dest="verb", action="store_const", const=verb, help=text)
    parser.add_argument("-n", dest="count", type=row_count, metavar="N", default=50, help="maximum number to list (50)")


async def replays(call: Call) -> int:
    options = call.options
    if options.id is None:
        if options.verb is not None:
            raise CliError(f"Name the replay to {options.verb}. See hookline replays.", Exit.USAGE)
        return await _list(call)
    identity = await replay_id(call.api, options.id)
    asked: ApiCall[FullReplay] = getattr(call.api.replays.asked, options.verb or "get")(identity)
    replay = await call.api.answer(asked)
    if options.verb == "resume" and not await is_running(call):
        return await show_to_its_end(call, replay)
    return call.show(replay, _show if options.verb is None else _cancelled if options.verb == "cancel" else _outcome)


async def _list(call: Call) -> int:
    async def rows(found: AsyncIterator[Replay]) -> AsyncIterator[Row]:
        async for identity, replay in with_short_ids(call.out, found):
            yield _row(replay, identity)

    asked = call.api.replays.asked.list(call.options.count)
    await call.show_list(asked, COLUMNS, rows, "Nothing has been replayed yet.")
    return Exit.DONE


def _row(replay: Replay, identity: str) -> Row:
    progress = replay.progress
    cells = (
        identity,
        when_text(replay.created_at),
        replay.state,
        "-" if progress.total is None else str(progress.total),
        str(progress.sent),
        str(progress.delivered),
        str(progress.failed),
        selection_text(replay),
        destination_text(replay),
    )
    return cells, ("", "", GREEN if replay.state == "done" else "", "", "", "", RED if progress.failed else "")


def _outcome(out: Output, replay: Replay) -> None:
    out.line(outcome_text(replay))


def _cancelled(out: Output, replay: Replay) -> None:
    out.line(outcome_text(replay) if replay.ended else "Cancelling; what is being sent is not cut off.")


def _show(out: Output, replay: Replay) -> None:
    out.field("ID", replay.id)
    out.field("Created", when_text(replay.created_at))
    out.field("State", replay.state)
    out.field("Requests", selection_text(replay))
    out.field("To", destination_text(replay))
    out.field("Progress", outcome_text(replay) if replay.ended else progress_text(replay))
    if replay.problem:
        out.field("Problem", replay.problem)
    if replay.summary:
        out.line()
        for line in replay.summary.splitlines():
            out.line(line)
