"""`hookline plan`: show or change the account's plan."""

from __future__ import annotations

import argparse
from typing import Any

from app.cli.call import Call
from app.cli.errors import Exit
from app.cli.views import EndpointUsageView
from app.core.model import Plan
from app.core.rules import FREE_ENDPOINTS

HELP = "show or change the plan"
DETAILS = f"{HELP}: Free allows up to {FREE_ENDPOINTS} endpoints, Pro any number."
EXAMPLES = (("Show the plan", "hookline plan"), ("Switch to Pro", "hookline plan pro"))


def add_parser(commands: Any, shared: list[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("plan", parents=shared, help=HELP, description=DETAILS, examples=EXAMPLES)
    parser.set_defaults(run=plan)
    parser.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        choices=[one.value for one in Plan],
        help="free or pro; shows the current plan if omitted",
    )


async def plan(call: Call) -> int:
    """Change the plan if one is given, and print it."""
    requested, out = call.options.plan, call.out
    account = await (call.api.account() if requested is None else call.api.set_plan(requested))
    if out.as_json:
        out.json(account)
        return Exit.DONE
    out.field("Plan", account["plan"])
    out.field("Endpoints", endpoints_text(account["endpoints"]))
    return Exit.DONE


def endpoints_text(usage: EndpointUsageView) -> str:
    """`3 of 10`, or `3` where the plan sets no limit."""
    return f"{usage['held']:,}" if usage["limit"] is None else f"{usage['held']:,} of {usage['limit']:,}"
