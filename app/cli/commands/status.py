"""`hookline status`, `plan` and `retention`: how the program is, its plan, and whether requests are deleted by age."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING

from app.cli.call import Call, LocalCall
from app.cli.command import Commands, seconds
from app.cli.errors import CliError, Exit
from app.cli.output import Output, seconds_text
from app.core.model import Plan
from app.core.rules import FREE_ENDPOINTS
from app.core.text import size_text, use_text
from app.core.tunnel import marked_url

if TYPE_CHECKING:
    from hookline.records import Account, EndpointUsage, Retention, Status, Storage

HELP = "show whether Hookline is running, where it captures, and what is stored"
DETAILS = f"{HELP}. With --wait, it waits first until Hookline captures; exit code 1 if it does not in time."
EXAMPLES = (
    ("Print the capture URL of the running Hookline", "hookline status --json | jq -r .capture_url"),
    ("Start Hookline in a script, and go on once it captures", "hookline serve & hookline status --wait 30"),
)
PLAN_HELP = "show or change the plan"
PLAN_DETAILS = f"{PLAN_HELP}: Free allows up to {FREE_ENDPOINTS} endpoints, Pro any number."
PLAN_EXAMPLES = (("Show the plan", "hookline plan"), ("Switch to Pro", "hookline plan pro"))
RETENTION_HELP = "show whether requests are deleted by age, or resume deleting"
RETENTION_DETAILS = (
    "Requests are deleted at the end of their endpoint's retention. Deleting waits while the clock is more than 30 days"
    " ahead of the last time Hookline ran, or behind it, or behind a stored request."
)
RETENTION_EXAMPLES = {
    "status": (("See why nothing is deleted by age", "hookline retention status"),),
    "resume": (("Resume deleting because the clock is right", "hookline retention resume"),),
}


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    parser = commands.add("status", HELP, DETAILS, EXAMPLES, run_local=status)
    text = "first wait until Hookline captures, for up to this many seconds"
    parser.add_argument("--wait", type=seconds, metavar="S", default=None, help=text)
    parser = commands.add("plan", PLAN_HELP, PLAN_DETAILS, PLAN_EXAMPLES, run=plan)
    parser.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        choices=[one.value for one in Plan],
        help="free or pro; shows the current plan if omitted",
    )
    verb = commands.noun("retention", RETENTION_HELP, RETENTION_DETAILS, examples=RETENTION_EXAMPLES)
    verb("status", retention_status, "show whether requests are deleted by age")
    verb("resume", resume_retention, "trust this machine's clock and resume deleting by age")


def status(call: LocalCall) -> int:
    """While it waits it opens nothing: what is being started needs the data folder for itself."""
    from app.cli.client import RunningProgram, connect  # start-up time: completions load this module

    wait, program = call.options.wait, RunningProgram(call.folder, call.out)
    if wait is not None and not program.captures(time.monotonic() + wait):
        so_far = f"did not capture within {seconds_text(wait)}" if wait else "does not capture"
        raise CliError(f"Hookline {so_far}. Start it on {call.folder}: hookline serve, or the window.", Exit.FAILURE)
    with connect(call.folder, call.services, create=False) if wait is None else program.client() as api:
        return Call(call.options, call.out, api).send(api.asked.status(), _print)


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


def plan(call: Call) -> int:
    """Change the plan if one is given, and print it."""
    plan, asked = call.options.plan, call.api.asked
    return call.send(asked.account() if plan is None else asked.set_plan(plan), _print_account)


def _print_account(out: Output, account: Account) -> None:
    out.field("Plan", account.plan)
    out.field("Endpoints", endpoints_text(account.endpoints))


def endpoints_text(usage: EndpointUsage) -> str:
    """`3 of 10`, or `3` where the plan sets no limit."""
    return f"{usage.held:,}" if usage.limit is None else f"{usage.held:,} of {usage.limit:,}"


def retention_status(call: Call) -> int:
    asked = call.api.asked.status()
    return call.send(asked, lambda out, status: _print_retention(out, status.retention), "retention")


def resume_retention(call: Call) -> int:
    return call.send(call.api.asked.resume_retention(), _print_retention)


def _print_retention(out: Output, retention: Retention) -> None:
    if retention.state == "running":
        out.line("Requests are deleted at the end of their endpoint's retention.")
    else:
        out.line(f"Waiting: {retention.reason}")
