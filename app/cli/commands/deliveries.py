"""`hookline deliveries`: deliveries and their results, newest first."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from app.cli.argument_types import row_count, whole_number
from app.cli.call import Call
from app.cli.errors import Exit
from app.cli.identifiers import REPLAY_HELP, replay_id, short_id, slug_given, target_named, with_short_ids
from app.cli.output import GREEN, RED, YELLOW, Output
from app.cli.table import Column, Row
from app.cli.text import brief_time, state_text, when_text
from app.core.delivery_text import reason_text
from app.core.text import ms_text
from app.core.waiting import WaitReason

if TYPE_CHECKING:
    from hookline.records import Delivery

HELP = "list deliveries, newest first"
QUEUED = "queued"
DETAILS = (
    f"{HELP}. STATUS is the target's response to the last attempt, ERROR why that failed and whether it is retried;"
    " NEXT is when the next attempt starts, or what it waits for. With --queued, the first queued comes first."
)
EXAMPLES = (
    ("See which deliveries of an endpoint failed", "hookline deliveries stripe --failed"),
    ("See what is queued for a target, and what became of the rest", "hookline deliveries --target 3"),
    ("See what the last replay did not deliver", "hookline deliveries --replay @last --failed"),
    ("See what waits, and for what", "hookline deliveries --queued"),
    ("Count failed deliveries", "hookline deliveries --failed -n 1000 --json | jq length"),
)


def _brief_next(text: str) -> str:
    """A shorter time; words stay."""
    return brief_time(text) if text[:1].isdigit() else text


COLUMNS = (
    Column("ID"),
    Column("QUEUED", left_out=3, short=brief_time, shortened=6),
    Column("ENDPOINT", least=10, left_out=4),
    Column("REQUEST", left_out=7),
    Column("STATE"),
    Column("STATUS"),
    Column("TOOK", left_out=8),
    Column("ATTEMPTS", left_out=4),
    Column("NEXT", left_out=2, short=_brief_next, shortened=6, empty="-"),
    Column("TARGET", least=16, left_out=5),
    Column("ERROR", least=12, left_out=1, empty="-"),
)
CODES = {"delivered": GREEN, "not_sent": YELLOW, "failed": RED}
NONE_FOUND = {
    None: "Nothing has been forwarded yet.",
    "failed": "No delivery has failed.",
    "not_sent": "Every delivery could be sent.",
    QUEUED: "No delivery waits.",
}


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("deliveries", parents=shared, help=HELP, description=DETAILS, examples=EXAMPLES)
    parser.set_defaults(run=list_deliveries)
    parser.add_argument("which", metavar="SLUG", nargs="?", help="the endpoint; all endpoints if omitted")
    state = parser.add_mutually_exclusive_group()
    text = "only failed deliveries"
    state.add_argument("--failed", dest="state", action="store_const", const="failed", help=text)
    text = (
        "only deliveries that were not sent, because the request cannot be sent to that target, or was deleted before"
        " it was sent"
    )
    state.add_argument("--not-sent", dest="state", action="store_const", const="not_sent", help=text)
    text = "only deliveries that wait or are being sent, the first queued first"
    state.add_argument("--queued", dest="state", action="store_const", const=QUEUED, help=text)
    parser.add_argument("--target", type=whole_number, metavar="TARGET", help="only deliveries to this target")
    parser.add_argument("--replay", metavar="REPLAY", help=f"only deliveries of this replay: {REPLAY_HELP}")
    parser.add_argument("-n", dest="count", type=row_count, metavar="N", default=50, help="maximum number to list (50)")


async def list_deliveries(call: Call) -> int:
    slug = None if call.options.which is None else slug_given(call.options.which)
    options = call.options
    replay = None if options.replay is None else await replay_id(call.api, options.replay)
    asked = call.api.deliveries.asked.list(
        endpoint=slug,
        target=options.target,
        state=options.state,
        order="oldest" if options.state == QUEUED else None,
        count=options.count,
        replay=replay,
    )

    async def rows(found: AsyncIterator[Delivery]) -> AsyncIterator[Row]:
        async for identity, delivery in with_short_ids(call.out, found):
            yield _row(call.out, delivery, identity)

    printed = await call.show_list(asked, COLUMNS, rows)
    if not printed and options.target is not None:  # one that was deleted has deliveries still
        await target_named(call.api, str(options.target))
    if not printed and not call.out.as_json:
        call.out.message(NONE_FOUND[options.state])
    return Exit.DONE


def _row(out: Output, delivery: Delivery, identity: str) -> Row:
    cells = (
        identity,
        when_text(delivery.queued_at),
        delivery.endpoint,
        short_id(delivery.request) if out.terminal else delivery.request,
        state_text(delivery.state),
        "-" if delivery.status is None else str(delivery.status),
        "-" if delivery.ms is None else ms_text(delivery.ms),
        str(delivery.attempt_count),
        next_text(delivery, short=out.terminal),
        delivery.url,
        reason_text(delivery.error, delivery.next_step) or "-",
    )
    return cells, ("", "", "", "", CODES.get(delivery.state, ""))


def next_text(delivery: Delivery, *, short: bool = False) -> str:
    """When the next attempt starts, a local time or `now`, or what it waits for; `-` for never. `short`: the part of a
    request's ID that names it."""
    wait = delivery.waits_for
    if wait is None:
        return "-"
    if wait.reason == WaitReason.RETRY:
        return when_text(delivery.due_at)
    request = wait.request
    return wait.text.replace(request, short_id(request)) if request and short else wait.text


def result_text(delivery: Delivery) -> str:
    """The state with the number of attempts and what the last one gave."""
    count = delivery.attempt_count
    text = state_text(delivery.state) + (f" after {count:,} attempts" if count > 1 else "")
    if delivery.error:
        return f"{text}. {reason_text(delivery.error, delivery.next_step)}"
    return text if delivery.status is None else f"{text}, response {delivery.status}"
