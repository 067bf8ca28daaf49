"""`hookline mcp`: Hookline's requests and deliveries as tools of an agent."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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

_PIECE = 64 * 1024


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("mcp", HELP, DETAILS, EXAMPLES, shared=("folder",), run_local=serve)
    for flag, text in (
        ("--allow-replay", "let the agent send captured requests again, to the targets or any URL"),
        ("--allow-send", "let the agent send requests to your endpoints"),
        ("--allow-create", "let the agent create endpoints"),
        ("--show-secrets", "do not redact passwords, tokens, cookies and the like"),
    ):
        parser.add_argument(flag, action="store_true", help=text)


def serve(call: LocalCall) -> int:
    """Serve until standard input ends, or Ctrl-C. CliError if the protocol's library is not installed."""
    if find_spec("mcp") is None:
        raise CliError(_PACKAGED if call.services.is_bundle else _NOT_INSTALLED, Exit.ENVIRONMENT)
    import asyncio  # start-up time, as below

    from app.cli.client import connect  # it imports much
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
        with _input_until_ctrl_c() as interrupted:
            asyncio.run(server.run_stdio_async())
    except* BrokenPipeError:  # the library's task group wraps it
        sys.unraisablehook = _report_unless_closed
        closed = True
    if closed:
        raise BrokenPipeError
    if interrupted():
        raise KeyboardInterrupt
    return Exit.DONE


@contextmanager
def _input_until_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Within it, Ctrl-C ends standard input too, as an agent that leaves does: the library waits for its input in a
    thread, which nothing else ends. Yields what says whether it was pressed; a second one waits for nothing."""
    number, nothing = sys.stdin.fileno(), os.open(os.devnull, os.O_WRONLY)
    source = os.dup(number)
    reading, writing = os.pipe()
    os.dup2(reading, number)
    os.close(reading)

    def end() -> None:
        os.dup2(nothing, writing)  # not closed: what is opened next would get its number, which the thread writes to

    def copy() -> None:
        with suppress(OSError), os.fdopen(writing, "wb", closefd=False) as pipe:
            while piece := os.read(source, _PIECE):
                pipe.write(piece)
                pipe.flush()
        end()

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        pressed.append(True)
        end()

    pressed: list[bool] = []
    threading.Thread(target=copy, name="input", daemon=True).start()
    before = signal.getsignal(signal.SIGINT)  # first, as it may be pressed at once
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


def _report_unless_closed(ignored: sys.UnraisableHookArgs) -> None:
    """From 3.13 on Python reports that what the library's own copy of standard output holds cannot be written."""
    if not isinstance(ignored.exc_value, BrokenPipeError):
        sys.__unraisablehook__(ignored)
