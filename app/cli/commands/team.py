"""`hookline nodes` and `hookline team`: the programs that run on a team's store, and its roles."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from app.cli.call import Call, LocalCall
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.output import Column, print_table, when_text
from app.core.settings import STORE_VARIABLE, store_error
from app.core.team import Role

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
