"""`hookline selftest`: check that this installation works on this system."""

from __future__ import annotations

import argparse

from app.cli.call import CliServices
from app.cli.command import Commands, seconds
from app.cli.errors import CliError, Exit
from app.cli.options import SelftestOptions
from app.cli.output import Output

HELP = "test the whole program in a temporary folder: window, five requests, storage"
EXAMPLES = (("Test what a server without a display needs", "hookline selftest --headless"),)
DESCRIPTION = (
    "Starts the program with a hidden window, a temporary data folder and free ports, sends five requests"
    " to its capture port and reads them back. Your data, your settings and a running Hookline are not touched."
)


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("selftest", HELP, DESCRIPTION, EXAMPLES, shared=("json",), run_alone=selftest)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--on-screen", action="store_true", help="show the window while testing")
    where.add_argument(
        "--headless", action="store_true", help="test without the window: only what hookline serve needs"
    )
    limit = SelftestOptions().time_limit_s
    parser.add_argument(
        "--time-limit",
        type=seconds,
        default=limit,
        metavar="SECONDS",
        help=f"give up after this many seconds ({limit:g})",
    )


def selftest(options: argparse.Namespace, out: Output, services: CliServices) -> int:
    """CliError for options that do not apply to it."""
    if hasattr(options, "data_dir"):
        raise CliError("The selftest uses its own data folder. Leave out --data-dir.", Exit.USAGE)
    if not options.time_limit:
        raise CliError("--time-limit must be a number of seconds above 0.", Exit.USAGE)
    return services.selftest(
        SelftestOptions(
            as_json=options.as_json,
            on_screen=options.on_screen,
            headless=options.headless,
            time_limit_s=options.time_limit,
        )
    )
