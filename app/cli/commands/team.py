"""`hookline team`: the roles of a team's store."""

from __future__ import annotations

import os

from app.cli.call import LocalCall
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.core.role import Role
from app.core.settings import STORE_VARIABLE, store_error

EXAMPLES = {"init": (("Make the tables and the roles", "hookline team init postgresql://admin@db.example.com/team"),)}
DETAILS = (
    "Makes a team's store: its tables, and a role for each thing that a user of the database may do there. Give each"
    " user one of them; without, a user cannot use the store. May be run again, also where nodes are running."
)
MAY = {
    Role.CAPTURE: "captures; reads no request and changes no endpoint",
    Role.READER: "sees everything and changes nothing",
    Role.MEMBER: "does everything",
}


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    team = commands.noun("team", "make a team's store, and roles for its users", DETAILS, examples=EXAMPLES)
    init = team.verb("init", init_team, "make the tables and the roles capture, reader and member", local=True)
    init.add_argument(
        "address",
        metavar="ADDRESS",
        nargs="?",
        help=f"the store, such as postgresql://USER@HOST/DATABASE; if omitted, the one that {STORE_VARIABLE} names",
    )


async def init_team(call: LocalCall) -> int:
    import asyncio  # start-up time: the shells' completions load this module

    given = call.options.address
    if wrong := store_error(given):
        raise CliError(wrong, Exit.USAGE)
    address = given or os.environ.get(STORE_VARIABLE)
    if not address:
        raise CliError(f"Say which store: hookline team init ADDRESS, or set {STORE_VARIABLE}.", Exit.USAGE)
    roles = await asyncio.to_thread(call.services.init_team, address)
    if call.out.as_json:
        call.out.json(roles)
        return Exit.DONE
    width = max(map(len, roles.values()))
    call.out.line("The store has its tables and these roles:")
    for role, name in roles.items():
        call.out.line(f"  {name:<{width}}  {MAY[role]}")
    call.out.line(f"Give each user of the database one, such as: GRANT {roles[Role.MEMBER]} TO ann;")
    return Exit.DONE
