"""`hookline rm` and `hookline clear`: delete single requests, or all of an endpoint."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from app.cli.call import Call
from app.cli.confirm import add_yes, confirm_delete
from app.cli.errors import CliError, Exit
from app.cli.identifiers import ID_HELP, SLUG_HELP, each_id, request_id, slug_given
from app.core.deletion import Mark
from app.core.text import count_of

_KEPT = {
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


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add both commands to the command line."""
    rm = commands.add_parser("rm", parents=shared, help=RM_HELP, description=RM_HELP, examples=RM_EXAMPLES)
    rm.set_defaults(run=remove)
    rm.add_argument("ids", metavar="ID", nargs="+", help=ID_HELP)
    add_yes(rm)
    clear = commands.add_parser(
        "clear", parents=shared, help=CLEAR_HELP, description=CLEAR_HELP, examples=CLEAR_EXAMPLES
    )
    clear.set_defaults(run=clear_endpoint)
    clear.add_argument("which", metavar="SLUG", help=SLUG_HELP)
    clear.add_argument("--keep-starred", action="store_true", default=False, help="keep starred requests")
    clear.add_argument("--keep-noted", action="store_true", default=False, help="keep requests with a note")
    add_yes(clear)


async def remove(call: Call) -> int:
    """Delete the requests that exist; exit code 1 when one does not."""
    ids, missing = await each_id(call.api, request_id, call.options.ids)
    found: dict[str, str] = {}
    for identity in ids:
        try:
            request = await call.api.requests.head(identity)
            found[identity] = f"{request.method} {request.target}"
        except CliError as error:
            if error.code is not Exit.FAILURE:
                raise
            missing.append(error)
    if found:
        only = f"{next(iter(found.values()))} ({next(iter(found))})"
        confirm_delete(call.options, f"Delete {only if len(found) == 1 else count_of(len(found), 'request')}?")
    for identity in found:
        await call.api.requests.delete(identity)
    if call.out.as_json:
        call.out.json({"deleted": list(found)})
    elif found:
        call.out.line(f"Deleted {count_of(len(found), 'request')}.")
    for refusal in missing:
        call.out.message(str(refusal))
    return Exit.FAILURE if missing else Exit.DONE


async def clear_endpoint(call: Call) -> int:
    """Delete every request of the endpoint, except those kept for their marks."""
    endpoint = await call.api.endpoints.get(slug_given(call.options.which))
    count, slug = endpoint.request_count, endpoint.slug
    keep = [mark for mark in get_args(Mark) if getattr(call.options, f"keep_{mark}")]
    but = f" except {_KEPT[tuple(keep)]}" if keep else ""
    confirm_delete(
        call.options, f"Delete {count_of(count, 'request')} of {endpoint.name} ({slug}){but}? The endpoint is kept."
    )
    await call.api.requests.clear(slug, keep)
    kept = (await call.api.endpoints.get(slug)).request_count if keep else 0
    deleted = max(0, count - kept)
    if call.out.as_json:
        call.out.json({"cleared": slug, "requests": deleted} | ({"kept": kept} if keep else {}))
    else:
        also = f" Kept {kept:,}." if keep else ""
        call.out.line(f"Deleted {count_of(deleted, 'request')} of {endpoint.name}.{also}")
    return Exit.DONE
