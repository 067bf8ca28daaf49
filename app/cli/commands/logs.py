"""`hookline logs`: the last lines of the program's log."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path

from app.cli.call import LocalCall
from app.cli.command import Commands, row_limit
from app.cli.errors import CliError, Exit
from app.cli.output import when_closed
from app.core.files import LOG_NAME, OLD_LOGS

HELP = "print the last lines of the program's log"
DETAILS = (
    f"{HELP}: problems of hookline serve and of the window, from {LOG_NAME} in the data folder. Requests"
    " are not logged; see hookline requests and hookline tail."
)
EXAMPLES = (
    ("See the last lines", "hookline logs"),
    ("Follow the log", "hookline logs -f"),
)
LINES = 50
POLL_S = 0.25


def add_parser(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add("logs", HELP, DETAILS, EXAMPLES, run_local=logs)
    parser.add_argument("-f", "--follow", action="store_true", help="go on printing new lines until Ctrl-C")
    parser.add_argument(
        "-n", dest="count", type=row_limit, metavar="N", default=LINES, help=f"how many lines to print first ({LINES})"
    )


def logs(call: LocalCall) -> int:
    """Print the last lines, and with `--follow` those that come."""
    path = call.folder / LOG_NAME
    try:
        lines, end = last_lines(path, call.options.count)
        for line in lines:
            _print(call, line)
        if not lines and not call.options.follow:
            call.out.message(f"Nothing is logged in {path}.")
        if call.options.follow:
            _follow(call, path, end)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise CliError(f"{path} cannot be read: {error.strerror}.", Exit.ENVIRONMENT) from error
    return Exit.DONE


def last_lines(path: Path, count: int) -> tuple[list[str], int]:
    """The last `count` lines of the log and its older files, and how many bytes of the newest were read."""
    lines: deque[str] = deque(maxlen=count)
    end = 0
    for old in (*(path.with_name(f"{path.name}.{number}") for number in range(OLD_LOGS, 0, -1)), path):
        try:
            data = old.read_bytes()
        except FileNotFoundError:
            data = b""
        end = data.rfind(b"\n") + 1
        lines.extend(data[:end].decode("utf-8", "backslashreplace").splitlines())
    return list(lines), end


def _follow(call: LocalCall, path: Path, end: int) -> None:
    closed = threading.Event()
    when_closed(call.out.out, closed.set)
    identity = _identity(path)
    while not closed.wait(POLL_S):
        if (now := _identity(path)) != identity:
            # Rotated: the rest of the file that was read is the newest of the older ones.
            old = path.with_name(f"{path.name}.1")
            if identity is not None and _identity(old) == identity:
                _print_from(call, old, end)
            identity, end = now, 0
        if identity is not None:
            end = _print_from(call, path, end)
    raise BrokenPipeError


def _identity(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _print_from(call: LocalCall, path: Path, start: int) -> int:
    """Print the complete lines from byte `start` on; returns where they end."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            data = file.read()
    except FileNotFoundError:  # being rotated
        return start
    end = data.rfind(b"\n") + 1
    for line in data[:end].decode("utf-8", "backslashreplace").splitlines():
        _print(call, line)
    return start + end


def _print(call: LocalCall, line: str) -> None:
    if call.out.as_json:
        call.out.json_line({"line": line})
    else:
        call.out.line(line)
        call.out.out.flush()
