"""`hookline doctor`: check the installation, the data folder and the system, and say what to do."""

from __future__ import annotations

import textwrap

from app.cli.call import LocalCall
from app.cli.command import Commands
from app.cli.errors import Exit
from app.cli.output import DIM, GREEN, RED, YELLOW, Output, terminal_cells, visible
from app.core.doctor import Finding, FindingState
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
    """Add the command to the command line."""
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
        call.out.json([_fields(finding) for finding in found])
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


def _fields(finding: Finding) -> dict[str, str | None]:
    return {"name": finding.name, "state": finding.state, "text": finding.text, "advice": finding.advice}
