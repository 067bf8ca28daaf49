"""`hookline retry`: queue failed deliveries again; `hookline send-now`: send those that wait for their retry."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import Any

from app.cli.call import Call
from app.cli.errors import CliError, Exit
from app.cli.identifiers import DELIVERY_HELP, delivery_id, each_id, slug_given, target_named
from app.core.text import count_of

HELP = "send failed deliveries again, each to its target"
DETAILS = (
    f"{HELP}. A delivery that was not sent is sent again only by its ID: it cannot be sent until its target changes."
)
EXAMPLES = (
    ("Send the delivery that was queued last again", "hookline retry @last"),
    ("Send all failed deliveries of an endpoint again", "hookline retry --endpoint stripe"),
)
SEND_NOW_HELP = "send deliveries that wait for their retry now"
SEND_NOW_DETAILS = (
    f"{SEND_NOW_HELP}. Where a target keeps the order, the first one can be sent, and what waits behind it follows."
    " A paused target is resumed instead: hookline target resume."
)
SEND_NOW_EXAMPLES = (("Send one of those that hookline deliveries --queued lists", "hookline send-now 019a1b2c"),)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("retry", parents=shared, help=HELP, description=DETAILS, examples=EXAMPLES)
    parser.set_defaults(run=retry)
    parser.add_argument("ids", metavar="DELIVERY", nargs="*", help=DELIVERY_HELP)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--endpoint", metavar="SLUG", help="all failed deliveries of this endpoint")
    which.add_argument("--target", metavar="TARGET", help="all failed deliveries to this target (its number)")
    which.add_argument("--all", action="store_true", default=False, help="all failed deliveries")
    now = commands.add_parser(
        "send-now", parents=shared, help=SEND_NOW_HELP, description=SEND_NOW_DETAILS, examples=SEND_NOW_EXAMPLES
    )
    now.set_defaults(run=send_now)
    now.add_argument("ids", metavar="DELIVERY", nargs="+", help=DELIVERY_HELP)


async def retry(call: Call) -> int:
    options = call.options
    several = bool(options.all or options.endpoint is not None or options.target is not None)
    if several == bool(options.ids):
        raise CliError("Name deliveries, or use --endpoint, --target or --all. See hookline retry --help.", Exit.USAGE)
    refusals: list[CliError] = []
    queued = await _retry_failed(call) if several else await _for_each(call, call.api.deliveries.retry, refusals)
    if call.out.as_json:
        call.out.json({"queued": queued})
    elif queued:
        call.out.line(f"Queued {count_of(queued, 'delivery', 'deliveries')} again.")
    elif several:
        call.out.message("No delivery has failed.")
    return await _end(call, queued, refusals)


async def send_now(call: Call) -> int:
    refusals: list[CliError] = []
    due = await _for_each(call, call.api.deliveries.send_now, refusals)
    if call.out.as_json:
        call.out.json({"due": due})
    elif due:
        call.out.line(f"{count_of(due, 'delivery', 'deliveries')} {'is' if due == 1 else 'are'} due now.")
    return await _end(call, due, refusals)


async def _end(call: Call, changed: int, refusals: list[CliError]) -> int:
    """Say what keeps deliveries from being sent; the exit code."""
    if changed and (await call.api.status()).capture_url is None:
        call.out.message("Hookline is not running, so nothing is sent yet. Start it with hookline, or hookline serve.")
    for refusal in refusals:
        call.out.message(str(refusal))
    return max((refusal.code for refusal in refusals), default=Exit.DONE)


async def _retry_failed(call: Call) -> int:
    slug, target = call.options.endpoint, None
    if slug is not None:
        slug = (await call.api.endpoints.get(slug_given(slug))).slug
    if call.options.target is not None:
        target = (await target_named(call.api, call.options.target))[1].id
    return await call.api.deliveries.retry_failed(endpoint=slug, target=target)


async def _for_each(call: Call, change: Callable[[str], Awaitable[object]], refusals: list[CliError]) -> int:
    """Change the deliveries that exist; how many. Adds an error for each that cannot be changed.

    CliError when an id is ambiguous; then none is changed.
    """
    ids, missing = await each_id(call.api, delivery_id, call.options.ids)
    refusals += missing
    changed = 0
    for identity in ids:
        try:
            await change(identity)
            changed += 1
        except CliError as error:
            refusals.append(CliError(f"Delivery {identity}: {error}", error.code))
    return changed
