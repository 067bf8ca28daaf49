"""`hookline delivery`: one delivery with its attempts, or one attempt."""

from __future__ import annotations

import argparse
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from app.cli.argument_types import whole_number
from app.cli.call import Call
from app.cli.commands.deliveries import next_text, result_text
from app.cli.errors import CliError, Exit
from app.cli.identifiers import DELIVERY_HELP, delivery_id
from app.cli.output import GREEN, RED, Output, write_bytes
from app.cli.table import Column, Table
from app.cli.text import when_text
from app.core.attempt_text import RESPONSE_REMOVED, TRIGGERS
from app.core.clock import microseconds
from app.core.text import ms_text, size_text, time_text

if TYPE_CHECKING:
    from hookline.headers import Headers
    from hookline.records import Attempt, FullDelivery

HELP = "show one delivery with its attempts, or one attempt"
EXAMPLES = (
    ("See how the last delivery went", "hookline delivery @last"),
    ("See what its first attempt sent, and what came back", "hookline delivery @last --attempt 1"),
    ("Save the body of the response to a file", "hookline delivery @last --body > response"),
)
COLUMNS = (
    Column("#"),
    Column("STARTED"),
    Column("WHY", left_out=2),
    Column("STATUS"),
    Column("TOOK", left_out=3),
    Column("ERROR", least=12, left_out=1, empty="-"),
)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("delivery", parents=shared, help=HELP, description=HELP, examples=EXAMPLES)
    parser.set_defaults(run=show)
    parser.add_argument("id", metavar="DELIVERY", help=DELIVERY_HELP)
    parser.add_argument("--attempt", type=whole_number, metavar="N", help="show this attempt, counted from 1")
    text = "print the body of the target's response: to that attempt, or to the last one"
    parser.add_argument("--body", action="store_true", default=False, help=text)


async def show(call: Call) -> int:
    options = call.options
    if options.body and call.out.as_json:
        raise CliError("--json prints the delivery as JSON and cannot be combined with --body.", Exit.USAGE)
    answer = await call.api.answer(call.api.deliveries.asked.get(await delivery_id(call.api, options.id)))
    delivery = answer.value
    attempt = _attempt(delivery, options.attempt) if options.body or options.attempt is not None else None
    if attempt is not None and options.body:
        path = ("deliveries", delivery.id, "attempts", str(attempt.number), "body")
        async with aclosing(call.api.bytes_of(*path)) as body:
            await write_bytes(call.out, body)
    elif call.out.as_json:
        number = None if attempt is None else delivery.attempts.index(attempt)
        call.out.json(answer.json if number is None else answer.json["attempts"][number])
    elif attempt is not None:
        _show_attempt(call.out, delivery, attempt)
    else:
        _overview(call.out, delivery)
    return Exit.DONE


def _attempt(delivery: FullDelivery, number: int | None) -> Attempt:
    """The attempt of this number, or the last one (None); CliError if there is none."""
    if number is None and delivery.attempts:
        return delivery.attempts[-1]
    for attempt in delivery.attempts:
        if attempt.number == number:
            return attempt
    which = "attempt yet" if number is None else f"attempt {number}"
    raise CliError(f"Delivery {delivery.id} has no {which}.", Exit.FAILURE)


def _overview(out: Output, delivery: FullDelivery) -> None:
    out.field("ID", delivery.id)
    out.field("Request", delivery.request)
    out.field("Endpoint", delivery.endpoint)
    out.field("URL", delivery.url)
    if delivery.target is not None:
        out.field("Target", str(delivery.target))
    if delivery.replay is not None:
        out.field("Replay", delivery.replay)
    out.field("Queued", when_text(delivery.queued_at))
    out.field("Result", result_text(delivery))
    if delivery.responded:
        out.field("Sender", "got this response")
    if delivery.state == "queued":
        out.field("Next attempt", next_text(delivery))
    if not delivery.attempts:
        return
    out.line()
    with Table(out, COLUMNS) as table:
        for attempt in delivery.attempts:
            _row(table, attempt)


def _row(table: Table, attempt: Attempt) -> None:
    table.row(
        str(attempt.number),
        when_text(attempt.started_at),
        _trigger(attempt),
        "-" if attempt.status is None else str(attempt.status),
        ms_text(attempt.ms),
        attempt.error or "-",
        codes=("", "", "", RED if attempt.failure else GREEN),
    )


def _trigger(attempt: Attempt) -> str:
    """Why it was made; the API's word if a newer program answers."""
    return {str(key): words for key, words in TRIGGERS.items()}.get(attempt.trigger, attempt.trigger)


def _show_attempt(out: Output, delivery: FullDelivery, attempt: Attempt) -> None:
    out.line(f"{attempt.method} {attempt.url}")
    out.field("Attempt", f"{attempt.number} ({_trigger(attempt)}) of delivery {delivery.id}")
    out.field("Started", time_text(microseconds(attempt.started_at), None))
    out.field("Took", _timing(attempt))
    out.field("Body", f"{size_text(attempt.size)} sent")
    if attempt.failure:
        out.field("Failed", f"{attempt.failure}. {attempt.error or ''}".rstrip())
    out.line()
    _headers(out, attempt.headers)
    if attempt.status is None:
        return
    out.line()
    out.line(f"HTTP/{attempt.http_version} {attempt.status}")
    _headers(out, attempt.response_headers)
    if attempt.response_removed:
        out.line(f"({RESPONSE_REMOVED})")
    if attempt.response_size:
        size = size_text(attempt.response_size)
        kept = f"The first {size} of the body are stored" if attempt.response_truncated else f"{size} of body"
        command = f"hookline delivery {delivery.id} --attempt {attempt.number} --body"
        out.line()
        out.line(f"({kept}. To get them: {command})")


def _timing(attempt: Attempt) -> str:
    """`12 ms: connecting 1.5 ms, first byte 9.0 ms`."""
    timing = attempt.timing
    named = (
        ("name lookup", timing.lookup),
        ("connecting", timing.connect),
        ("TLS", timing.tls),
        ("first byte", timing.first_byte),
    )
    parts = [f"{name} {ms_text(ms)}" for name, ms in named if ms is not None]
    if attempt.reused:
        parts.insert(0, "on an open connection")
    return ms_text(attempt.ms) + (f": {', '.join(parts)}" if parts else "")


def _headers(out: Output, headers: Headers) -> None:
    for name, value in headers.pairs:
        out.line(f"{name}: {value}")
