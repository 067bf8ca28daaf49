"""The window's texts have typographic apostrophes and quotes; those of the CLI and the API have plain ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from tests.ui.waiting import wait_for_widget

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2] / "app"
STRAIGHT = re.compile(r"\w'\w|s' ")


def texts(path: Path) -> Iterator[str]:
    """The strings of a file, without docstrings and what is raised."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    unseen: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            unseen.add(id(node.value))
        elif isinstance(node, ast.Raise):
            unseen.update(id(part) for part in ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unseen:
            yield node.value


def test_no_text_of_the_window_has_a_straight_apostrophe() -> None:
    paths = [*ROOT.glob("ui/**/*.py"), ROOT / "core" / "search" / "filters.py"]
    assert len(paths) > 100
    found = {path.name: [text for text in texts(path) if STRAIGHT.search(text)] for path in paths}
    assert {name: lines for name, lines in found.items() if lines} == {}


async def test_nor_has_a_setting_whose_words_the_api_shares(window: MainWindow) -> None:
    window.dialogs.open_settings()
    dialog = await wait_for_widget(SettingsDialog, window)
    assert [one.text() for one in dialog.findChildren(QLabel) if STRAIGHT.search(one.text())] == []
    dialog.reject()
