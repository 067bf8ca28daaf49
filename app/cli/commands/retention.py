"""`hookline retention`: show whether requests are deleted by age, and resume that after a clock problem."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.command import Commands
from app.cli.errors import Exit
from app.cli.output import Output

if TYPE_CHECKING:
    from hookline.records import Retention

HELP = "show whether requests are deleted by age, or resume deleting"
RESUME_HELP = "trust this machine's clock and resume deleting by age"
DETAILS = (
    "Requests are deleted at the end of their endpoint's retention. Deleting waits while the clock is more than 30 days"
    " ahead of the last time Hookline ran, or behind it, or behind a stored request."
)
EXAMPLES = {
    "status": (("See why nothing is deleted by age", "hookline retention status"),),
    "resume": (("Resume deleting because the clock is right", "hookline retention resume"),),
}


def add_parser(commands: Commands) -> None:
    """Add the noun and its verbs to the command line."""
    verb = commands.noun("retention", HELP, DETAILS, examples=EXAMPLES).verb
    verb("status", status, "show whether requests are deleted by age")
    verb("resume", resume, RESUME_HELP)


async def status(call: Call) -> int:
    status = await call.api.answer(call.api.asked.status())
    if call.out.as_json:
        call.out.json(status.json["retention"])
    else:
        _print(call.out, status.value.retention)
    return Exit.DONE


async def resume(call: Call) -> int:
    return await call.send(call.api.asked.resume_retention(), _print)


def _print(out: Output, retention: Retention) -> None:
    if retention.state == "running":
        out.line("Requests are deleted at the end of their endpoint's retention.")
    else:
        out.line(f"Waiting: {retention.reason}")
