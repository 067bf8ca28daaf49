"""Menu entries that ignore a field."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QMenu

from app.core.bodies.escape import escape

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*$")
_INDEX = re.compile(r"\[[0-9]+\]")
SHOWN_MAX = 60


def add_ignore_actions(menu: QMenu, path: str, ignore: Callable[[str], object]) -> None:
    """An entry for the JSON value of this path, one for it in all items of the array, one for its name anywhere."""
    if not path or path == "$":
        return
    menu.addSeparator()
    name = _NAME.search(path)
    paths = [path, _INDEX.sub("[*]", path), *([f"$..{name[0]}"] if name else [])]
    for one in dict.fromkeys(paths):
        shown = one if len(one) <= SHOWN_MAX else f"{one[:SHOWN_MAX]}…"
        where = " anywhere" if one.startswith("$..") else ""
        action = menu.addAction(f"Ignore this field{where}: {escape(shown)}".replace("&", "&&"))
        action.triggered.connect(partial(_run, ignore, one))


def _run(ignore: Callable[[str], object], path: str, _: bool = False) -> None:
    ignore(path)
