"""`hookline replay`: send captured requests again; `hookline replays`: how far that is; pause, resume, cancel."""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.call import Call
from app.cli.command import (
    Commands,
    add_count,
    bytes_in,
    moment,
    number,
    scale,
    seconds_between,
    share,
    whole_number,
    whole_number_between,
)
from app.cli.commands.requests import QUERY_HELP
from app.cli.commands.show import delivery_lines
from app.cli.errors import CliError, Exit
from app.cli.field_options import header_of
from app.cli.identifiers import ID_HELP, REPLAY_HELP, each_id, replay_id, request_id, slug_given
from app.cli.output import GREEN, RED, Column, Output, brief_time, when_text
from app.core.raw_request import end_to_end
from app.core.replay import CONCURRENCY_MAX, DELAY_MAX_MS, GAP_MAX_MS, RATE_MAX, TIMES_MAX, counted
from app.core.text import count_of, ms_text

if TYPE_CHECKING:
    from app.cli.client import Answer
    from hookline.calls import Call as ApiCall
    from hookline.records import FullReplay, Replay, ReplayTarget, RequestHead

HELP = "send captured requests again, oldest first"
DETAILS = (
    f"{HELP}: to their endpoint's targets, or elsewhere. Ctrl-C cancels. Exit codes: 0 all delivered, 1 some failed or"
    " nothing matched, 2 usage error."
)
EXAMPLES = (
    ("Send the newest request again", "hookline replay @last"),
    ("Send it to another URL, with another body", "hookline replay @last --to http://localhost:3000 --body '{}'"),
    (
        "Send what failed again, ten requests per second",
        "hookline replay --endpoint stripe -q delivery:failed --rate 10",
    ),
    (
        "Send today's requests again as they came, ten times as fast",
        "hookline replay --endpoint stripe --after today --speed 10x",
    ),
    ("Send one in twenty requests twice", "hookline replay --endpoint stripe --duplicate 5%"),
)


def add_parser(commands: Commands) -> None:
    """Add both commands to the command line."""
    _add_replay(commands)
    _add_replays(commands)


def _add_replay(commands: Commands) -> None:
    parser = commands.add("replay", HELP, DETAILS, EXAMPLES, only_given=True, run=replay, background=False)
    parser.add_argument("ids", metavar="ID", nargs="*", default=[], help=ID_HELP)
    _add_options(parser)
    text = "do not wait for the end, which hookline replays shows; Hookline must be running"
    parser.add_argument("--background", action="store_true", help=text)


def replay(call: Call) -> int:
    check_options(call.options)
    if call.options.background and not is_running(call):
        raise CliError(
            "Hookline is not running, so nothing can be sent in the background. Start it with hookline, or hookline"
            " serve, or leave out --background.",
            Exit.ENVIRONMENT,
        )
    started = call.api.answer(call.api.replays.asked.start(**_fields(call)))
    if call.options.background:
        return call.show(started, _started)
    return show_to_its_end(call, started)


def _started(out: Output, replay: Replay) -> None:
    out.line(f"Replaying {selection_text(replay)}. Its progress: hookline replays {replay.id}")


def _fields(call: Call) -> dict[str, Any]:
    options = call.options
    fields = _given_fields(options)
    for name in ("endpoint", "to_endpoint"):
        if hasattr(options, name):
            call.api.endpoints.get(slug_given(getattr(options, name)))
    if not options.ids:
        return fields
    ids, missing = each_id(call.api, request_id, options.ids)
    if missing:
        raise missing[0]
    if _given(options, EDITING):
        fields["edit"] = edit_of(options, call.api.requests.head(ids[0]))
    return {"ids": ids, **fields}


def is_running(call: Call) -> bool:
    """Whether a program has the data folder open, rather than this command alone."""
    return call.api.status().pid != os.getpid()


def show_to_its_end(call: Call, started: Answer[FullReplay]) -> int:
    """Follow a replay and print what became of it; returns the exit code."""
    answer, interrupted = _follow(call, started)
    ended = answer.value
    if interrupted:
        call.out.message(outcome_text(ended))
    if call.out.as_json:
        call.out.json(answer.json)
    elif ended.progress.total and ended.progress.total == ended.progress.incomplete:
        pass  # the problem says it
    elif not ended.progress.total and ended.state == "done":
        call.out.message("No requests match.")
    elif not _show_deliveries(call, ended) and ended.summary:
        for line in ended.summary.splitlines():
            call.out.line(line)
    if ended.problem:
        more = " To send them too, add --incomplete." if ended.progress.incomplete else ""
        call.out.message(f"{ended.problem}{more}")
    if interrupted:
        return Exit.INTERRUPTED
    all_delivered = ended.state == "done" and not ended.progress.failed and ended.progress.sent
    return Exit.DONE if all_delivered else Exit.FAILURE


