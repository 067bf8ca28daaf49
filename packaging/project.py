"""What all packages say of Hookline, and where they are made."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
DIST = ROOT / "dist"
ICONS = BUILD / "icons"

HOME = "https://hookline.example"
SUMMARY = "Catch webhooks on your desktop"
DESCRIPTION = """\
Hookline gives every sender of webhooks an address on your own machine, keeps
each request exactly as it was sent, shows it live, and forwards it to the code
you are working on. Nothing leaves the machine unless you ask for it.
"""


class PackagingError(Exception):
    """A package cannot be made; the text is one line that says why, and what to do."""


def told(name: str, make: Callable[[], Path]) -> int:
    """Print the path of what `make` makes, or on standard error why it cannot; the exit code of the script `name`."""
    try:
        print(make())
    except PackagingError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0


def version() -> str:
    """The version in `app/__init__.py`, read without running it."""
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "app" / "__init__.py").read_text("utf-8"))
    if found is None:
        raise PackagingError("app/__init__.py does not say __version__.")
    return found[1]


def epoch() -> int:
    """The date of all made files, in seconds since 1970: `SOURCE_DATE_EPOCH`, else the last commit's."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given.isdigit():
        return int(given)
    # Not a checkout: git is missing, or knows nothing of this folder.
    try:
        shown = subprocess.run(
            ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.strip()
    except OSError:
        shown = ""
    return int(shown) if shown else int((ROOT / "app" / "__init__.py").stat().st_mtime)


def run(*command: str | Path, environment: dict[str, str] | None = None, folder: Path | None = None) -> str:
    """What the command, started in `folder`, prints.

    A missing program or its failure is a PackagingError with its last words.
    """
    name = str(command[0])
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
    except FileNotFoundError as error:
        raise PackagingError(f"{name} is missing; `make package` names the system packages to install.") from error
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no words").splitlines()[-1]
        raise PackagingError(f"{name} failed ({done.returncode}): {words}")
    return done.stdout
