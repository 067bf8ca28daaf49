"""The numbers to hold: how big the packages are, and how soon the window is there."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from bundle import bundle_python
from trial.first_paint import first_paint
from trial.room import TrialError

MIB, MB = 1024**2, 1000**2
ROUNDS = 7
MOST_DELAY = 0.15


def sizes(onedir: Path, deb: Path, onefile: Path) -> str:
    """Each against its bar."""
    measured = (
        ("onedir", _size(onedir) / MIB, 122, "MiB"),
        ("deb", _size(deb) / MB, 39, "MB"),
        ("onefile", _size(onefile) / MIB, 52, "MiB"),
    )
    told = "\n".join(f"{name:8} {size:6.1f} {unit}, at most {bar}" for name, size, bar, unit in measured)
    if any(size > bar for _, size, bar, _ in measured):
        raise TrialError(told)
    return told


def first_paints(onedir: Path, onefile: Path) -> str:
    """Seconds from the start of the process to the first paint, taken in turn, so that noise meets all alike.

    The fastest starts are compared: other work on the machine can only make one slower.
    """
    commands = {
        "from source": [str(bundle_python()), "-m", "hookline"],
        "onedir": [str(onedir)],
        "onefile": [str(onefile)],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken[name] += first_paint(command, runs=1)
    rows = [f"{name:12} {min(seconds):.2f} s, median {median(seconds):.2f} s" for name, seconds in taken.items()]
    later = min(taken["onedir"]) - min(taken["from source"])
    told = "\n".join([*rows, f"onedir {later:+.2f} s against from source, at most +{MOST_DELAY:.2f}"])
    if later > MOST_DELAY:
        raise TrialError(told)
    return told


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder; a link counts as the link."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files if file.is_symlink() or file.is_file())
