"""What a row of the dashboard writes where space is short."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication

from app.ui.dashboard.row import unread_text
from app.ui.theme.fonts import ui_font


def test_an_unread_count_is_shortened_where_room_is_short(qapp: QApplication) -> None:
    font = ui_font()
    assert unread_text(1_234_567, 400, font) == "1,234,567 new"
    assert unread_text(1_234_567, 20, font) == "1M new"
