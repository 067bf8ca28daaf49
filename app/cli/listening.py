"""The options of `serve` and of the window: what to listen on, for this run alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from app.cli.errors import CliError, Exit
from app.cli.options import ServeOptions, WindowOptions
from app.core.launch_request import parse_or_broken_link
from app.core.links import BrokenLink, LinkError, parse_link
from app.core.rules import name_error
from app.core.settings import Settings, check

NAMES = ("port", "host", "api_port", "base_url")
SERVE_EXAMPLES = (
    (
        "Capture without a window, with an endpoint, and print each request",
        'hookline serve --endpoint "Stripe test" --tail',
    ),
    ("Capture through a tunnel", "hookline serve --base-url https://example.ngrok.app"),
)
START_NAMES = ("new_endpoint", "minimized")


def listen_parser() -> argparse.ArgumentParser:
    """A parent with the options both have; what is not given is absent."""
    parser = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parser.add_argument_group("for this run only, overriding the settings")
    group.add_argument(
        "--port", type=int, metavar="PORT", help="capture port, which senders connect to (8787); 0 picks a free one"
    )
    group.add_argument("--host", metavar="ADDRESS", help="the address to listen on (127.0.0.1)")
    group.add_argument("--api-port", type=int, metavar="PORT", help="port of the local API (8788); 0 picks a free one")
    group.add_argument("--base-url", metavar="URL", help="what capture URLs start with, such as your tunnel's URL")
    return parser


def start_parser() -> argparse.ArgumentParser:
    """A parent with what the window alone can do at its start; what is not given is absent."""
    parser = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--new-endpoint", action="store_true", help="open the form for a new endpoint")
    group.add_argument("--minimized", action="store_true", help="start minimized or in the tray, as at sign-in")
    return parser


def add_serve(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Add `serve` to the command line."""
    text = "capture without a window until Ctrl-C"
    serve = commands.add_parser("serve", parents=parents, help=text, description=text, examples=SERVE_EXAMPLES)
    serve.add_argument(
        "--endpoint",
        dest="endpoints",
        action="append",
        default=[],
        metavar="NAME",
        help="print the URL of this endpoint, and create it if it does not exist; may be repeated",
    )
    serve.add_argument("--tail", action="store_true", help="print a line for each captured request")
    serve.add_argument(
        "--set-aside-damaged", action="store_true", help="if the database is damaged, move it aside and start fresh"
    )
    serve.add_argument(
        "--new-database", action="store_true", help="if the database is missing, start with an empty one"
    )


def given_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The settings given, each checked by its own rule; CliError names the first that breaks one."""
    given = {name: getattr(options, name) for name in NAMES if hasattr(options, name)}
    # 0 is no setting, which would have to hold for the next start too, but a fine port for one run.
    ruled = {name: value for name, value in given.items() if value != 0}
    for error in check(Settings(**ruled)):
        if error.field in given:
            raise CliError(error.message, Exit.USAGE)
    return given


def _endpoint_name(name: str) -> str:
    message = name_error(name)
    if message:
        raise CliError(f"--endpoint: {message}", Exit.USAGE)
    return name.strip()  # as it is kept, so that it is found again


def serve(options: argparse.Namespace, folder: Path) -> ServeOptions:
    """The record that `serve` takes."""
    return ServeOptions(
        data_dir=folder,
        endpoints=tuple(map(_endpoint_name, options.endpoints)),
        tail=options.tail,
        set_aside_damaged=options.set_aside_damaged,
        new_database=options.new_database,
        **given_settings(options),
    )


def window(options: argparse.Namespace, folder: Path) -> WindowOptions:
    """The record that the window takes. CliError for a broken link that was typed; the window shows one clicked."""
    start = {name: getattr(options, name) for name in START_NAMES if hasattr(options, name)}
    link = parse_or_broken_link(options.link) if options.link is not None else None
    if isinstance(link, BrokenLink) and sys.stderr is not None and sys.stderr.isatty():
        _refuse(link)
    return WindowOptions(data_dir=folder, link=link, **start, **given_settings(options))


def _refuse(link: BrokenLink) -> None:
    try:
        parse_link(link.text)
    except LinkError as error:
        raise CliError(str(error), Exit.USAGE) from error
