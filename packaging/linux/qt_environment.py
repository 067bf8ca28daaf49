"""Runs before Hookline in the bundle, in place of PyInstaller's hook for PySide6, which imports Qt at every start.

Commands and `hookline serve` need no Qt, and PySide6 finds its plugins itself. The user's own are for another Qt.
"""

from __future__ import annotations

import os

for name in ("QT_PLUGIN_PATH", "QML2_IMPORT_PATH"):
    os.environ.pop(name, None)
