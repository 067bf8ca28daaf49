"""`hookline mark`: what the user puts on captured requests: read or unread, a star, a note."""

from __future__ import annotations

import argparse
from typing import Any

from app.cli.call import Call
from app.cli.errors import CliError, Exit
from app.cli.request_id import ID_HELP, request_ids
from app.cli.views import RequestMarks, RequestView
from app.core.rules import NOTE_MAX
from app.core.text import count_of

HELP = "mark captured requests: read or unread, a star, a note"
DETAILS = f"{HELP}. Starred or not, they are kept for their endpoint's days."
EXAMPLES = (
    ("Star the newest request and note something on it", 'hookline mark @last --star --note "charged twice"'),
    ("Find all that have a star", "hookline requests -q is:starred"),
)
MARKS = ("read", "starred", "note")


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    # What is not given is absent from the options, so that it stays as it is.
    parser = commands.add_parser(
        "mark",
        parents=shared,
        help=HELP,
        description=DETAILS,
        examples=EXAMPLES,
        argument_default=argparse.SUPPRESS,
    )
    parser.set_defaults(run=mark)
    parser.add_argument("ids", metavar="ID", nargs="+", help=ID_HELP)
    for (yes, yes_help), (no, no_help), dest in (
        (("--read", "as read"), ("--unread", "as unread"), "read"),
        (("--star", "with a star"), ("--unstar", "with no star"), "starred"),
    ):
        pair = parser.add_mutually_exclusive_group()
        pair.add_argument(yes, dest=dest, action="store_const", const=True, help=f"mark them {yes_help}")
        pair.add_argument(no, dest=dest, action="store_const", const=False, help=f"mark them {no_help}")
    note = parser.add_mutually_exclusive_group()
    note.add_argument("--note", metavar="TEXT", help=f"write this about them, at most {NOTE_MAX:,} characters")
    note.add_argument("--no-note", dest="note", action="store_const", const=None, help="remove their notes")


async def mark(call: Call) -> int:
    """Mark those that are stored; 1 when one is not."""
    marks: RequestMarks = {name: getattr(call.options, name) for name in MARKS if hasattr(call.options, name)}
    if not marks:
        raise CliError("Name how to mark them; hookline mark --help lists it.", Exit.USAGE)
    ids, missing = await request_ids(call.api, call.options.ids)
    marked: list[RequestView] = []
    for identity in ids:
        try:
            marked.append(await call.api.mark(identity, marks))
        except CliError as error:
            if error.code is not Exit.NO:
                raise
            missing.append(error)
    if call.out.as_json:
        call.out.json(marked)
    elif marked:
        call.out.line(f"Marked {count_of(len(marked), 'request')}.")
    for refusal in missing:
        call.out.note(str(refusal))
    return Exit.NO if missing else Exit.DONE
