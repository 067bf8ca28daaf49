"""What the desktop would open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices


class _Handler(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(url.toLocalFile() or url.toString())


@contextmanager
def opened_urls(*schemes: str) -> Iterator[list[str]]:
    """The URLs of these schemes that are opened meanwhile, those of files as paths. Nothing else happens to them."""
    handler = _Handler()
    for scheme in schemes:
        QDesktopServices.setUrlHandler(scheme, handler, "open")
    try:
        yield handler.opened
    finally:
        for scheme in schemes:
            QDesktopServices.unsetUrlHandler(scheme)
