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
        sys.exit(
            f"hookline: Python loaded another package named app before Hookline began, from {place}. A .pth file or"
            " sitecustomize.py does that: remove it, or install Hookline in an environment of its own."
        )
    sys.path.insert(0, PROGRAM)  # before a package of that name which the user has
    from app.__main__ import main as run  # found only now

    return run()


if __name__ == "__main__":
    sys.exit(main())
