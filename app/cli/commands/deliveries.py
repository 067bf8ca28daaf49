"""`hookline deliveries`, `delivery`, `retry` and `send-now`: deliveries with their results and attempts;
those that failed, or wait, sent again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.command import Commands, add_count, whole_number
from app.cli.errors import CliError, Exit
from app.cli.identifiers import (
    DELIVERY_HELP,
    REPLAY_HELP,
    delivery_id,
    each_id,
    replay_id,
    short_id,
    slug_given,
    target_named,
)
from app.cli.output import (
    GREEN,
    RED,
    YELLOW,
    Column,
    Output,
    brief_time,
    print_table,
    state_text,
    when_text,
    write_bytes,
)
from app.core.clock import microseconds
from app.core.delivery import RESPONSE_REMOVED, TRIGGERS, WaitReason, reason_text
from app.core.text import count_of, ms_text, size_text, time_text

if TYPE_CHECKING:
    from hookline.headers import Headers
    from hookline.records import Attempt, Delivery, FullDelivery

LIST_HELP = "list deliveries, newest first"
QUEUED = "queued"
LIST_DETAILS = (
    f"{LIST_HELP}. STATUS is the target's response to the last attempt, ERROR why that failed and whether it is"
    " retried; NEXT is when the next attempt starts, or what it waits for. With --queued, the first queued comes first."
)
LIST_EXAMPLES = (
    ("See which deliveries of an endpoint failed", "hookline deliveries stripe --failed"),
    ("See what is queued for a target, and what became of the rest", "hookline deliveries --target 3"),
    ("See what the last replay did not deliver", "hookline deliveries --replay @last --failed"),
    ("See what waits, and for what", "hookline deliveries --queued"),
    ("Count failed deliveries", "hookline deliveries --failed -n 1000 --json | jq length"),
)


def _brief_next(text: str) -> str:
    """A shorter time; words stay."""
    return brief_time(text) if text[:1].isdigit() else text


CODES = {"delivered": GREEN, "not_sent": YELLOW, "failed": RED}


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


COLUMNS: tuple[Column[Delivery], ...] = (
    Column("ID", lambda one: one.id),
    Column("QUEUED", lambda one: when_text(one.queued_at), left_out=3, short=brief_time, shortened=6),
    Column("ENDPOINT", lambda one: one.endpoint, least=10, left_out=4),
    Column("REQUEST", lambda one: one.request, lambda one: short_id(one.request), left_out=7),
    Column("STATE", lambda one: state_text(one.state), code=lambda one: CODES.get(one.state, "")),
    Column("STATUS", lambda one: "-" if one.status is None else str(one.status)),
    Column("TOOK", lambda one: "-" if one.ms is None else ms_text(one.ms), left_out=8),
    Column("ATTEMPTS", lambda one: str(one.attempt_count), left_out=4),
    Column(
        "NEXT",
        next_text,
        lambda one: next_text(one, short=True),
        left_out=2,
        short=_brief_next,
        shortened=6,
        empty="-",
    ),
    Column("TARGET", lambda one: one.url, least=16, left_out=5),
    Column("ERROR", lambda one: reason_text(one.error, one.next_step) or "-", least=12, left_out=1, empty="-"),
)
NONE_FOUND = {
    None: ("Nothing has been forwarded yet.", "There are no such deliveries."),
    "failed": ("No delivery has failed.", "None of these deliveries has failed."),
    "not_sent": ("Every delivery could be sent.", "Each of these deliveries could be sent."),
    QUEUED: ("No delivery waits.", "None of these deliveries waits."),
}
"""Of all, and of one endpoint, target or replay."""


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    _add_list(commands)
    _add_show(commands)
    _add_retry(commands)


def _add_list(commands: Commands) -> None:
    parser = commands.add("deliveries", LIST_HELP, LIST_DETAILS, LIST_EXAMPLES, run=list_deliveries)
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
    add_count(parser)


def list_deliveries(call: Call) -> int:
    slug = None if call.options.which is None else slug_given(call.options.which)
    options = call.options
    replay = None if options.replay is None else replay_id(call.api, options.replay)
    asked = call.api.deliveries.asked.list(
        endpoint=slug,
        target=options.target,
        state=options.state,
        order="oldest" if options.state == QUEUED else None,
        count=options.count,
        replay=replay,
    )

    printed = call.show_list(asked, COLUMNS, short_ids=True)
    if not printed and options.target is not None:  # one that was deleted has deliveries still
        target_named(call.api, str(options.target))
    if not printed and not call.out.as_json:
        of_all, of_some = NONE_FOUND[options.state]
        call.out.message(of_all if (slug, options.target, replay) == (None, None, None) else of_some)
    return Exit.DONE


def result_text(delivery: Delivery) -> str:
    """The state with the number of attempts and what the last one gave."""
    count = delivery.attempt_count
    text = state_text(delivery.state) + (f" after {count:,} attempts" if count > 1 else "")
    if delivery.error:
        return f"{text}. {reason_text(delivery.error, delivery.next_step)}"
    return text if delivery.status is None else f"{text}, response {delivery.status}"


SHOW_HELP = "show one delivery with its attempts, or one attempt"
SHOW_EXAMPLES = (
    ("See how the last delivery went", "hookline delivery @last"),
    ("See what its first attempt sent, and what came back", "hookline delivery @last --attempt 1"),
    ("Save the body of the response to a file", "hookline delivery @last --body > response"),
)


def _trigger(attempt: Attempt) -> str:
    """Why it was made; the API's word if a newer program answers."""
    return TRIGGERS.get(attempt.trigger, attempt.trigger)


