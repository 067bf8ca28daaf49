"""The system packages that Hookline, its packages and their trial need on Debian and Ubuntu, and how to get them.

Standard library only, and it starts on old Pythons, as environment.py does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Packages = tuple[tuple[str, ...], ...]

# Each entry lists one library's package names, the newest distribution's first.
QT_LIBRARIES = (
    ("libegl1",),
    ("libgl1",),
    ("libxkbcommon0",),
    ("libdbus-1-3",),
    ("libfontconfig1",),
    ("libglib2.0-0t64", "libglib2.0-0"),
    ("libxcb-cursor0",),
    ("libxcb-icccm4",),
    ("libxcb-keysyms1",),
    ("libxcb-shape0",),
    ("libxkbcommon-x11-0",),
)
FONTS = (("fonts-inter",), ("fonts-jetbrains-mono",))
# The wide and the narrow font that the tests measure with (tests/fonts.py).
TEST_FONTS = (("fonts-dejavu-core",), ("fonts-yanone-kaffeesatz",))
# The server that the tests start (tests/postgres.py). Whoever has one of its versions does not need the default one.
TEST_DATABASE = (("postgresql", "postgresql-18", "postgresql-17", "postgresql-16", "postgresql-15"),)
# What `make package` starts, and the libraries of Wayland, which go into the bundle as those of X11 do.
BUILD = (
    ("appstream",),
    ("binutils",),
    ("desktop-file-utils",),
    ("dpkg-dev",),
    ("libwayland-client0",),
    ("libwayland-cursor0",),
    ("libwayland-egl1",),
    ("rpm",),
)
# What `make package-test` starts besides.
TRIAL = (
    ("debootstrap",),
    ("groff",),
    ("lintian",),
    ("man-db",),
    ("mandoc",),
    ("nsis",),
    ("wine",),
    ("wine64",),
    ("xauth",),
    ("xvfb",),
)


def say(text: str) -> None:
    print(f"set-up: {text}", file=sys.stderr, flush=True)


def output(*command: str) -> str | None:
    """What the command prints, None when it is missing or fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def installed(listing: str) -> set[str]:
    """The packages that `dpkg-query -W -f '${db:Status-Status} ${Package}\\n'` calls installed."""
    rows = (line.split() for line in listing.splitlines())
    return {row[1] for row in rows if len(row) == 2 and row[0] == "installed"}


def missing(wanted: Packages, present: set[str]) -> Packages:
    """The entries of `wanted` of which no name is present."""
    return tuple(names for names in wanted if not present.intersection(names))


def apt_names(wanted: Packages) -> list[str]:
    """One name for each entry: the first that apt knows, else the last, which is the oldest and most common."""
    return [next((name for name in names if output("apt-cache", "show", name)), names[-1]) for names in wanted]


def become_root() -> list[str] | None:
    """What to put before a command to run it as root without being asked anything; None when that is not possible."""
    if os.geteuid() == 0:
        return []
    return ["sudo", "-n"] if output("sudo", "-n", "true") is not None else None


def install_system(wanted: Packages) -> None:
    """Have apt install what is missing, or print the exact line to type. Not a Debian or Ubuntu: nothing to do."""
    if not (shutil.which("dpkg-query") and shutil.which("apt-get")):
        return
    listing = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\\n", *(name for names in wanted for name in names)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,  # it fails when any name is unknown, and still lists the others
    )
    lacking = missing(wanted, installed(listing.stdout))
    if not lacking:
        return
    root = become_root()
    if root is None or not apt_install(root, lacking):
        say(f"type this, then run make again: {apt_line(apt_names(lacking))}")


def apt_line(names: list[str]) -> str:
    return f"sudo apt-get install --no-install-recommends {' '.join(names)}"


def apt_install(root: list[str], lacking: Packages) -> bool:
    """Install one package for each entry; False when apt could not."""
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    # A fresh container has no lists; old lists name versions that are gone from the mirrors.
    for refresh in (not any(Path("/var/lib/apt/lists").glob("*Packages*")), True):
        if refresh and subprocess.run([*apt, "update"], check=False, stdout=subprocess.DEVNULL).returncode:
            return False
        names = apt_names(lacking)
        say(f"installing {' '.join(names)}")
        command = [*apt, "install", "--no-install-recommends", *names]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode == 0:
            return True
        if refresh:
            break
    return False
