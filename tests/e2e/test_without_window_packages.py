"""Hookline where the extra `window` is not installed: everything but the window works, and it says how to get that."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from app.system.display import PYTHON_PACKAGES
from tests.e2e.program import START_S, Program, environment

ROOT = Path(__file__).parents[2]
ABSENT = "The window is not installed. To add it: pip install 'hookline[window]'."
QT = ("PySide6", "shiboken6", *PYTHON_PACKAGES)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has all packages of this one but the window's."""
    folder = tmp_path_factory.mktemp("without-window")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip())
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.lower().startswith(tuple(name.lower() for name in QT)) and package.suffix != ".pth":
            (site / package.name).symlink_to(package)
    (site / "hookline.pth").write_text(str(ROOT), "utf-8")
    return str(python)


def hookline(python: str, folder: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    env = environment(HOOKLINE_DATA_DIR=str(folder), QT_QPA_PLATFORM="offscreen", **extra)
    command = [python, "-m", "hookline", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=START_S, check=False)


@pytest.mark.slow
def test_it_serves_and_says_how_to_get_the_window(python: str, tmp_path: Path) -> None:
    with Program(tmp_path, command=(), python=python, QT_QPA_PLATFORM="offscreen") as program:
        program.line("/catch/")
    assert program.errors[0] == f"{ABSENT} Serving without a window; press Ctrl-C to stop.\n"


def test_what_needs_the_window_is_refused(python: str, tmp_path: Path) -> None:
    done = hookline(python, tmp_path, "--new-endpoint")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"hookline: {ABSENT} A link or the form for a new endpoint needs the window.\n"


@pytest.mark.slow
def test_the_selftest_tests_what_is_there(python: str, tmp_path: Path) -> None:
    done = hookline(python, tmp_path, "selftest", TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert ABSENT in done.stdout
    assert done.stdout.splitlines()[-1].startswith("selftest passed")


def test_a_selftest_on_screen_needs_the_window(python: str, tmp_path: Path) -> None:
    done = hookline(python, tmp_path, "selftest", "--on-screen", TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert ABSENT in done.stdout


def test_doctor_finds_nothing_wrong_with_it(python: str, tmp_path: Path) -> None:
    assert ABSENT in hookline(python, tmp_path, "doctor").stdout


def test_the_licences_name_no_qt(python: str) -> None:
    ask = "from app.system.licences import components; print(*(each.name for each in components()), sep='\\n')"
    names = set(subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.splitlines())
    assert "aiohttp" in names
    assert not names & {"Qt", "PySide6_Essentials", "segno"}


def test_the_named_packages_are_those_of_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = {Requirement(line).name for line in project["optional-dependencies"]["window"]}
    assert {name.removesuffix("-Essentials") for name in asked} == set(PYTHON_PACKAGES)
