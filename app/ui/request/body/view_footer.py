"""The strip below a view, with a line about what is shown."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.ui.theme import metrics


def view_footer(content: QWidget, parent: QWidget) -> QFrame:
    footer = QFrame(parent)
    footer.setProperty("part", "footer")
    row = QHBoxLayout(footer)
    row.setContentsMargins(metrics.SPACE_4, metrics.SPACE_1, metrics.SPACE_3, metrics.SPACE_1)
    row.addWidget(content)
    return footer
