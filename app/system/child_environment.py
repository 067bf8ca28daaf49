"""What other programs are started with: not what a bundle sets for itself, which would make them load its parts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from app.system import installation

SEARCH_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "QT_PLUGIN_PATH", "QML2_IMPORT_PATH")
SAVED = {"LD_LIBRARY_PATH": "LD_LIBRARY_PATH_ORIG"}
"""Where PyInstaller keeps what a variable held before. `PATH_ORIG` and the like are the user's own."""
PREFIX = "_PYI_"
# ARGV0 of an AppImage would become the name of whatever a zsh starts. APPIMAGE and APPDIR stay: they tell this program
# where it lies, and mean nothing to programs that lie elsewhere.
DROPPED = ("_MEIPASS2", "ARGV0", "OWD")


def without_bundle(environment: Mapping[str, str], bundle: Path) -> dict[str, str]:
    """The environment as it was before the bundle that lies in the folder `bundle` was started."""
    clean = {name: value for name, value in environment.items() if not name.startswith(PREFIX) and name not in DROPPED}
    for name in SEARCH_PATHS:
        given = clean.pop(name, "")
        folders = clean.pop(SAVED.get(name, ""), given).split(os.pathsep)
        left = os.pathsep.join(folder for folder in folders if not Path(folder).is_relative_to(bundle))
        if left:
            clean[name] = left
    return clean


def set_them_free() -> None:
    """Let this process's environment be that of its children. Its own libraries and plugins are found without it."""
    if not installation.is_bundle():
        return
    clean = without_bundle(os.environ, Path(getattr(sys, "_MEIPASS", Path(sys.executable).parent)))
    for name in os.environ.keys() - clean.keys():
        del os.environ[name]
    os.environ.update(clean)
