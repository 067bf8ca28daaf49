#!/usr/bin/env python3
"""Starts every installed Python that Hookline supports with the given arguments, one after the other.

    python packaging/each_python.py -- -m pytest -n auto

Pythons are looked for on PATH and among pyenv's. Of each minor version the newest is taken, in a virtual environment of
its own with everything installed. The output ends with a table: what came of each, and which were left out and why. The
exit code is 1 when any failed. Standard library only, and it starts on old Pythons, as environment.py does.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from environment import OLDEST, ROOT, VENV, dotted, venv_python, version_of
from system import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LIMIT_S = 3600
"""For one Python; what takes longer hangs."""
NAME = re.compile(r"python(3(\.\d+t?)?)?(\.exe)?")
# In a virtual environment the interpreter is the one it was made of.
FACTS = """
import sys, sysconfig
print(*sys.version_info[:3])
print(sys.implementation.name)
print(sysconfig.get_config_var("Py_GIL_DISABLED") or 0)
print(getattr(sys, "_base_executable", sys.executable))
"""


class Python(NamedTuple):
    """An interpreter; `unsupported` is the reason why Hookline cannot run on it, empty when it can."""

    version: tuple[int, ...]
    path: str
    unsupported: str = ""

    @property
    def minor(self) -> tuple[int, ...]:
        return self.version[:2]

    def __str__(self) -> str:
        return f"{dotted(self.version)} ({self.path})"


class Result(NamedTuple):
    """What came of one Python; `seconds` include the set-up."""

    python: Python
    passed: bool
    last_line: str
    seconds: float


# -- Finding -----------------------------------------------------------------------------------------------------------


def candidates() -> Iterator[Path]:
    """Files that may be a Python: the one running this, then PATH, then pyenv's."""
    yield Path(sys.executable)
    for folder in filter(None, os.environ.get("PATH", "").split(os.pathsep)):
        yield from (path for path in sorted(Path(folder).glob("python*")) if NAME.fullmatch(path.name))
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from sorted(versions.glob("*/bin/python3"))
    yield from sorted(versions.glob("*/python.exe"))


def python_at(path: Path) -> Python | None:
    """The interpreter, None when it does not start."""
    lines = (output(str(path), "-c", FACTS) or "").splitlines()
    if len(lines) != 4:
        return None
    version, name, no_gil, executable = lines
    unsupported = "" if name == "cpython" else f"it is {name}, Hookline needs CPython"
    if no_gil == "1":
        unsupported = "it is free-threaded, which Qt for Python does not support"
    return Python(tuple(map(int, version.split())), os.path.realpath(executable), unsupported)


def find(files: Iterable[Path]) -> tuple[list[Python], list[Path]]:
    """Each interpreter among `files` once, from the oldest that Hookline runs on; and the files that did not start.

    Those whose version was found elsewhere are not listed: pyenv puts a script for each of its versions on PATH.
    """
    pythons: dict[str, Python] = {}
    dead: list[Path] = []
    for file in files:
        python = python_at(file)
        if python is None:
            dead.append(file)
        elif python.version >= OLDEST:
            pythons.setdefault(python.path, python)
    known = {python.minor for python in pythons.values()}
    return list(pythons.values()), [file for file in dead if minor_in(file) >= OLDEST and minor_in(file) not in known]


def minor_in(file: Path) -> tuple[int, ...]:
    """The version that a file's path tells, `()` when it tells none."""
    told = re.findall(r"3\.\d+", str(file))
    return tuple(map(int, told[-1].split("."))) if told else ()


def choose(pythons: list[Python], other_than: tuple[int, ...] = ()) -> tuple[list[Python], dict[str, str]]:
    """The newest of each minor version but `other_than`, oldest first; and why each of the rest is left out."""
    newest: dict[tuple[int, ...], Python] = {}
    for python in pythons:
        rival = newest.get(python.minor)
        if not python.unsupported and python.minor != other_than and (not rival or python.version > rival.version):
            newest[python.minor] = python
    left_out: dict[str, str] = {}
    for python in pythons:
        if python.unsupported:
            left_out[str(python)] = python.unsupported
        elif python.minor == other_than:
            left_out[str(python)] = "--others leaves out this version"
        elif python != newest[python.minor]:
            left_out[str(python)] = f"{newest[python.minor]} is used"
    return sorted(newest.values()), left_out


# -- Running -----------------------------------------------------------------------------------------------------------


def venv_of(root: Path, python: Python) -> Path:
    """`.venv` where that is of this version, else one of its own beside it."""
    own = root / VENV
    return own if version_of(str(venv_python(own))) == python.version else root / f".venv-{dotted(python.minor)}"


def run(command: list[str]) -> tuple[bool, str]:
    """Run it, showing what it prints; whether it passed, and its last line."""
    timed_out = threading.Event()
    last = b""
    # In a session of its own, so that a program started by a test can be killed too: it would keep the pipe open.
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:

        def stop() -> None:
            timed_out.set()
            kill(process)

        assert process.stdout is not None
        limit = threading.Timer(LIMIT_S, stop)
        limit.daemon = True
        limit.start()
        try:
            for line in process.stdout:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
                last = line.strip() or last
        except KeyboardInterrupt:
            kill(process)
            raise
        finally:
            limit.cancel()
    if timed_out.is_set():
        return False, f"stopped after {LIMIT_S} s"
    return process.returncode == 0, last.decode("utf-8", "replace").strip("= ")


def kill(process: subprocess.Popen[bytes]) -> None:
    """End it with all that it started; on Windows, it alone."""
    if os.name == "nt":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def try_on(python: Python, arguments: list[str]) -> Result:
    """Set the environment up, then run `arguments` there."""
    print(f"\n== Python {python}", flush=True)
    begun = time.monotonic()
    venv = venv_of(ROOT, python)
    set_up = [python.path, str(ROOT / "packaging" / "environment.py"), "dev", "--venv", venv.name]
    passed, last_line = run(set_up)
    if passed:
        passed, last_line = run([str(venv_python(venv)), *arguments])
    return Result(python, passed, last_line, time.monotonic() - begun)


def table(results: list[Result], left_out: dict[str, str]) -> str:
    """One line for each Python."""
    lines = [
        f"Python {dotted(result.python.version):7} {'passed' if result.passed else 'FAILED'}  "
        f"{result.last_line} ({result.seconds:.0f} s with set-up)"
        for result in results
    ]
    return "\n".join(lines + [f"left out: Python {name}: {why}" for name, why in sorted(left_out.items())])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", action="store_true", help="leave out the version that `make test` uses")
    parser.add_argument("arguments", nargs="+", help="what Python is started with, after --")
    options = parser.parse_args()
    usual = version_of(str(venv_python(ROOT / VENV))) or sys.version_info[:3]
    pythons, dead = find(candidates())
    chosen, left_out = choose(pythons, usual[:2] if options.others else ())
    left_out.update({str(file): "it does not start" for file in dead})
    results = [try_on(python, options.arguments) for python in chosen]
    print(f"\n== On each Python from {dotted(OLDEST)} on\n{table(results, left_out) or 'none was found'}", flush=True)
    return 0 if all(result.passed for result in results) and (results or options.others) else 1


if __name__ == "__main__":
    sys.exit(main())
