"""The parts of a multipart body: a list, and the selected part beside it with its own views, copy and save buttons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.bodies.formats.multipart import PARTS_MAX, PartContent, read_parts
from app.core.file_names import safe_name
from app.core.text import size_text
from app.ui.inspector.body.body_bars import NoticesBar
from app.ui.inspector.body.body_source import BodySource, of_bytes, read_plain
from app.ui.tasks import Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.rows import Column, Rows
from app.ui.widgets.rows_list import RowsList

WIDTH, HEIGHT, LIST_WIDTH = 920, 640, 248
BYTES_MAX = 64 * 1024 * 1024
"""Maximum bytes of an unpacked body whose parts are listed."""
NAME_MAX = 80


class Pane(Protocol):
    """Shows a part: the pane of a body."""

    def show_source(self, source: BodySource) -> None: ...

    def stop(self) -> None: ...


class PartsDialog(Dialog):
    """The list is filled once the body is read; `pane` creates the pane for a part."""

    def __init__(
        self,
        source: BodySource,
        pane: Callable[[QWidget], tuple[Pane, QWidget]],
        theme: Theme,
        tasks: Tasks,
        parent: QWidget,
    ) -> None:
        super().__init__("Parts", theme, parent)
        self._notices: list[str] = []
        self.rows = Rows[PartContent]([Column("", _title, _tooltip)], self)
        self.list = RowsList("Parts of the body", self.rows, metrics.ROW_DENSE + 2, theme, self, rounded=True)
        self.list.setFixedWidth(LIST_WIDTH)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.selectionModel().currentChanged.connect(self._show)
        self.notices = NoticesBar(theme, self)
        self.pane, pane_widget = pane(self)
        self.close_button = Button("Close", theme, self)
        self.close_button.clicked.connect(self.reject)
        self._lay_out(pane_widget)
        self.finished.connect(self._stop)
        self.list.setFocus()
        self.resize(self.sizeHint())
        tasks.start(self._fill(source), "parts: read", self)

    def sizeHint(self) -> QSize:
        """Never larger than the screen."""
        return bounded(self, QSize(WIDTH, HEIGHT))

    def is_idle(self) -> bool:
        """Always: it only shows something."""
        return True

    async def _fill(self, source: BodySource) -> None:
        data = await read_plain(source, BYTES_MAX)
        cut = len(data) > BYTES_MAX
        parts = await in_thread(read_parts, source.content_type, data, cut=cut)
        self.show_parts(parts, cut=cut)

    def show_parts(self, parts: list[PartContent], *, cut: bool = False) -> None:
        """List the parts and select the first one."""
        self.rows.set_records(parts)
        notices = [f"Only parts within the first {size_text(BYTES_MAX)} are listed."] if cut else []
        if len(parts) == PARTS_MAX:
            notices.append(f"Only the first {PARTS_MAX:,} parts are listed.")
        self._notices = notices if parts else ["No parts found: the boundary does not occur in the body."]
        self.notices.say(self._notices)
        self.list.select_row(0)

    @Slot()
    def _show(self) -> None:
        if (part := self.list.current_record()) is not None:
            decoded = [f"Sent as {part.part.encoding}, decoded here and when it is saved."] if part.decoded else []
            self.notices.say([*self._notices, *decoded])
            self.pane.show_source(of_part(part))

    @Slot()
    def _stop(self) -> None:
        self.pane.stop()

    def _lay_out(self, pane_widget: QWidget) -> None:
        left = QVBoxLayout()
        left.setContentsMargins(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_3, 0)
        left.addWidget(self.list)
        right = QVBoxLayout()
        right.setContentsMargins(0, 0, 0, 0)
        right.addWidget(self.notices)
        right.addWidget(pane_widget, 1)
        self.fill_columns(left, right)
        self.footer.addStretch(1)
        self.footer.addWidget(self.close_button)


def of_part(found: PartContent) -> BodySource:
    """A part as a body of its own."""

    name = safe_name(found.part.file_name)
    return of_bytes(found.data, f"part-{found.number}", content_type=found.content_type, file_name=name)


def _tooltip(found: PartContent) -> str:
    return escape(found.part.file_name or found.part.name or "")


def _title(found: PartContent) -> str:
    name = found.part.file_name or found.part.name
    short = name if not name or len(name) <= NAME_MAX else f"{name[:NAME_MAX]}…"
    return f"{found.number}  {escape(short)}" if short else f"{found.number}  {size_text(len(found.data))}"
