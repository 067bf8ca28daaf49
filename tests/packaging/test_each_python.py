"""Which Pythons the tests are run on, and what is said of those that are left out."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import each_python
from each_python import Python, Result

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]

Main = Callable[..., int]

posix = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in programs are shell scripts")


def interpreter(path: Path, version: str, name: str = "cpython", no_gil: int = 0) -> Path:
    """A program that says of itself what a Python would, whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nprintf '%s\\n' '{version}' {name} {no_gil} '{path}'\n", "utf-8")
    path.chmod(0o755)
    return path


def python(version: str, path: str = "", unsupported: str = "") -> Python:
    return Python(tuple(map(int, version.split("."))), path or f"/opt/{version}/bin/python3", unsupported)


def test_it_knows_the_python_that_runs_it() -> None:
    own = each_python.python_at(Path(sys.executable))
    assert own is not None
    assert own.version == sys.version_info[:3]
    assert not own.unsupported
    # That of the environment's base, so that the environment can be made anew from it.
    assert Path(own.path).parent == Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable))).parent


@posix
def test_pythons_are_found_on_path_and_among_those_of_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newer = interpreter(tmp_path / "bin" / "python3.99", "3 99 2")
    (tmp_path / "bin" / "python3").symlink_to(newer)
    interpreter(tmp_path / "bin" / "python3.10", "3 10 9")
    interpreter(tmp_path / "bin" / "python3-config", "3 99 3")
    shim = tmp_path / "shims" / "python3.98"
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\necho 'python3.98: command not found' >&2\nexit 127\n", "utf-8")
    shim.chmod(0o755)
    pyenv = interpreter(tmp_path / "pyenv" / "versions" / "3.98.1" / "bin" / "python3", "3 98 1")
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / name) for name in ("shims", "gone", "bin")))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    pythons, dead = each_python.find(each_python.candidates())
    assert pythons[1:] == [python("3.99.2", str(newer)), python("3.98.1", str(pyenv))]
    assert dead == []  # 3.98 was found
    (pyenv.parent.parent / "bin" / "python3").unlink()
    assert each_python.find(each_python.candidates()) == (pythons[:2], [shim])


@posix
@pytest.mark.parametrize(
    ("name", "no_gil", "reason"),
    [
        ("pypy", 0, "it is pypy, Hookline needs CPython"),
        ("cpython", 1, "it is free-threaded, which Qt for Python does not support"),
    ],
)
def test_a_python_that_hookline_cannot_run_on_is_named_with_the_reason(
    tmp_path: Path, name: str, no_gil: int, reason: str
) -> None:
    found = each_python.python_at(interpreter(tmp_path / "python3", "3 13 0", name, no_gil))
    assert found is not None
    assert each_python.choose([found]) == ([], {str(found): reason})


def test_of_each_minor_version_the_newest_is_taken_and_the_rest_is_named() -> None:
    old, new, same, other = python("3.12.1"), python("3.12.9"), python("3.12.9", "/usr/bin/python3"), python("3.11.2")
    chosen, left_out = each_python.choose([old, new, same, other])
    assert chosen == [other, new]
    assert left_out == dict.fromkeys((str(old), str(same)), "3.12.9 (/opt/3.12.9/bin/python3) is used")


def test_an_unsupported_python_is_never_chosen() -> None:
    threaded, plain = python("3.13.9", unsupported="it is free-threaded"), python("3.13.0")
    assert each_python.choose([threaded, plain]) == ([plain], {str(threaded): "it is free-threaded"})


def test_one_version_can_be_left_out() -> None:
    own, other = python("3.11.7"), python("3.13.0")
    chosen, left_out = each_python.choose([own, other], other_than=(3, 11))
    assert chosen == [other]
    assert left_out == {str(own): "--others leaves out this version"}


@posix
def test_a_python_uses_the_usual_environment_only_if_that_is_its_own(tmp_path: Path) -> None:
    usual = tmp_path / ".venv" / "bin" / "python"
    usual.parent.mkdir(parents=True)
    usual.write_text("#!/bin/sh\necho 3 11 7\n", "utf-8")
    usual.chmod(0o755)
    assert each_python.venv_of(tmp_path, python("3.11.7")).name == ".venv"
    assert each_python.venv_of(tmp_path, python("3.11.2")).name == ".venv-3.11"
    assert each_python.venv_of(tmp_path, python("3.13.0")).name == ".venv-3.13"