def _follow(call: Call, started: Answer[FullReplay]) -> tuple[Answer[FullReplay], bool]:
    """The replay once it has ended, and whether Ctrl-C cancelled it. A second Ctrl-C does not wait for its end."""
    asked = call.api.replays.asked.get(started.value.id)
    try:
        return call.until_ended(started, asked, _progress), False
    except KeyboardInterrupt:
        call.out.message("Cancelling; waiting for what is being sent.")
    with contextlib.suppress(CliError):  # it has just ended
        call.api.replays.cancel(started.value.id)
    return call.until_ended(started, asked, _progress), True


def _progress(replay: FullReplay) -> str | None:
    return None if replay.ended else progress_text(replay)


def _show_deliveries(call: Call, replay: FullReplay) -> bool:
    """Print the deliveries of a single request that was sent once; whether it was."""
    if replay.ids is None or len(replay.ids) != 1 or replay.progress.sent != 1:
        return False
    request = call.api.requests.head(replay.ids[0])
    made = [delivery for delivery in request.deliveries if delivery.replay == replay.id]
    for delivery in made:
        delivery_lines(call.out, delivery)
    return bool(made)


def progress_text(replay: Replay) -> str:
    """`340 of 1,000 sent, 3 failed, 52.5 per second`."""
    progress, state = replay.progress, replay.state
    if state == "queued":
        return "Waiting for another replay to end."
    counts = (progress.failed, "failed"), (progress.dropped, "dropped"), (progress.incomplete, "incomplete left out")
    pace = "paused" if state == "paused" else f"{progress.rate:,g} per second"
    return ", ".join([sent_text(replay), *counted(*counts), pace])


def target_text(target: ReplayTarget) -> str:
    """`http://localhost:3000/: 340 delivered, 3 failed (p50 12 ms, p95 40 ms)`."""
    counts = [f"{target.delivered:,} delivered", *counted((target.failed, "failed"), (target.not_sent, "not sent"))]
    text = f"{target.url or 'without a target'}: {', '.join(counts)}"
    if target.median_ms is None or target.p95_ms is None:
        return text
    return f"{text} (p50 {ms_text(target.median_ms)}, p95 {ms_text(target.p95_ms)})"


def sent_text(replay: Replay) -> str:
    """`340 of 1,000 sent`."""
    progress = replay.progress
    total = "" if progress.total is None else f" of {progress.total:,}"
    return f"{progress.sent:,}{total} sent"


def outcome_text(replay: Replay) -> str:
    """`Cancelled: 12 of 300 sent, 11 delivered, 1 failed.`"""
    progress = replay.progress
    failed = f", {progress.delivered:,} delivered, {progress.failed:,} failed" if progress.failed else ""
    return f"{replay.state.capitalize()}: {sent_text(replay)}{failed}."


def selection_text(replay: Replay) -> str:
    """`3 requests`, `orders`, `orders: path:/x`, `all endpoints`."""
    if replay.id_count is not None:
        return count_of(replay.id_count, "request")
    return (replay.endpoint or "all endpoints") + (f": {replay.q}" if replay.q else "")


def destination_text(replay: Replay) -> str:
    if replay.url is not None:
        return replay.url
    return "their targets" if replay.to_endpoint is None else f"endpoint {replay.to_endpoint}"


TIME_HELP = "a time such as 2026-11-01T09:30, a day, or how long ago, such as 2h"
FAULTS = (
    ("--duplicate", "duplicate", "send this share of requests twice, such as 5%%"),
    ("--swap", "swap", "exchange this share with the next request"),
    ("--drop", "drop", "leave out this share"),
    ("--delay", "delay", "send this share late, without holding up the others"),
    ("--cut-off", "cut_off", "close the connection in the middle of the body of this share"),
)
SELECTING = {"query": "-q", "after": "--after", "before": "--before"}
EDITING = {"method": "--method", "headers": "--header", "body": "--body", "body_file": "--body-file"}
"""Options by their names in the namespace."""


