"""Opens a folder in the system's file manager."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

NOT_OPENED = "No program found to open folders. Copy the path instead."


def open_folder(folder: Path) -> str | None:
    """Open `folder`; returns why that is impossible."""
    return None if QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))) else NOT_OPENED