def test_a_run_shows_what_is_printed_and_ends_with_its_last_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    code = "import sys; print('first'); print('== 1 passed in 2 s =='); print(); sys.exit(int(sys.argv[1]))"
    assert each_python.run([sys.executable, "-c", code, "0"]) == (True, "1 passed in 2 s")
    assert each_python.run([sys.executable, "-c", code, "1"]) == (False, "1 passed in 2 s")
    assert capfdbinary.readouterr().out.split()[:2] == [b"first", b"=="]


@posix
@pytest.mark.parametrize("script", ["echo waiting; sleep 50", "sleep 50 & sleep 50", "sleep 50 & exit 0"])
def test_a_run_that_hangs_is_stopped_with_all_it_started_and_has_failed(
    monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(each_python, "LIMIT_S", 1)
    begun = time.monotonic()
    assert each_python.run(["sh", "-c", script]) == (False, "stopped after 1 s")
    assert time.monotonic() - begun < 30


def test_the_table_names_each_python_and_each_reason() -> None:
    results = [Result(python("3.11.7"), True, "9 passed", 3.2), Result(python("3.13.0"), False, "1 failed", 61.0)]
    assert each_python.table(results, {"3.11.2 (/usr/bin/python3)": "3.11.7 is used"}).splitlines() == [
        "Python 3.11.7  passed  9 passed (3 s with set-up)",
        "Python 3.13.0  FAILED  1 failed (61 s with set-up)",
        "left out: Python 3.11.2 (/usr/bin/python3): 3.11.7 is used",
    ]


def test_each_python_is_set_up_and_then_started_with_the_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the real set-up, which installs packages."""
    commands: list[list[str]] = []
    outcomes = iter([(True, "ready"), (True, "1 passed"), (False, "no pip")])

    def run(command: list[str]) -> tuple[bool, str]:
        commands.append(command)
        return next(outcomes)

    monkeypatch.setattr(each_python, "run", run)
    passed = each_python.try_on(python("3.99.0"), ["-m", "pytest", "-k", "a or b"])
    assert (passed.passed, passed.last_line) == (True, "1 passed")
    (_, script, *arguments), (interpreter, *rest) = commands
    assert Path(script).name == "environment.py"
    assert arguments == ["dev", "--venv", ".venv-3.99"]
    assert Path(interpreter).parents[1] == ROOT / ".venv-3.99"
    assert rest == ["-m", "pytest", "-k", "a or b"]
    failed = each_python.try_on(python("3.99.0"), ["-m", "pytest"])
    assert (failed.passed, failed.last_line) == (False, "no pip")
    assert len(commands) == 3


@pytest.fixture
def main(monkeypatch: pytest.MonkeyPatch) -> Main:
    """The script in a checkout without `.venv`, where only the named files may be a Python."""

    def start(files: list[Path], *options: str) -> int:
        monkeypatch.setattr(each_python, "VENV", ".venv-gone")
        monkeypatch.setattr(each_python, "candidates", lambda: iter(files))
        monkeypatch.setattr(sys, "argv", ["each_python.py", *options, "--", "-c", "pass"])
        return each_python.main()

    return start


def test_where_there_is_no_other_python_nothing_has_failed(main: Main, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([Path(sys.executable)], "--others") == 0
    assert "--others leaves out this version" in capfd.readouterr().out


def test_that_no_python_was_found_is_a_failure(main: Main, tmp_path: Path) -> None:
    assert main([tmp_path / "python3"]) == 1


@posix
def test_it_fails_with_any_python_and_names_what_does_not_start(
    main: Main, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    broken = interpreter(tmp_path / "python3.98", "3 98 0")
    broken.write_text(broken.read_text("utf-8") + 'test "$1" = -c || { echo broken; exit 3; }\n', "utf-8")
    dead = tmp_path / "python3.97"
    assert main([broken, dead]) == 1
    shown = capfd.readouterr().out
    assert "Python 3.98.0  FAILED  broken (" in shown
    assert f"left out: Python {dead}: it does not start" in shown
