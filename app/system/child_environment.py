"""What a bundle does to the processes around it. Its children's environment lacks what the bundle sets for itself,
which would make them load its parts. A bundle in one file ends with the process that unpacked it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from app.system import installation

PR_SET_PDEATHSIG = 1
"""From Linux's <sys/prctl.h>."""


def end_with_unpacker() -> None:
    """Have this process get SIGTERM when the process that unpacked it is killed. Otherwise Hookline would go on
    without the process that its user sees: the program in one file is two processes, of which the one that is started
    unpacks the other, waits for it and cleans up. Does nothing unless this is the program in one file, on Linux."""
    if not sys.platform.startswith("linux") or not _is_one_file():
        return
    import ctypes  # start-up time: no other form of the program needs it

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _is_one_file() -> bool:
    """Whether the program's parts are elsewhere than its file: unpacked into a temporary folder."""
    parts = getattr(sys, "_MEIPASS", sys.executable)
    return installation.is_bundle() and not Path(parts).is_relative_to(Path(sys.executable).parent)


SEARCH_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "QT_PLUGIN_PATH", "QML2_IMPORT_PATH")
SAVED = {"LD_LIBRARY_PATH": "LD_LIBRARY_PATH_ORIG"}
"""Where PyInstaller keeps a variable's previous value. `PATH_ORIG` and the like are the user's own."""
PREFIX = "_PYI_"
# A zsh would use an AppImage's ARGV0 as the name of whatever it starts. APPIMAGE and APPDIR stay: they say where this
# program is, and mean nothing to other programs.
DROPPED = ("_MEIPASS2", "ARGV0", "OWD")


def without_bundle(environment: Mapping[str, str], bundle: Path) -> dict[str, str]:
    """The environment as it was before the bundle in the folder `bundle` was started."""
    clean = {name: value for name, value in environment.items() if not name.startswith(PREFIX) and name not in DROPPED}
    for name in SEARCH_PATHS:
        given = clean.pop(name, "")
        folders = clean.pop(SAVED.get(name, ""), given).split(os.pathsep)
        left = os.pathsep.join(folder for folder in folders if not Path(folder).is_relative_to(bundle))
        if left:
            clean[name] = left
    return clean


def restore_environment() -> None:
    """Restore this process's environment for its children. Its own libraries and plugins are found without it."""
    if not installation.is_bundle():
        return
    clean = without_bundle(os.environ, Path(getattr(sys, "_MEIPASS", Path(sys.executable).parent)))
    for name in os.environ.keys() - clean.keys():
        del os.environ[name]
    os.environ.update(clean)
