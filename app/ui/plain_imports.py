"""Loads Qt without slowing down all later imports.

PySide replaces Python's import function with its own. That reads the source text of each module imported from then on,
looking for the word PySide6 because of `__feature__`, and keeps the text in memory. Hookline uses neither that nor
`import *` of Qt, and imports several hundred modules after Qt: reading them took as long as importing them.
"""

from __future__ import annotations

import builtins


def load_qt() -> None:
    """Import the part of Qt that all others need, then restore Python's own import function."""
    plain = builtins.__import__
    import PySide6.QtCore  # noqa: F401 - between those two lines, to be undone

    builtins.__import__ = plain
