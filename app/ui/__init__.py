"""The window. The only package that imports PySide6; it imports core only."""

from __future__ import annotations

import builtins


def load_qt() -> None:
    """Import the part of Qt that all others need, then restore Python's own import function.

    PySide replaces that with its own, which reads the source text of each module imported from then on, looking for the
    word PySide6 because of its features, and keeps the text in memory. Hookline uses neither that nor `import *` of
    Qt, and imports several hundred modules after Qt: reading them took as long as importing them.
    """
    plain = builtins.__import__
    import PySide6.QtCore  # noqa: F401 - between those two lines, to be undone

    builtins.__import__ = plain
