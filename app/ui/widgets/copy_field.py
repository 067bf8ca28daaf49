"""A URL or path in the mono font that one click copies; a folder can be opened, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.metrics import CONTROL
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import Pill
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import ElidedLabel, label, plain_tooltip, show_or_hide
from app.ui.widgets.layout import hbox, vbox

NOT_OPENED = "No program found to open folders. Copy the path instead."


def open_folder(folder: Path) -> str | None:
    """Open `folder`; returns why that is impossible."""
    return None if QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))) else NOT_OPENED


COPIED_MS = 1400
MARK_FROM = 380
"""Pixels from which a mark has words."""


class CopyButton(IconButton):
    """Copies `text`, or calls `make`, which makes a text to `put`; and shows confirmation for a moment."""

    def __init__(
        self,
        text: str,
        what: str,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        make: Callable[[], object] | None = None,
    ) -> None:
        super().__init__("copy", f"Copy {what}", theme, parent)
        self.text_to_copy = text
        self._what = what
        self.feedback_over = QTimer(self, singleShot=True, interval=COPIED_MS)
        self.feedback_over.timeout.connect(self._restore)
        self.clicked.connect(make or self.copy)

    @Slot()
    def copy(self) -> None:
        """Copy the text to the clipboard."""
        self.put(self.text_to_copy)

    def put(self, text: str) -> None:
        """The same with another text."""
        QGuiApplication.clipboard().setText(text)
        self.set_icon_name("check", "success")
        self.set_name("Copied")
        self.feedback_over.start()

    @Slot()
    def _restore(self) -> None:
        self.set_icon_name("copy")
        self.set_name(f"Copy {self._what}")


class UrlLabel(ElidedLabel):
    """Elided in the middle; a URL in its host, because its path is what tells it from others."""

    def shown_text(self) -> str:
        scheme, separator, rest = self.text().partition("://")
        host, slash, path = rest.partition("/")
        shown, room, fm = super().shown_text(), self.text_rect().width(), self.fontMetrics()
        if not separator or shown == self.text():
            return shown
        origin, path = f"{scheme}{separator}{host}", f"{slash}{path}"
        cut = fm.elidedText(origin, Qt.TextElideMode.ElideRight, max(0, room - fm.horizontalAdvance(path)))
        return cut + path if cut else fm.elidedText(path, Qt.TextElideMode.ElideLeft, room)


class CopyField(QFrame):
    """A framed line of mono text with a copy button; long text is elided, but copied in full."""

    copied = Signal()

    def __init__(self, text: str, theme: Theme, parent: QWidget | None = None, *, what: str = "URL") -> None:
        super().__init__(parent)
        self.setProperty("part", "field")
        self.setFixedHeight(CONTROL)
        self._label = UrlLabel(text, "", self, Qt.TextElideMode.ElideMiddle)
        self._label.setFont(mono_font())
        self.mark = Pill("", "warning", self)
        self.mark.hide()
        self._mark = ""
        self._button = CopyButton(text, what, theme, self)
        self._copied = label("Copied", "success", self)
        self._copied.hide()
        self._button.clicked.connect(self._copied.show)
        self._button.clicked.connect(self.copied)
        self._button.feedback_over.timeout.connect(self._copied.hide)
        hbox((self._label, 1), self.mark, self._copied, self._button, inside=self, spacing=4, margins=(8, 1, 2, 1))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """The full text."""
        return self._label.text()

    def set_text(self, text: str, mark: str = "") -> None:
        """Show and copy another text; a `mark` beside it, which is not copied, says why it may not work."""
        self._mark = mark
        self.mark.setVisible(bool(mark))
        self.mark.setToolTip(plain_tooltip(mark))
        self.setAccessibleDescription(mark)
        self._fit_mark()
        self._label.setText(text)
        self._label.updateGeometry()
        self._button.text_to_copy = text

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow field leaves the room to its text."""
        super().resizeEvent(event)
        self._fit_mark()

    def _fit_mark(self) -> None:
        self.mark.setText(self._mark if self.width() >= MARK_FROM else "!")

    def setFocus(self, *reason: Qt.FocusReason) -> None:
        """Its button takes the keys."""
        self._button.setFocus(*reason)

    @Slot()
    def copy(self) -> None:
        """Copy as if the button were pressed."""
        self._button.click()


class FolderField(QWidget):
    """Shows an error below if the system has no program to open the folder."""

    def __init__(self, folder: Path, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._folder = folder
        self.path = CopyField(str(folder), theme, self, what="path")
        self.path.setAccessibleName("Data folder")
        self.open_button = Button("Open", theme, self, icon="folder", name="Open data folder", run=self.open)
        self.problem = label("", "error", self)
        self.problem.hide()
        row = hbox((self.path, 1), self.open_button, spacing=metrics.SPACE_2)
        vbox(row, self.problem, inside=self, spacing=metrics.SPACE_1)

    @Slot()
    def open(self) -> None:
        """Open the folder in the file manager."""
        problem = open_folder(self._folder)
        show_or_hide(self.problem, problem or "")
        self.open_button.setAccessibleDescription(self.problem.text())
