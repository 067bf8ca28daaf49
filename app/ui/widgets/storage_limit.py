"""A storage limit, of an endpoint or overall: the field for its size, and the question before it deletes requests."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QWidget

from app.core.model import StorageUse, WhenFull
from app.core.sizes import exact_size, parse_size
from app.core.text import size_text
from app.ui.theme.theme import Theme
from app.ui.widgets.question import ask


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


async def confirm_storage_limit(
    parent: QWidget, theme: Theme, use: StorageUse, limit: int | None, when_full: WhenFull
) -> bool:
    """Whether the user agrees to what this limit deletes of what is stored now; True where that is nothing."""
    if limit is None or when_full != "delete_oldest" or use.used <= limit:
        return True
    stored, over = (size_text(size) for size in (use.used, use.used - limit))
    text = (
        f"A limit of {exact_size(limit)} deletes at least {over} of the {stored} stored: the oldest requests, starred"
        " ones too. This cannot be undone."
    )
    return await ask(parent, theme, "Delete the oldest requests?", text, "Delete oldest requests")
