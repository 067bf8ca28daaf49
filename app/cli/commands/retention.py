"""`hookline retention`: show whether requests are deleted by age, and resume that after a clock problem."""

from __future__ import annotations

import argparse
from typing import Any

from app.cli.call import Call, Command
from app.cli.errors import Exit
from app.cli.views import RetentionView

HELP = "show whether requests are deleted by age, or resume deleting"
RESUME_HELP = "trust this machine's clock and resume deleting by age"
DETAILS = (
    "Requests are deleted at the end of their endpoint's retention. Deleting waits while the clock is more than 30 days"
    " ahead of the last time Hookline ran, or behind it, or behind a stored request."
)


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the noun and its verbs to the command line."""
    noun = commands.add_parser("retention", help=HELP, description=DETAILS)
    verbs = noun.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)

    def verb(name: str, run: Command, text: str, example: str) -> None:
        examples = ((example, f"hookline retention {name}"),)
        verbs.add_parser(name, parents=shared, help=text, description=text, examples=examples).set_defaults(run=run)

    verb("status", status, "show whether requests are deleted by age", "See why nothing is deleted by age")
    verb("resume", resume, RESUME_HELP, "Resume deleting because the clock is right")


async def status(call: Call) -> int:
    return _print(call, (await call.api.status())["retention"])


async def resume(call: Call) -> int:
    return _print(call, await call.api.resume_retention())


def _print(call: Call, retention: RetentionView) -> int:
    if call.out.as_json:
        call.out.json(retention)
    elif retention["state"] == "running":
        call.out.line("Requests are deleted at the end of their endpoint's retention.")
    else:
        call.out.line(f"Waiting: {retention['reason']}")
    return Exit.DONE
