"""Shortcuts as single key caps, as each system writes them."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QWidget

from app.ui.commands.command import KeyCaps, key_names_of, split_keys, spoken_keys
from app.ui.theme.theme import Theme
from tests.ui.drawn import drawn


@pytest.mark.parametrize(
    ("text", "key_names"),
    [
        ("", ()),
        ("K", ("K",)),
        ("Ctrl+K", ("Ctrl", "K")),
        ("Ctrl+Shift+F3", ("Ctrl", "Shift", "F3")),
        ("Ctrl+,", ("Ctrl", ",")),
        ("+", ("+",)),
        ("Ctrl++", ("Ctrl", "+")),
        ("⌘K", ("⌘", "K")),
        ("⌥⇧⌘+", ("⌥", "⇧", "⌘", "+")),
        ("⌘⇟", ("⌘", "⇟")),
        ("Return", ("Enter",)),
    ],
)
def test_a_shortcut_is_split_into_its_caps(text: str, key_names: tuple[str, ...]) -> None:
    assert split_keys(text) == key_names


def test_caps_are_named_and_as_wide_as_their_words(qapp: QApplication) -> None:
    parent = QWidget()
    theme = Theme()
    short, long = (KeyCaps(key_names_of(QKeySequence(keys)), theme, parent) for keys in ("K", "Ctrl+PgDown"))
    assert short.sizeHint().width() == short.sizeHint().height()
    assert long.sizeHint().width() > 2 * short.sizeHint().width()
    assert long.accessibleName() == spoken_keys([("Ctrl", "PgDown")]) == "Ctrl+PgDown"
    assert spoken_keys([("F1",), ("?",)]) == "F1 or ?"
    seen = drawn(long)
    assert seen.words == ["Ctrl", "PgDown"]
    first, second = seen.grounds_of(theme.tokens.bg)[-2:]  # over that of the window
    assert first.contains(seen.text("Ctrl").at)
    assert second.contains(seen.text("PgDown").at)
    assert seen.lines_of(theme.tokens.border_strong) == [first, second]
    assert 0 <= first.left() < first.right() < second.left() < second.right() <= long.width()
    parent.deleteLater()
