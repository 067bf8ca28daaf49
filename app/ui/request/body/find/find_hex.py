"""Finds text in the bytes that Hex shows."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.core.search.body_search import BodySearch
from app.ui.request.body.body_loader import BodyLoader
from app.ui.request.body.find.finder import ScanningFinder
from app.ui.request.body.hex_widget import HexWidget
from app.ui.tasks import Tasks


class HexFinder(ScanningFinder):
    """Searches the bytes as they were sent: Hex shows packed bodies packed."""

    def __init__(self, hexes: HexWidget, loader: BodyLoader, tasks: Tasks, parent: QObject) -> None:
        super().__init__(tasks, parent)
        self._hex, self._loader = hexes, loader
        self._wants_next = False

    def search(self, needle: str) -> None:
        """Find this text."""
        self.forget()
        self.needle, self._wants_next = needle, False
        self._hex.mark(None)
        if needle:
            self._scan_from(0)
        self.changed.emit()

    def step(self, by: int) -> None:
        if self._failed:
            self.search(self.needle)
        elif by > 0 and self.current + 1 >= len(self.places) and not self._ended:
            self._wants_next = bool(self.places)
            if not self.busy:
                self._scan_from(self.places[-1] + 1 if self.places else 0)
        elif self.places:
            self._go_to((self.current + by) % len(self.places))

    def clear(self) -> None:
        self.forget()
        self.needle = ""
        self._hex.mark(None)

    def places_changed(self) -> None:
        first = not self.total
        self.total, self.more = len(self.places), not self._ended
        if self._wants_next and (self.current + 1 < self.total or not self.busy):
            self._wants_next = False
            self._go_to((self.current + 1) % max(1, self.total))
        elif first and self.total:
            self._go_to(0)
        self.changed.emit()

    def _scan_from(self, begin: int) -> None:
        source, reader = self._loader.source, self._loader.reader
        if source is not None:
            # Binary data has no charset of its own.
            charset = reader.text_charset if reader is not None else None
            search = BodySearch(charset.name if charset else "utf-8", self.needle, begin)
            self.run(lambda: self.scan(source, (), search, begin))

    def _go_to(self, number: int) -> None:
        self.current = number
        if number < len(self.places):
            self._hex.mark((self.places[number], len(self.needle.encode("utf-8", "replace"))))
        self.changed.emit()
