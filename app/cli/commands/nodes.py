"""`hookline nodes`: the programs that run on the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.command import Commands
from app.cli.errors import Exit
from app.cli.output import when_text
from app.cli.table import Column, Table

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


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    commands.add("nodes", HELP, DETAILS, EXAMPLES, run=nodes)


async def nodes(call: Call) -> int:
    answer = await call.api.answer(call.api.asked.nodes())
    if call.out.as_json:
        call.out.json(answer.json["items"])
        return Exit.DONE
    with Table(call.out, COLUMNS) as table:
        for node in answer.value:
            table.add(node)
    return Exit.DONE
