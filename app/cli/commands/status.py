"""`hookline status`: show the program's status."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from app.cli.argument_types import seconds
from app.cli.call import Call, LocalCall
from app.cli.command import Commands
from app.cli.commands.plan import endpoints_text
from app.cli.errors import CliError, Exit
from app.cli.output import Output, seconds_text
from app.core.text import size_text, use_text
from app.core.tunnel.tunnel import marked_url

if TYPE_CHECKING:
    from hookline.records import Status, Storage

HELP = "show whether Hookline is running, where it captures, and what is stored"
DETAILS = f"{HELP}. With --wait, it waits first until Hookline captures; exit code 1 if it does not in time."
EXAMPLES = (
    ("Print the capture URL of the running Hookline", "hookline status --json | jq -r .capture_url"),
    ("Start Hookline in a script, and go on once it captures", "hookline serve & hookline status --wait 30"),
)


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("status", HELP, DETAILS, EXAMPLES, run_local=status)
    text = "first wait until Hookline captures, for up to this many seconds"
    parser.add_argument("--wait", type=seconds, metavar="S", default=None, help=text)


async def status(call: LocalCall) -> int:
    """While it waits it opens nothing: what is being started needs the data folder for itself."""
    from app.cli.client import ApiClient  # start-up time: httpx is for commands that run
    from app.cli.connect import (
        RunningProgram,  # as above
        connect,  # as above
    )

    options = call.options
    if options.wait is None:
        async with connect(call.folder, call.services, create=False) as api:
            return await show_status(Call(options=options, out=call.out, api=api))
    address = await RunningProgram(call.folder, call.out).capturing(time.monotonic() + options.wait)
    if address is None:
        so_far = f"did not capture within {seconds_text(options.wait)}" if options.wait else "does not capture"
        raise CliError(f"Hookline {so_far}. Start it on {call.folder}: hookline serve, or the window.", Exit.FAILURE)
    async with ApiClient(address) as api:
        return await show_status(Call(options=options, out=call.out, api=api))


async def show_status(call: Call) -> int:
    return await call.send(call.api.asked.status(), _print)


def _print(out: Output, status: Status) -> None:
    """With uptime and addresses only while a program runs."""
    counts = status.counts
    if status.pid == os.getpid():
        out.field("Running", "no; start it with hookline, or hookline serve")
    else:
        uptime = timedelta(seconds=int(status.uptime_seconds))
        out.field("Running", f"process {status.pid}, version {status.version}, for {uptime}")
        here = status.capture_url or ("not here, but on other nodes" if status.captures else "nowhere")
        out.field("Captures at", here)
        if status.base_url and status.base_url != status.capture_url:
            out.field("Base URL", marked_url(status.base_url, status.tunnel))
        out.field("Refused", f"{counts.refused:,}")
    out.field("Store", status.store)
    out.field("Plan", status.plan)
    out.field("Endpoints", endpoints_text(status.endpoints))
    out.field("Requests", f"{counts.requests:,}, {counts.unread:,} unread")
    out.field("Stored", stored_text(status.stored))
    out.field("Responses", use_text(status.stored.response_bytes, status.stored.response_limit))
    size = status.database_bytes
    out.field("Database", "cannot be read" if size is None else size_text(size))
    retention = status.retention
    out.field("Retention", retention.state if retention.reason is None else f"waiting. {retention.reason}")
    out.field("Storage", status.storage)
    for warning in status.warnings:
        out.field("Warning", warning)


def stored_text(stored: Storage) -> str:
    """`1.2 GB of 20 GB`, and what happens while the limit is reached."""
    then = "senders get 503" if stored.capturing_stopped else "the oldest requests are being deleted"
    return use_text(stored.bytes, stored.limit) + (f": full, {then}" if stored.limit_reached else "")
