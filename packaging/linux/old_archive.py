"""Runs before Hookline in the bundle: keeps its modules readable when an upgrade replaces the program under it.

PyInstaller opens the program by its path at each import and Python opens `base_library.zip` likewise; both would read
a newer version at an older one's places. The kernel keeps the old files for as long as this process holds them.
"""

from __future__ import annotations

import os
import sys
import zipimport

import pyimod02_importers  # PyInstaller's own, there in a bundle alone

OWN_PROGRAM = "/proc/self/exe"


def _keep_program() -> None:
    archive = pyimod02_importers.pyz_archive
    if os.path.exists(OWN_PROGRAM) and os.path.samefile(OWN_PROGRAM, archive._filename):
        archive._filename = OWN_PROGRAM


def _keep_base_library() -> None:
    path = os.path.join(sys._MEIPASS, "base_library.zip")  # type: ignore[attr-defined]
    held = f"/proc/self/fd/{os.open(path, os.O_RDONLY | os.O_CLOEXEC)}"
    if not os.path.exists(held):
        return
    for importer in sys.path_importer_cache.values():
        if isinstance(importer, zipimport.zipimporter) and importer.archive == path:
            importer.archive = held


_keep_program()
_keep_base_library()
