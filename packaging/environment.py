#!/usr/bin/env python3
"""Makes a checkout ready for `make run`, `make test` or `make docs`: system libraries, environment, locked packages.

Standard library only. It also starts on a Python too old for Hookline, to look for a newer one.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from system import BUILD, FONTS, QT_LIBRARIES, TEST_DATABASE, TEST_FONTS, TRIAL, install_system, output, say

if TYPE_CHECKING:
    from system import Packages

OLDEST = (3, 11)
OTHERS = ("python3.14", "python3.13", "python3.12", "python3.11")
ROOT = Path(__file__).resolve().parent.parent
RUN, DEV, DOCS = "run", "dev", "docs"
VENV = ".venv"
SYSTEM = {RUN: QT_LIBRARIES, DEV: QT_LIBRARIES + TEST_FONTS + TEST_DATABASE, DOCS: ()}
# System packages besides those: each is an option of the same name.
EXTRAS = {
    "fonts": (FONTS, "also the fonts that the screenshots show"),
    "build": (BUILD, "also the system packages that make Hookline's packages"),
    "trial": (TRIAL, "also those that try the packages out"),
}


class SetUpError(Exception):
    """Set-up cannot go on; the text says what to do."""


# -- Python ----------------------------------------------------------------------------------------------------------


def version_of(python: str) -> tuple[int, ...]:
    """The interpreter's version, `()` when it does not run."""
    text = output(python, "-c", "import sys; print(*sys.version_info[:3])")
    return tuple(map(int, text.split())) if text else ()


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def find_python(own: str = sys.executable, others: tuple[str, ...] = OTHERS) -> tuple[str, tuple[int, ...]]:
    """The interpreter running this, or the first of `others` on PATH, that is new enough, and its version."""
    for name in (own, *others):
        path = shutil.which(name)
        version = version_of(path) if path else ()
        if path and version >= OLDEST:
            return path, version
    raise SetUpError(
        f"Hookline needs Python {dotted(OLDEST)} or newer; {own} is {dotted(version_of(own)) or 'not running'}"
        f" and PATH has none of {', '.join(others)}."
        " Install one and run this again, or name one: make run PYTHON=/path/to/python3"
    )


# -- Virtual environment ---------------------------------------------------------------------------------------------


def venv_python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def works(venv: Path) -> bool:
    """Whether the environment is there, with pip, and its interpreter still is."""
    python = str(venv_python(venv))
    return version_of(python) >= OLDEST and output(python, "-m", "pip", "--version") is not None


def can_make_venv(python: str) -> bool:
    """Debian and Ubuntu keep what it takes in a package of its own."""
    return output(python, "-c", "import ensurepip, venv") is not None


def make_venv(venv: Path, python: str, version: tuple[int, ...]) -> None:
    """Make the environment, in place of one that no longer works."""
    if not can_make_venv(python):
        raise SetUpError(
            f"{python} has no venv module. Install it (on Debian and Ubuntu by the line above), then run make again."
        )
    say(f"making {venv.name} with Python {dotted(version)}")
    if subprocess.run([python, "-m", "venv", "--clear", str(venv)], check=False).returncode:
        raise SetUpError(f"{python} could not make {venv}; what it said above tells why.")


def stamp(root: Path, kind: str, version: tuple[int, ...]) -> str:
    """Changes with everything that decides which packages `kind` installs."""
    parts = [kind, repr(version), (root / "requirements" / f"{kind}.txt").read_text("utf-8")]
    if kind == DEV:  # the project itself is installed too
        parts.append((root / "pyproject.toml").read_text("utf-8"))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def stamp_file(venv: Path, kind: str) -> Path:
    return venv / f".installed-{kind}"


def up_to_date(root: Path, venv: Path, kind: str, version: tuple[int, ...]) -> bool:
    """Whether `kind` is installed as locked; the dev packages contain those to run."""
    contained_in = (RUN, DEV) if kind == RUN else (kind,)
    return any(
        stamp_file(venv, have).is_file() and stamp_file(venv, have).read_text("utf-8") == stamp(root, have, version)
        for have in contained_in
    )


def install_packages(root: Path, venv: Path, kind: str) -> None:
    """Install the locked packages, each checked against its hash; for work on the code also the project, editable."""
    pip = [str(venv_python(venv)), "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    if not sys.stderr.isatty():
        pip.append("--quiet")
    lock = root / "requirements" / f"{kind}.txt"
    say(f"installing the packages of requirements/{lock.name} (the first time takes a minute or two)")
    # The lock names all there is to install. Without --no-deps pip also resolves extras of what it names, such as
    # coverage[toml], takes their newest version first, and stops because that one is not in the lock.
    commands = [[*pip, "--require-hashes", "--no-deps", "-r", str(lock)]]
    if kind == DEV:
        commands.append([*pip, "--no-deps", "--no-build-isolation", "-e", str(root)])
    for command in commands:
        if subprocess.run(command, check=False, stdout=sys.stderr).returncode:
            raise SetUpError("pip could not install the packages; what it said above tells why. Then run this again.")


def usable(venv: Path, version: tuple[int, ...]) -> bool:
    """Whether the environment works. `.venv` may be of any Python, another one must be of exactly this version."""
    return works(venv) and (venv.name == VENV or version_of(str(venv_python(venv))) == version)


def set_up(root: Path, kind: str, extra: Packages = (), name: str = VENV) -> None:
    """All steps, each skipped when there is nothing to do; `extra`: system packages besides those of `kind`."""
    venv = root / name
    python, version = find_python()
    wanted, ready = SYSTEM[kind] + extra, usable(venv, version)
    if not ready and not can_make_venv(python):
        wanted += ((f"python{version[0]}.{version[1]}-venv", "python3-venv"),)
    install_system(wanted)
    if not ready:
        make_venv(venv, python, version)
    asked, version = version, version_of(str(venv_python(venv)))
    if version[:2] != asked[:2]:
        say(f"{name} has Python {dotted(version)}, not {dotted(asked)}. To change it, run make clean first.")
    if not up_to_date(root, venv, kind, version):
        install_packages(root, venv, kind)
        stamp_file(venv, kind).write_text(stamp(root, kind, version), "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = "run: what the program needs; dev: also what its checks need; docs: what makes the site of docs/"
    parser.add_argument("kind", choices=tuple(SYSTEM), help=kinds)
    parser.add_argument(
        "--venv", default=VENV, metavar="NAME", help=f"the environment's folder in the checkout, {VENV} unless told"
    )
    for name, (_, purpose) in EXTRAS.items():
        parser.add_argument(f"--{name}", action="store_true", help=purpose)
    options = parser.parse_args()
    chosen = [packages for name, (packages, _) in EXTRAS.items() if getattr(options, name)]
    try:
        set_up(ROOT, options.kind, tuple(entry for packages in chosen for entry in packages), options.venv)
    except SetUpError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
