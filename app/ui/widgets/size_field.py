"""A size as a user types it: 500 MB, 2 GiB, or nothing."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.sizes import exact_size, parse_size


class SizeField(QLineEdit):
    """`title` names the field in error messages. Empty stands for no limit."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self.setPlaceholderText("No limit")

    def value(self) -> int | None:
        """Bytes; None if the field is empty or not a size (then `problem` says so)."""
        return parse_size(self.text().strip())

    def set_value(self, size: int | None) -> None:
        """Show a size so that it parses back to the same number of bytes."""
        self.setText("" if size is None else exact_size(size))

    def problem(self) -> str | None:
        """Why the text cannot be saved; None if it can."""
        text = self.text().strip()
        if not text or parse_size(text) is not None:
            return None
        return f"{self._title} must be a size, such as 500 MB or 2 GiB."
