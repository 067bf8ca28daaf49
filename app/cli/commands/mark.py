"""`hookline mark`: mark requests read or unread, star them, write a note; `hookline rm` and `hookline clear`: delete
single requests, or all of an endpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args

from app.cli.call import Call
from app.cli.command import Commands
from app.cli.errors import CliError, Exit
from app.cli.identifiers import ID_HELP, SLUG_HELP, each_id, request_id, slug_given
from app.cli.output import add_yes, confirm_delete
from app.core.model import Mark
from app.core.rules import NOTE_MAX
from app.core.text import count_of

T = TypeVar("T")

HELP = "mark requests as read or unread, star them, or add a note"
DETAILS = f"{HELP}. Marks do not protect a request from retention."
EXAMPLES = (
    ("Star the newest request and add a note", 'hookline mark @last --star --note "charged twice"'),
    ("Mark all requests of an endpoint as read", "hookline mark --endpoint stripe --read"),
    ("Find all starred requests", "hookline requests -q is:starred"),
)
MARKS = ("read", "starred", "note")


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    _add_mark(commands)
    _add_deleting(commands)


def _add_mark(commands: Commands) -> None:
    # Marks that are not given stay.
    parser = commands.add("mark", HELP, DETAILS, EXAMPLES, only_given=True, run=mark)
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


def mark(call: Call) -> int:
    """Mark the requests that exist; exit code 1 when one does not."""
    marks: dict[str, Any] = {name: getattr(call.options, name) for name in MARKS if hasattr(call.options, name)}
    if not marks:
        raise CliError("Nothing to change. See hookline mark --help for the options.", Exit.USAGE)
    if hasattr(call.options, "endpoint"):
        return _mark_endpoint(call, marks)
    if not call.options.ids:
        raise CliError("Name at least one request by its ID, or an endpoint with --endpoint.", Exit.USAGE)
    asked = call.api.requests.asked
    marked, missing = _each(call, lambda identity: call.api.answer(asked.mark(identity, **marks)))
    text = f"Marked {count_of(len(marked), 'request')}." if marked else None
    call.done([answer.json for answer in marked.values()], text)
    return _end(call, missing)


def _mark_endpoint(call: Call, marks: dict[str, Any]) -> int:
    """Mark all requests of an endpoint as read."""
    if call.options.ids or marks != {"read": True}:
        raise CliError("--endpoint works only with --read, and without IDs.", Exit.USAGE)
    endpoint = call.api.endpoints.get(slug_given(call.options.endpoint))
    call.api.requests.mark_all_read(endpoint.slug)
    count = endpoint.unread_count
    return call.done({"read": endpoint.slug, "requests": count}, f"Marked {count_of(count, 'request')}.")


KEPT = {
    ("starred",): "starred requests",
    ("noted",): "requests with notes",
    ("starred", "noted"): "starred requests and those with notes",
}
RM_HELP = "delete captured requests with their bodies and delivery results"
RM_EXAMPLES = (
    ("Delete the newest request", "hookline rm @last"),
    ("Delete every request that a search finds", "hookline rm --yes $(hookline requests -q is:read | cut -f1)"),
)
CLEAR_HELP = "delete all requests of an endpoint; the endpoint is kept"
CLEAR_EXAMPLES = (
    ("Start a test with an empty endpoint", "hookline clear stripe --yes"),
    ("Delete all requests except those you marked", "hookline clear stripe --keep-starred --keep-noted"),
)


def _add_deleting(commands: Commands) -> None:
    rm = commands.add("rm", RM_HELP, examples=RM_EXAMPLES, run=remove)
    rm.add_argument("ids", metavar="ID", nargs="+", help=ID_HELP)
    add_yes(rm)
    clear = commands.add("clear", CLEAR_HELP, examples=CLEAR_EXAMPLES, run=clear_endpoint)
    clear.add_argument("which", metavar="SLUG", help=SLUG_HELP)
    clear.add_argument("--keep-starred", action="store_true", default=False, help="keep starred requests")
    clear.add_argument("--keep-noted", action="store_true", default=False, help="keep requests with a note")
    add_yes(clear)


def remove(call: Call) -> int:
    """Delete the requests that exist; exit code 1 when one does not."""
    found, missing = _each(call, call.api.requests.head)
    if found:
        first = next(iter(found.values()))
        only = f"{first.method} {first.target} ({first.id})"
        confirm_delete(call.options, f"Delete {only if len(found) == 1 else count_of(len(found), 'request')}?")
    for identity in found:
        call.api.requests.delete(identity)
    call.done({"deleted": list(found)}, f"Deleted {count_of(len(found), 'request')}." if found else None)
    return _end(call, missing)


def clear_endpoint(call: Call) -> int:
    """Delete every request of the endpoint, except those kept for their marks."""
    endpoint = call.api.endpoints.get(slug_given(call.options.which))
    count, slug = endpoint.request_count, endpoint.slug
    keep = [mark for mark in get_args(Mark) if getattr(call.options, f"keep_{mark}")]
    but = f" except {KEPT[tuple(keep)]}" if keep else ""
    confirm_delete(
        call.options, f"Delete {count_of(count, 'request')} of {endpoint.name} ({slug}){but}? The endpoint is kept."
    )
    call.api.requests.clear(slug, keep)
    kept = call.api.endpoints.get(slug).request_count if keep else 0
    deleted = max(0, count - kept)
    also = f" Kept {kept:,}." if keep else ""
    return call.done(
        {"cleared": slug, "requests": deleted} | ({"kept": kept} if keep else {}),
        f"Deleted {count_of(deleted, 'request')} of {endpoint.name}.{also}",
    )


def _each(call: Call, change: Callable[[str], T]) -> tuple[dict[str, T], list[CliError]]:
    """What `change` returns for the requests that exist, by their ids, and an error for each other one."""
    ids, missing = each_id(call.api, request_id, call.options.ids)
    changed: dict[str, T] = {}
    for identity in ids:
        try:
            changed[identity] = change(identity)
        except CliError as error:
            if error.code is not Exit.FAILURE:
                raise
            missing.append(error)
    return changed, missing


def _end(call: Call, missing: list[CliError]) -> int:
    """Print what is wrong; returns the exit code."""
    for error in missing:
        call.out.message(str(error))
    return Exit.FAILURE if missing else Exit.DONE
