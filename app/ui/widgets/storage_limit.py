"""The question before a storage limit, of an endpoint or overall, deletes requests."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.core.model import StorageUse, WhenFull
from app.core.sizes import exact_size
from app.core.text import size_text
from app.ui.theme.theme import Theme
from app.ui.widgets.dialog import ask


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
