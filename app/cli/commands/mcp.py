"""`hookline mcp`: Hookline's requests and deliveries as tools of an agent."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from app.cli.call import LocalCall
from app.cli.command import Commands
from app.cli.errors import CliError, Exit

HELP = "offer requests and deliveries to an agent (Model Context Protocol on standard input and output)"
DETAILS = (
    f"{HELP}. The agent can list, search, read and await, and nothing else unless an option below allows it. Secrets in"
    " headers, URLs and bodies are replaced by [redacted]. It uses the Hookline that runs, or opens the data for each"
    " call."
)
EXAMPLES = (
    ("The command to enter in the settings of an agent", "hookline mcp"),
    ("Let the agent send requests again", "hookline mcp --allow-replay"),
)
_NOT_INSTALLED = "hookline mcp needs a library that is not installed. Install it with: pip install 'hookline[mcp]'"
_PACKAGED = (
    "This package of Hookline does not include hookline mcp. Install Hookline with pip too:"
    " pip install 'hookline[mcp]'. The hookline mcp of that one uses the same data."
)


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("mcp", HELP, DETAILS, EXAMPLES, run_local=serve)
    for flag, text in (
        ("--allow-replay", "let the agent send captured requests again, to the targets or any URL"),
        ("--allow-send", "let the agent send requests to your endpoints"),
        ("--allow-create", "let the agent create endpoints"),
        ("--show-secrets", "do not redact passwords, tokens, cookies and the like"),
    ):
        parser.add_argument(flag, action="store_true", help=text)


def serve(call: LocalCall) -> int:
    """Serve until standard input ends. CliError if the protocol's library is not installed."""
    if find_spec("mcp") is None:
        raise CliError(_PACKAGED if call.services.is_bundle else _NOT_INSTALLED, Exit.ENVIRONMENT)
    import asyncio  # start-up time, as below

    from app.cli.connect import connect  # it imports much
    from app.cli.mcp_server import build_server  # as above

    options = call.options
    server = build_server(
        lambda: connect(call.folder, call.services, create=False),
        replay=options.allow_replay,
        send=options.allow_send,
        create=options.allow_create,
        show_secrets=options.show_secrets,
    )
    closed = False
    try:
        asyncio.run(server.run_stdio_async())
    except* BrokenPipeError:  # the library's task group wraps it
        sys.unraisablehook = _report_unless_closed
        closed = True
    if closed:
        raise BrokenPipeError
    return Exit.DONE


def _report_unless_closed(ignored: sys.UnraisableHookArgs) -> None:
    """From 3.13 on Python reports that what the library's own copy of standard output holds cannot be written."""
    if not isinstance(ignored.exc_value, BrokenPipeError):
        sys.__unraisablehook__(ignored)
