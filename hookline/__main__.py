"""`hookline` and `python -m hookline`: starts the program, the package `app`.

Whoever imports `hookline` never gets that package: it is on the path only in Hookline's own processes.
"""

from __future__ import annotations

import os.path
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # pathlib takes as long to load as all else that --version needs
_INSTALLED = os.path.join(_FOLDER, "_program")
PROGRAM = _INSTALLED if os.path.isdir(_INSTALLED) else os.path.dirname(_FOLDER)
"""The folder of the package `app`: in a checkout the one that `hookline` is in too."""


def main() -> int:
    """Run one command; returns the process's exit code."""
    other = sys.modules.get("app")
    if other is not None:
        place = other.__file__ or next(iter(other.__path__))
        return _fail(
            f"Python loaded another package named app before Hookline began, from {place}. A .pth file or"
            " sitecustomize.py does that: remove it, or install Hookline in an environment of its own."
        )
    sys.path.insert(0, PROGRAM)  # before a package of that name which the user has
    try:
        from app.__main__ import main as run  # found only now

        return run()
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("sqlite3", "_sqlite3"):
            return _fail(
                f"This Python, {sys.executable}, has no SQLite, in which Hookline stores requests. Install Hookline"
                " with another one, such as your system's or that of python.org."
            )
        if package == "app" and PROGRAM != _INSTALLED:
            raise  # a fault of this checkout
        return _fail(
            f"Parts of Hookline, or of what it needs, are missing or of another version ({error}). Install it again:"
            f" {sys.executable} -m pip install --force-reinstall hookline"
        )


def _fail(text: str) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"hookline: {text}\n")
    return 3  # an environment error, as `app.cli.errors` has it


if __name__ == "__main__":
    sys.exit(main())