def _add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options. The parser must leave out absent ones."""
    selecting = parser.add_argument_group("which requests of an endpoint")
    selecting.add_argument("--endpoint", metavar="SLUG", help="all requests of this endpoint, oldest first")
    selecting.add_argument("-q", dest="query", metavar="QUERY", help=QUERY_HELP)
    selecting.add_argument("--after", type=moment, metavar="TIME", help=f"only requests received since: {TIME_HELP}")
    selecting.add_argument("--before", type=moment, metavar="TIME", help="only requests received before: likewise")
    text = "also send requests whose sender disconnected before the end; without this they are left out"
    parser.add_argument("--incomplete", action="store_true", help=text)
    to = parser.add_argument_group("where they are sent").add_mutually_exclusive_group()
    text = "send them to this URL, not to their endpoint's targets; sub-path and query are added to it"
    to.add_argument("--to", dest="url", metavar="URL", help=text)
    to.add_argument("--to-endpoint", metavar="SLUG", help="send them to this endpoint of Hookline, which captures them")
    _add_edits(parser.add_argument_group("what is sent in place of what was captured, for one request"))
    _add_pace(parser.add_argument_group("when they are sent"))
    faults = parser.add_argument_group("faults made on purpose")
    for option, name, text in FAULTS:
        faults.add_argument(option, dest=name, type=share, metavar="SHARE", help=text)
    text = "how late --delay sends at most (1)"
    late = seconds_between(0, DELAY_MAX_MS)
    faults.add_argument("--delay-max", dest="delay_max_ms", type=late, metavar="SECONDS", help=text)
    faults.add_argument("--seed", type=whole_number, metavar="N", help="the same seed makes the same faults (0)")


def _add_edits(group: Any) -> None:
    group.add_argument("--method", metavar="METHOD", help="send this method")
    group.add_argument(
        "--header",
        dest="headers",
        action="append",
        metavar="HEADER",
        help='send this header, as "Name: value", in place of all captured ones of that name; may be repeated',
    )
    body = group.add_mutually_exclusive_group()
    body.add_argument("--body", metavar="TEXT", help="send this text as the body")
    body.add_argument("--body-file", type=Path, metavar="FILE", help="send this file as the body; - for standard input")


def _add_pace(group: Any) -> None:
    group.add_argument(
        "--gaps", choices=("none", "original"), help="each as soon as possible (the default), or spaced as received"
    )
    group.add_argument(
        "--speed", dest="scale", type=scale, metavar="FACTOR", help="original gaps, this much faster, such as 2x"
    )
    group.add_argument(
        "--longest-gap",
        dest="longest_gap_ms",
        type=seconds_between(0, GAP_MAX_MS),
        metavar="SECONDS",
        help="original gaps, but none longer than this",
    )
    group.add_argument("--rate", type=number, metavar="N", help=f"this many per second, up to {RATE_MAX:,}")
    group.add_argument(
        "--parallel",
        dest="concurrency",
        type=whole_number_between(1, CONCURRENCY_MAX),
        metavar="N",
        help=f"how many are sent at once, 1 to {CONCURRENCY_MAX}; 1 keeps their order (1)",
    )
    group.add_argument(
        "--times", type=whole_number, metavar="N", help=f"send each this many times, up to {TIMES_MAX:,} (1)"
    )


def check_options(options: argparse.Namespace) -> None:
    """CliError for options that do not go together."""
    endpoint = hasattr(options, "endpoint")
    if endpoint == bool(options.ids):
        raise CliError("Name requests, or use --endpoint. See hookline replay --help.", Exit.USAGE)
    if not endpoint and (wrong := _given(options, SELECTING)):
        raise CliError(f"{wrong[0]} only works with --endpoint.", Exit.USAGE)
    if (wrong := _given(options, EDITING)) and (endpoint or len(options.ids) > 1):
        raise CliError(f"{wrong[0]} only works with a single request.", Exit.USAGE)
    gaps = _given(options, {"scale": "--speed", "longest_gap_ms": "--longest-gap"})
    if gaps and getattr(options, "gaps", "") == "none":
        raise CliError(f"{gaps[0]} cannot be combined with --gaps none.", Exit.USAGE)
    if hasattr(options, "rate") and (gaps or getattr(options, "gaps", "") == "original"):
        raise CliError(f"--rate cannot be combined with {(*gaps, '--gaps original')[0]}.", Exit.USAGE)


def _given_fields(options: argparse.Namespace) -> dict[str, Any]:
    """The fields of the replay, but for `ids` and `edit`."""
    from hookline.client.deliveries import FaultFields, ReplayFields  # start-up time: completions load this module

    given = vars(options)
    fields = {name: given[name] for name in ReplayFields.__annotations__ if name in given and name != "ids"}
    if "query" in given:
        fields["q"] = given["query"]
    if "scale" in fields or "longest_gap_ms" in fields:
        fields["gaps"] = "original"
    faults = {name: given[name] for name in FaultFields.__annotations__ if name in given}
    return {**fields, "faults": faults} if faults else fields


def edit_of(options: argparse.Namespace, request: RequestHead) -> dict[str, Any]:
    """What is sent in place of what `request` has; CliError for what cannot be read."""
    edit: dict[str, Any] = {"method": options.method} if hasattr(options, "method") else {}
    body = _body(options)
    if body is not None:
        edit["body_base64"] = base64.b64encode(body).decode()
    headers = _headers(options, request.headers.pairs, new_body=body is not None)
    return edit if headers is None else {**edit, "headers": headers}


def _headers(
    options: argparse.Namespace, captured: tuple[tuple[str, str], ...], *, new_body: bool
) -> list[tuple[str, str]] | None:
    """None: as captured. A new body is not compressed as the captured one was."""
    given = [header_of(line, "--header") for line in getattr(options, "headers", [])]
    replaced = {name.lower() for name, _ in given}
    compressed = new_body and any(name.lower() == "content-encoding" for name, _ in captured)
    if not given and not compressed:
        return None
    replaced |= {"host", "content-encoding"} if compressed else {"host"}
    kept = [(name, value) for name, value in end_to_end(captured) if name.lower() not in replaced]
    return [*kept, *((name, value) for name, value in given)]


def _body(options: argparse.Namespace) -> bytes | None:
    if hasattr(options, "body"):
        text: str = options.body
        return text.encode()
    if not hasattr(options, "body_file"):
        return None
    return bytes_in(options.body_file, f"The body cannot be read from {options.body_file}")


def _given(options: argparse.Namespace, names: dict[str, str]) -> list[str]:
    return [option for name, option in names.items() if hasattr(options, name)]


LIST_HELP = "list replays, or show, pause, resume or cancel one"
LIST_DETAILS = (
    f"{LIST_HELP}. A replay is interrupted when Hookline ends before it does; --resume sends the rest. If Hookline is"
    " not running, --resume waits for the end of the replay."
)
LIST_EXAMPLES = (
    ("See how far the last replay is, or its summary", "hookline replays @last"),
    ("Send no more for now", "hookline replays @last --pause"),
)
COLUMNS: tuple[Column[Replay], ...] = (
    Column("ID", lambda one: one.id),
    Column("CREATED", lambda one: when_text(one.created_at), left_out=2, short=brief_time, shortened=5),
    Column("STATE", lambda one: one.state, code=lambda one: GREEN if one.state == "done" else ""),
    Column("TOTAL", lambda one: "-" if one.progress.total is None else str(one.progress.total), left_out=4),
    Column("SENT", lambda one: str(one.progress.sent), left_out=1),
    Column("DELIVERED", lambda one: str(one.progress.delivered), left_out=5),
    Column(
        "FAILED", lambda one: str(one.progress.failed), code=lambda one: RED if one.progress.failed else "", empty="0"
    ),
    Column("REQUESTS", selection_text, least=10, left_out=1),
    Column("TO", destination_text, least=12, left_out=3, empty="their targets"),
)
VERBS = {"pause": "send no more until it is resumed", "resume": "continue it", "cancel": "send no more"}


def _add_replays(commands: Commands) -> None:
    parser = commands.add("replays", LIST_HELP, LIST_DETAILS, LIST_EXAMPLES, run=replays, verb=None)
    parser.add_argument("id", metavar="REPLAY", nargs="?", help=REPLAY_HELP)
    verbs = parser.add_mutually_exclusive_group()
    for verb, text in VERBS.items():
        verbs.add_argument(f"--{verb}", dest="verb", action="store_const", const=verb, help=text)
    add_count(parser)


def replays(call: Call) -> int:
    options = call.options
    if options.id is None:
        if options.verb is not None:
            raise CliError(f"Name the replay to {options.verb}. See hookline replays.", Exit.USAGE)
        asked_list = call.api.replays.asked.list(options.count)
        call.show_list(asked_list, COLUMNS, "Nothing has been replayed yet.", short_ids=True)
        return Exit.DONE
    identity = replay_id(call.api, options.id)
    asked: ApiCall[FullReplay] = getattr(call.api.replays.asked, options.verb or "get")(identity)
    replay = call.api.answer(asked)
    if options.verb == "resume" and not is_running(call):
        return show_to_its_end(call, replay)
    return call.show(replay, _show if options.verb is None else _cancelled if options.verb == "cancel" else _outcome)


def _outcome(out: Output, replay: Replay) -> None:
    out.line(outcome_text(replay))


def _cancelled(out: Output, replay: Replay) -> None:
    out.line(outcome_text(replay) if replay.ended else "Cancelling; what is being sent is not cut off.")


def _show(out: Output, replay: Replay) -> None:
    out.field("ID", replay.id)
    out.field("Created", when_text(replay.created_at))
    out.field("State", replay.state)
    out.field("Requests", selection_text(replay))
    out.field("To", destination_text(replay))
    out.field("Progress", outcome_text(replay) if replay.ended else progress_text(replay))
    if not replay.summary:  # which has them too
        for target in replay.progress.targets:
            out.field("Target", target_text(target))
    out.field("Problem", replay.problem)
    if replay.summary:
        out.line()
        for line in replay.summary.splitlines():
            out.line(line)
