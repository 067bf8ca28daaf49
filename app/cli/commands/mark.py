"""`hookline mark`: mark requests read or unread, star them, write a note."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from app.cli.call import Call
from app.cli.errors import CliError, Exit
from app.cli.identifiers import ID_HELP, each_id, request_id, slug_given
from app.core.rules import NOTE_MAX
from app.core.text import count_of

if TYPE_CHECKING:
    from app.cli.client import Answer
    from hookline.records import Request

HELP = "mark requests as read or unread, star them, or add a note"
DETAILS = f"{HELP}. Marks do not protect a request from retention."
EXAMPLES = (
    ("Star the newest request and add a note", 'hookline mark @last --star --note "charged twice"'),
    ("Mark all requests of an endpoint as read", "hookline mark --endpoint stripe --read"),
    ("Find all starred requests", "hookline requests -q is:starred"),
)
MARKS = ("read", "starred", "note")


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    # Absent options are missing from the namespace, so that those marks stay.
    parser = commands.add_parser(
        "mark",
        parents=shared,
        help=HELP,
        description=DETAILS,
        examples=EXAMPLES,
        argument_default=argparse.SUPPRESS,
    )
    parser.set_defaults(run=mark)
    parser.add_argument("ids", metavar="ID", nargs="*", default=[], help=ID_HELP)
    text = "with --read, in place of IDs: all requests of this endpoint"
    parser.add_argument("--endpoint", metavar="SLUG", help=text)
    for (yes, yes_help), (no, no_help), dest in (
        (("--read", "mark as read"), ("--unread", "mark as unread"), "read"),
        (("--star", "add a star"), ("--unstar", "remove the star"), "starred"),
    ):
        pair = parser.add_mutually_exclusive_group()
        pair.add_argument(yes, dest=dest, action="store_const", const=True, help=yes_help)
        pair.add_argument(no, dest=dest, action="store_const", const=False, help=no_help)
    note = parser.add_mutually_exclusive_group()
    note.add_argument("--note", metavar="TEXT", help=f"set the note, up to {NOTE_MAX:,} characters")
    note.add_argument("--no-note", dest="note", action="store_const", const=None, help="remove the note")


async def mark(call: Call) -> int:
    """Mark the requests that exist; exit code 1 when one does not."""
    marks: dict[str, Any] = {name: getattr(call.options, name) for name in MARKS if hasattr(call.options, name)}
    if not marks:
        raise CliError("Nothing to change. See hookline mark --help for the options.", Exit.USAGE)
    if hasattr(call.options, "endpoint"):
        return await _mark_endpoint(call, marks)
    if not call.options.ids:
        raise CliError("Name at least one request by its ID, or an endpoint with --endpoint.", Exit.USAGE)
    ids, missing = await each_id(call.api, request_id, call.options.ids)
    marked: list[Answer[Request]] = []
    for identity in ids:
        try:
            marked.append(await call.api.answer(call.api.requests.asked.mark(identity, **marks)))
        except CliError as error:
            if error.code is not Exit.FAILURE:
                raise
            missing.append(error)
    if call.out.as_json:
        call.out.json([answer.json for answer in marked])
    elif marked:
        call.out.line(f"Marked {count_of(len(marked), 'request')}.")
    for refusal in missing:
        call.out.message(str(refusal))
    return Exit.FAILURE if missing else Exit.DONE


async def _mark_endpoint(call: Call, marks: dict[str, Any]) -> int:
    """Mark all requests of an endpoint as read."""
    if call.options.ids or marks != {"read": True}:
        raise CliError("--endpoint works only with --read, and without IDs.", Exit.USAGE)
    endpoint = await call.api.endpoints.get(slug_given(call.options.endpoint))
    await call.api.requests.mark_all_read(endpoint.slug)
    if call.out.as_json:
        call.out.json({"read": endpoint.slug, "requests": endpoint.unread_count})
    else:
        call.out.line(f"Marked {count_of(endpoint.unread_count, 'request')}.")
    return Exit.DONE
