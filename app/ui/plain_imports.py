"""Loads Qt without letting it slow all later imports down.

PySide puts an import of its own in the place of Python's. It reads the source text of each module that is imported
from then on, in search of the word PySide6, for the sake of `__feature__`, and all of that text stays in memory.
Hookline uses neither that nor `import *` of Qt, and imports several hundred modules after Qt: reading them took as
long as importing them.
"""

from __future__ import annotations

import builtins


def load_qt() -> None:
    """Import the part of Qt that all others need, then put Python's own import back."""
    plain = builtins.__import__
    import PySide6.QtCore  # noqa: F401 - between those two lines, to be undone

    builtins.__import__ = plain
