"""`hookline plan`: show or change the account's plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.command import Commands
from app.cli.output import Output
from app.core.model import Plan
from app.core.rules import FREE_ENDPOINTS

if TYPE_CHECKING:
    from hookline.records import Account, EndpointUsage

HELP = "show or change the plan"
DETAILS = f"{HELP}: Free allows up to {FREE_ENDPOINTS} endpoints, Pro any number."
EXAMPLES = (("Show the plan", "hookline plan"), ("Switch to Pro", "hookline plan pro"))


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("plan", HELP, DETAILS, EXAMPLES, run=plan)
    parser.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        choices=[one.value for one in Plan],
        help="free or pro; shows the current plan if omitted",
    )


async def plan(call: Call) -> int:
    """Change the plan if one is given, and print it."""
    plan = call.options.plan
    return call.show(
        await call.api.answer(call.api.asked.account() if plan is None else call.api.asked.set_plan(plan)), _print
    )


def _print(out: Output, account: Account) -> None:
    out.field("Plan", account.plan)
    out.field("Endpoints", endpoints_text(account.endpoints))


def endpoints_text(usage: EndpointUsage) -> str:
    """`3 of 10`, or `3` where the plan sets no limit."""
    return f"{usage.held:,}" if usage.limit is None else f"{usage.held:,} of {usage.limit:,}"