ATTEMPT_COLUMNS: tuple[Column[Attempt], ...] = (
    Column("#", lambda one: str(one.number)),
    Column("STARTED", lambda one: when_text(one.started_at)),
    Column("WHY", _trigger, left_out=2),
    Column(
        "STATUS",
        lambda one: "-" if one.status is None else str(one.status),
        code=lambda one: RED if one.failure else GREEN,
    ),
    Column("TOOK", lambda one: ms_text(one.ms), left_out=3),
    Column("ERROR", lambda one: one.error or "-", least=12, left_out=1, empty="-"),
)


def _add_show(commands: Commands) -> None:
    parser = commands.add("delivery", SHOW_HELP, examples=SHOW_EXAMPLES, run=show)
    parser.add_argument("id", metavar="DELIVERY", help=DELIVERY_HELP)
    parser.add_argument("--attempt", type=whole_number, metavar="N", help="show this attempt, counted from 1")
    text = "print the body of the target's response: to that attempt, or to the last one"
    parser.add_argument("--body", action="store_true", default=False, help=text)


def show(call: Call) -> int:
    options = call.options
    if options.body and call.out.as_json:
        raise CliError("--json prints the delivery as JSON and cannot be combined with --body.", Exit.USAGE)
    answer = call.api.answer(call.api.deliveries.asked.get(delivery_id(call.api, options.id)))
    delivery = answer.value
    attempt = _attempt(delivery, options.attempt) if options.body or options.attempt is not None else None
    if attempt is not None and options.body:
        path = ("deliveries", delivery.id, "attempts", str(attempt.number), "body")
        write_bytes(call.out, call.api.bytes_of(*path))
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
    print_table(out, ATTEMPT_COLUMNS, delivery.attempts)


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


RETRY_HELP = "send failed deliveries again, each to its target"
RETRY_DETAILS = (
    f"{RETRY_HELP}. A delivery that was not sent is sent again only by its ID: it cannot be sent until its target"
    " changes."
)
RETRY_EXAMPLES = (
    ("Send the delivery that was queued last again", "hookline retry @last"),
    ("Send all failed deliveries of an endpoint again", "hookline retry --endpoint stripe"),
)
SEND_NOW_HELP = "send deliveries that wait for their retry now"
SEND_NOW_DETAILS = (
    f"{SEND_NOW_HELP}. Where a target keeps the order, the first one can be sent, and what waits behind it follows."
    " A paused target is resumed instead: hookline target resume."
)
SEND_NOW_EXAMPLES = (("Send one of those that hookline deliveries --queued lists", "hookline send-now 019a1b2c"),)


def _add_retry(commands: Commands) -> None:
    parser = commands.add("retry", RETRY_HELP, RETRY_DETAILS, RETRY_EXAMPLES, run=retry)
    parser.add_argument("ids", metavar="DELIVERY", nargs="*", help=DELIVERY_HELP)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--endpoint", metavar="SLUG", help="all failed deliveries of this endpoint")
    which.add_argument("--target", metavar="TARGET", help="all failed deliveries to this target (its number)")
    which.add_argument("--all", action="store_true", default=False, help="all failed deliveries")
    now = commands.add("send-now", SEND_NOW_HELP, SEND_NOW_DETAILS, SEND_NOW_EXAMPLES, run=send_now)
    now.add_argument("ids", metavar="DELIVERY", nargs="+", help=DELIVERY_HELP)


def retry(call: Call) -> int:
    options = call.options
    several = bool(options.all or options.endpoint is not None or options.target is not None)
    if several == bool(options.ids):
        raise CliError("Name deliveries, or use --endpoint, --target or --all. See hookline retry --help.", Exit.USAGE)
    refusals: list[CliError] = []
    queued = _retry_failed(call) if several else _for_each(call, call.api.deliveries.retry, refusals)
    call.done({"queued": queued}, f"Queued {_deliveries(queued)} again." if queued else None)
    if several and not queued and not call.out.as_json:
        call.out.message("There is no failed delivery to send again.")
    return _end(call, queued, refusals)


def send_now(call: Call) -> int:
    refusals: list[CliError] = []
    due = _for_each(call, call.api.deliveries.send_now, refusals)
    call.done({"due": due}, f"{_deliveries(due)} {'is' if due == 1 else 'are'} due now." if due else None)
    return _end(call, due, refusals)


def _end(call: Call, changed: int, refusals: list[CliError]) -> int:
    """Say what keeps deliveries from being sent; the exit code."""
    if changed and not call.api.status().captures:
        call.out.message("Hookline is not running, so nothing is sent yet. Start it with hookline, or hookline serve.")
    for refusal in refusals:
        call.out.message(str(refusal))
    return max((refusal.code for refusal in refusals), default=Exit.DONE)


def _deliveries(count: int) -> str:
    return count_of(count, "delivery", "deliveries")


def _retry_failed(call: Call) -> int:
    slug, target = call.options.endpoint, None
    if slug is not None:
        slug = call.api.endpoints.get(slug_given(slug)).slug
    if call.options.target is not None:
        target = (target_named(call.api, call.options.target))[1].id
    return call.api.deliveries.retry_failed(endpoint=slug, target=target)


def _for_each(call: Call, change: Callable[[str], object], refusals: list[CliError]) -> int:
    """Change the deliveries that exist; how many. Adds an error for each that cannot be changed.

    CliError when an id is ambiguous; then none is changed.
    """
    ids, missing = each_id(call.api, delivery_id, call.options.ids)
    refusals += missing
    changed = 0
    for identity in ids:
        try:
            change(identity)
            changed += 1
        except CliError as error:
            refusals.append(CliError(f"Delivery {identity}: {error}", error.code))
    return changed
