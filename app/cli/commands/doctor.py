"""`hookline doctor`: check the installation, the data folder and the system, and say what to do; `hookline logs`: the
last lines of the program's log; `hookline selftest`: check that this installation works on this system."""

from __future__ import annotations

import argparse
import textwrap
import threading
import time
from collections import deque
from pathlib import Path

from app.cli.call import LocalCall
from app.cli.command import Commands, add_count, seconds
from app.cli.errors import CliError, Exit
from app.cli.options import CliServices, SelftestOptions
from app.cli.output import DIM, GREEN, RED, YELLOW, Output, terminal_cells, visible, when_closed
from app.core.doctor import Finding, FindingState
from app.core.files import LOG_NAME, OLD_LOGS
from app.core.text import count_of

HELP = "check installation, data folder and system, and say what to do"
DETAILS = f"{HELP}. Nothing is changed, and Hookline may be running. Exit codes: 0 no problem, 1 a problem."
EXAMPLES = (
    ("See what is wrong", "hookline doctor"),
    ("Check all of a large database", "hookline doctor --full"),
    ("Print the findings for a script", "hookline doctor --json | jq -c .[]"),
)
MARKS: dict[FindingState, tuple[str, str]] = {
    "ok": ("ok", GREEN),
    "warning": ("warning", YELLOW),
    "problem": ("problem", RED),
}
STATE_WIDTH, NAME_WIDTH = 7, 16
INDENT = STATE_WIDTH + NAME_WIDTH + 4
MIN_WIDTH = 30


def add_parser(commands: Commands) -> None:
    """Add the commands to the command line."""
    _add_doctor(commands)
    _add_logs(commands)
    _add_selftest(commands)


def _add_doctor(commands: Commands) -> None:
    parser = commands.add("doctor", HELP, DETAILS, EXAMPLES, run_local=doctor)
    text = "check all of the database and its indexes, however long it takes"
    parser.add_argument("--full", action="store_true", default=False, help=text)


def doctor(call: LocalCall) -> int:
    found: list[Finding] = []
    for finding in call.services.doctor(call.folder, call.options.full):
        found.append(finding)
        if not call.out.as_json:
            _print(call.out, finding)
    problems = sum(finding.state == "problem" for finding in found)
    if call.out.as_json:
        call.out.json([{"name": one.name, "state": one.state, "text": one.text, "advice": one.advice} for one in found])
    elif call.out.terminal:
        warnings = sum(finding.state == "warning" for finding in found)
        counts = f"{count_of(problems, 'problem')}, {count_of(warnings, 'warning')}"
        call.out.line()
        call.out.line(f"{counts}." if problems or warnings else "Everything is fine.")
    return Exit.FAILURE if problems else Exit.DONE


def _print(out: Output, finding: Finding) -> None:
    """A line for the result and one for the advice; in a pipe one line, separated by tabs."""
    mark, code = MARKS[finding.state]
    if not out.terminal:
        print("\t".join(map(visible, (mark, finding.name, finding.text, finding.advice or ""))), file=out.out)
        return
    columns = terminal_cells()
    indent = INDENT if columns - INDENT >= MIN_WIDTH else 2  # on a narrow terminal the text is below the name
    room = max(MIN_WIDTH, columns - indent)
    lines = [*textwrap.wrap(visible(finding.text), room)]
    head = f"{out.style(f'{mark:<{STATE_WIDTH}}', code)}  {finding.name:<{NAME_WIDTH}}"
    print(f"{head}  {lines.pop(0)}" if indent == INDENT and lines else head.rstrip(), file=out.out)
    for line in lines:
        print(" " * indent + line, file=out.out)
    for line in textwrap.wrap(f"→ {visible(finding.advice)}", room, subsequent_indent="  ") if finding.advice else ():
        print(" " * indent + out.style(line, DIM), file=out.out)
    out.out.flush()  # a check of a large database takes its time


LOGS_HELP = "print the last lines of the program's log"
LOGS_DETAILS = (
    f"{LOGS_HELP}: problems of hookline serve and of the window, from {LOG_NAME} in the data folder. Requests"
    " are not logged; see hookline requests and hookline tail."
)
LOGS_EXAMPLES = (
    ("See the last lines", "hookline logs"),
    ("Follow the log", "hookline logs -f"),
)
LINES = 50
POLL_S = 0.25


def _add_logs(commands: Commands) -> None:
    parser = commands.add("logs", LOGS_HELP, LOGS_DETAILS, LOGS_EXAMPLES, run_local=logs)
    parser.add_argument("-f", "--follow", action="store_true", help="go on printing new lines until Ctrl-C")
    add_count(parser, "how many lines to print first", LINES, least=0)


def logs(call: LocalCall) -> int:
    """Print the last lines, and with `--follow` those that come."""
    path = call.folder / LOG_NAME
    try:
        lines, end = last_lines(path, call.options.count)
        for line in lines:
            _print_line(call, line)
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
    while not closed.is_set():
        time.sleep(POLL_S)  # Ctrl-C may leave a wait for an event with a lock that it has not
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
        _print_line(call, line)
    return start + end


def _print_line(call: LocalCall, line: str) -> None:
    if call.out.as_json:
        call.out.json_line({"line": line})
    else:
        call.out.line(line)
        call.out.out.flush()


SELFTEST_HELP = "test the whole program in a temporary folder: window, five requests, storage"
SELFTEST_EXAMPLES = (("Test what a server without a display needs", "hookline selftest --headless"),)
SELFTEST_DETAILS = (
    "Starts the program with a hidden window, a temporary data folder and free ports, sends five requests"
    " to its capture port and reads them back. Your data, your settings and a running Hookline are not touched."
)


def _add_selftest(commands: Commands) -> None:
    parser = commands.add(
        "selftest", SELFTEST_HELP, SELFTEST_DETAILS, SELFTEST_EXAMPLES, shared=("json",), run_alone=selftest
    )
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
