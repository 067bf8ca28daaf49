"""`python -m benchmarks.commands`: processor time of three commands as a multiple of that of `python -c pass`.

Processor time, because what a command takes in all is mostly the machine's matter. The commands and the bare Python run
in turn, round after round.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.lines import Line, exit_status
from benchmarks.programs import ROOT, BenchError, fresh_folder, make_endpoint, running

PROGRAM = "import sys; from hookline.__main__ import main; sys.exit(main())"
"""What the installed script `hookline` does."""


def commands(slug: str) -> dict[str, tuple[list[str], str, float]]:
    """By name: the arguments, what is printed, and the bar."""
    return {
        "hookline --version": (["--version"], "hookline ", 4),
        "hookline endpoint list, of a running program": (["endpoint", "list"], slug, 10),
        "completion of a slug": (["--complete", f"hookline endpoint show {slug[:3]}"], slug, 7),
    }


def measure(data: Path, slug: str, rounds: int) -> list[Line]:
    """Medians of the rounds. BenchError when a command does not print what it is to print."""
    environment = {**os.environ, "HOOKLINE_DATA_DIR": str(data)}
    named = commands(slug)
    bare: list[float] = []
    taken: dict[str, list[float]] = {name: [] for name in named}
    for number in range(rounds + 1):
        bare_ms, _ = _run(["pass"], environment)
        for name, (arguments, expected, _) in named.items():
            ms, printed = _run([PROGRAM, *arguments], environment)
            if expected not in printed:
                raise BenchError(f"{name} printed {printed!r}")
            if number:  # the first compiles what was never loaded
                taken[name].append(ms)
        if number:
            bare.append(bare_ms)
    lines = [Line("processor time of python -c pass", median(bare), "ms")]
    for name, (*_, bar) in named.items():
        ratios = [ms / bare_ms for ms, bare_ms in zip(taken[name], bare, strict=True)]
        lines += [Line(f"  {name}", median(taken[name]), "ms"), Line("    a multiple of it", median(ratios), "x", bar)]
    return lines


def _run(code: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """Milliseconds of processor time, and what was printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", *code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise BenchError(f"{' '.join(code[1:])} failed: {done.stderr.strip()}")
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000, done.stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """1 when a bar is missed, or something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.commands", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="how often each command is run")
    options = parser.parse_args(arguments)
    try:
        with fresh_folder("hookline-commands-") as folder:
            data = folder / "data"
            slug = make_endpoint(data)
            with running(data, folder / "program.log", "-m", "hookline", "serve"):
                lines = measure(data, slug, options.rounds)
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    print("\n".join(map(str, lines)))
    return exit_status(lines)


if __name__ == "__main__":
    raise SystemExit(main())
