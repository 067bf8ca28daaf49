"""A size as a person types it: 500 MB, 2 GiB, or nothing."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.sizes import exact_size, parse_size


class SizeField(QLineEdit):
    """`title` names the field in what it says is wrong. Empty stands for no limit."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self.setPlaceholderText("No limit")

    def value(self) -> int | None:
        """Bytes; None where nothing is typed, or nothing that is a size (`problem` says so)."""
        return parse_size(self.text().strip())

    def set_value(self, size: int | None) -> None:
        """Show a size, so that it reads back the same."""
        self.setText("" if size is None else exact_size(size))

    def problem(self) -> str | None:
        """What is wrong with a text that is no size."""
        text = self.text().strip()
        if not text or parse_size(text) is not None:
            return None
        return f"{self._title} must be a size, such as 500 MB or 2 GiB."
