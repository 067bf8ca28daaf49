"""Keeps what the window shows, and its sizes, from one start to the next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSize
from PySide6.QtWidgets import QMainWindow, QSplitter, QWidget

from app.core.activity import Span
from app.ui.widgets.fit_screen import StoredGeometry
from app.ui.window_file import WindowFile

if TYPE_CHECKING:
    from app.ui.requests.activity_chart import ActivityStrip

FIRST_SIZE = (1280, 800)


class WindowState:
    """Splitters are stored by their object names; those without one are not stored."""

    def __init__(self, folder: Path) -> None:
        self._file = WindowFile(folder)
        self.geometry = StoredGeometry(self._file, "window")

    def restore(self, window: QMainWindow, resized: Callable[[], None]) -> None:
        """Restore the window within the screen; the first time it gets a default size. `resized` is called when the
        user changes a part of it.
        """
        self.geometry.restore(window, QSize(*FIRST_SIZE))
        self.geometry.fit(window)
        self.restore_splitters(window, resized)

    def restore_splitters(self, inside: QWidget, resized: Callable[[], None]) -> None:
        """Those of a page that is made later."""
        for splitter in _named(inside):
            state = self._file.value(f"splitter/{splitter.objectName()}", QByteArray(), type=QByteArray)
            if isinstance(state, QByteArray) and not state.isEmpty():
                splitter.restoreState(state)
            splitter.splitterMoved.connect(resized)

    def restore_strip(self, strip: ActivityStrip, changed: Callable[[], None]) -> None:
        """Restore the chart above the list. `changed` is called when the user shows, hides or changes it."""
        strip.set_open(self._file.flag("activity/open", True))
        span = self._file.text("activity/span")
        strip.set_span(Span(span) if span in set(Span) else Span.HOUR)
        strip.fold.clicked.connect(changed)
        strip.spans.activated.connect(changed)

    def page(self) -> tuple[str, str | None]:
        """The page shown last, and the slug if it was an endpoint's; ("", None) the first time."""
        name, _, slug = self._file.text("window/page").partition("/")
        return name, slug or None

    def request(self) -> str | None:
        """The request that was open on that page."""
        return self._file.text("window/request") or None

    def filter(self) -> str:
        """The filter of that page's list."""
        return self._file.text("window/filter")

    def save_place(self, page: str, slug: str | None, request: str | None, filter_text: str) -> None:
        """Store the page that the window shows, the request that is open there, and the filter of its list. Qt writes
        it to the file soon."""
        self._file.setValue("window/page", f"{page}/{slug}" if slug else page)
        self._file.setValue("window/request", request or "")
        self._file.setValue("window/filter", filter_text)

    def save_sizes(self, window: QMainWindow, *, without: QSplitter | None = None) -> None:
        """Store the sizes of the window and its parts; of the splitter `without`, leave what was stored before."""
        self.geometry.save(window)
        for splitter in _named(window):
            if splitter is not without:
                self._file.setValue(f"splitter/{splitter.objectName()}", splitter.saveState())

    def save_strip(self, strip: ActivityStrip) -> None:
        self._file.setValue("activity/open", strip.open)
        self._file.setValue("activity/span", strip.source.span.value)

    def write(self) -> None:
        """Write the file now."""
        self._file.sync()


def _named(inside: QWidget) -> list[QSplitter]:
    return [splitter for splitter in inside.findChildren(QSplitter) if splitter.objectName()]
