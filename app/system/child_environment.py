"""The environment of child processes: without what a bundle sets for itself, which would make them load its parts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from app.system import installation

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
