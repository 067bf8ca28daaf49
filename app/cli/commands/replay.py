"""`hookline replay`: send captured requests again."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING, Any

from app.cli.call import Call
from app.cli.commands.replay_fields import (
    add_fields,
    check_options,
    edit_of,
    is_edited,
    selecting_fields,
    sending_fields,
)
from app.cli.commands.show import delivery_lines
from app.cli.errors import CliError, Exit
from app.cli.identifiers import ID_HELP, each_id, request_id, slug_given
from app.cli.output import Output
from app.cli.progress import uncancel, until_ended
from app.core.text import count_of

if TYPE_CHECKING:
    from app.cli.client import Answer
    from hookline.records import FullReplay, Replay

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


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "replay",
        parents=shared,
        help=HELP,
        description=DETAILS,
        examples=EXAMPLES,
        argument_default=argparse.SUPPRESS,
    )
    parser.set_defaults(run=replay, waits=True, background=False)
    parser.add_argument("ids", metavar="ID", nargs="*", default=[], help=ID_HELP)
    add_fields(parser)
    text = "do not wait for the end, which hookline replays shows; Hookline must be running"
    parser.add_argument("--background", action="store_true", help=text)


async def replay(call: Call) -> int:
    check_options(call.options)
    if call.options.background and not await is_running(call):
        raise CliError(
            "Hookline is not running, so nothing can be sent in the background. Start it with hookline, or hookline"
            " serve, or leave out --background.",
            Exit.ENVIRONMENT,
        )
    started = await call.api.answer(call.api.replays.asked.start(**await _fields(call)))
    if call.options.background:
        return call.show(started, _started)
    return await show_to_its_end(call, started)


def _started(out: Output, replay: Replay) -> None:
    out.line(f"Replaying {selection_text(replay)}. Its progress: hookline replays {replay.id}")


async def _fields(call: Call) -> dict[str, Any]:
    options = call.options
    fields = sending_fields(options)
    for name in ("endpoint", "to_endpoint"):
        if hasattr(options, name):
            await call.api.endpoints.get(slug_given(getattr(options, name)))
    if not options.ids:
        return {**selecting_fields(options), **fields}
    ids, missing = await each_id(call.api, request_id, options.ids)
    if missing:
        raise missing[0]
    if is_edited(options):
        fields["edit"] = edit_of(options, await call.api.requests.head(ids[0]))
    return {"ids": ids, **fields}


async def is_running(call: Call) -> bool:
    """Whether a program has the data folder open and captures, rather than this command alone."""
    return (await call.api.status()).capture_url is not None


async def show_to_its_end(call: Call, started: Answer[FullReplay]) -> int:
    """Follow a replay and print what became of it; returns the exit code."""
    answer, interrupted = await _follow(call, started)
    ended = answer.value
    if interrupted:
        call.out.message(outcome_text(ended))
    if call.out.as_json:
        call.out.json(answer.json)
    elif ended.progress.total and ended.progress.total == ended.progress.incomplete:
        pass  # the problem says it
    elif not ended.progress.total and ended.state == "done":
        call.out.message("No requests match.")
    elif not await _show_deliveries(call, ended) and ended.summary:
        for line in ended.summary.splitlines():
            call.out.line(line)
    if ended.problem:
        more = " To send them too, add --incomplete." if ended.progress.incomplete else ""
        call.out.message(f"{ended.problem}{more}")
    if interrupted:
        return Exit.INTERRUPTED
    return Exit.DONE if all_delivered(ended) else Exit.FAILURE


async def _follow(call: Call, started: Answer[FullReplay]) -> tuple[Answer[FullReplay], bool]:
    """The replay once it has ended, and whether Ctrl-C cancelled it. A second Ctrl-C does not wait for its end."""
    import asyncio  # start-up time: the shells' completions load this module

    identity = started.value.id

    async def ended() -> Answer[FullReplay]:
        asked = call.api.replays.asked.get(identity)
        return await until_ended(call.out, started, lambda: call.api.answer(asked), _progress)

    try:
        return await ended(), False
    except asyncio.CancelledError:
        uncancel()
    call.out.message("Cancelling; waiting for what is being sent.")
    with contextlib.suppress(CliError):  # it has just ended
        await call.api.replays.cancel(identity)
    return await ended(), True


def _progress(replay: FullReplay) -> str | None:
    return None if replay.ended else progress_text(replay)


async def _show_deliveries(call: Call, replay: FullReplay) -> bool:
    """Print the deliveries of a single request that was sent once; whether it was."""
    if replay.ids is None or len(replay.ids) != 1 or replay.progress.sent != 1:
        return False
    request = await call.api.requests.head(replay.ids[0])
    made = [delivery for delivery in request.deliveries if delivery.replay == replay.id]
    for delivery in made:
        delivery_lines(call.out, delivery)
    return bool(made)


def progress_text(replay: Replay) -> str:
    """`340 of 1,000 sent, 3 failed, 52.5 per second`."""
    progress, state = replay.progress, replay.state
    if state == "queued":
        return "Waiting for another replay to end."
    parts = [sent_text(replay)]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.dropped:
        parts.append(f"{progress.dropped:,} dropped")
    if progress.incomplete:
        parts.append(f"{progress.incomplete:,} incomplete left out")
    parts.append("paused" if state == "paused" else f"{progress.rate:,g} per second")
    return ", ".join(parts)


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


def all_delivered(replay: Replay) -> bool:
    """Whether it ended by itself and nothing failed."""
    return replay.state == "done" and not replay.progress.failed and bool(replay.progress.sent)


def selection_text(replay: Replay) -> str:
    """`3 requests`, `orders`, `orders: path:/x`, `all endpoints`."""
    if replay.id_count is not None:
        return count_of(replay.id_count, "request")
    return (replay.endpoint or "all endpoints") + (f": {replay.q}" if replay.q else "")


def destination_text(replay: Replay) -> str:
    if replay.url is not None:
        return replay.url
    return "their targets" if replay.to_endpoint is None else f"endpoint {replay.to_endpoint}"
