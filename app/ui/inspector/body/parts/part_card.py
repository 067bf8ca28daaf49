"""A part of a body as a card: its head, and below that the beginning of its content, or all of it in its own pane."""

from __future__ import annotations

from asyncio import Lock
from collections.abc import Awaitable, Callable
from typing import Any

from PySide6.QtCore import QRect, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.core.text import size_text
from app.ui.inspector.body.body_export import BodyExport
from app.ui.inspector.body.body_source import BodySource
from app.ui.inspector.body.image_decoder import DecodedImage
from app.ui.inspector.body.image_view import Canvas
from app.ui.inspector.body.parts.part_reader import LoadedPart, read_thumbnail
from app.ui.inspector.body.parts.part_text import ROWS_MAX, PartText
from app.ui.tasks import Latest, Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.card import Card
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, fill, hbox, vbox
from app.ui.widgets.toast import Toast
from app.ui.widgets.view_actions import add_view_action

HEAD = 44
CLOSED_HEIGHT = HEAD + 2 * metrics.SPACE_1
UNREAD_HEIGHT = CLOSED_HEIGHT + 31
"""With a line of text, which most parts have."""
PANE_MIN = 180
"""Pixels."""
TEXT_LEFT, TEXT_RIGHT = 36, metrics.SPACE_2
"""Pixels between the content and the sides of a card."""
SPOKEN_MAX = 500
"""Characters of a part that a screen reader says."""

MakePane = Callable[[str, QWidget], Any]
"""Makes the `BodyPane` for a part, which is called as in `part 3`."""


class ToggleButton(IconButton):
    """Arrows are for the view: Qt would go to the next button by them."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            event.ignore()
        else:
            super().keyPressEvent(event)


class PartCard(Card):
    """`load` reads the part once the card is made. One thumbnail at a time is made of what takes `turn`s."""

    resized = Signal(object)
    """It needs another height."""
    toggled = Signal(object)

    def __init__(
        self,
        what: str,
        theme: Theme,
        tasks: Tasks,
        parent: QWidget,
        *,
        load: Callable[[], Awaitable[LoadedPart]],
        turn: Lock,
        make_pane: MakePane,
        toast: Toast,
    ) -> None:
        super().__init__(parent, padding=metrics.SPACE_1)
        self._what, self._load, self._turn, self._make_pane = what, load, turn, make_pane
        self.part: LoadedPart | None = None
        self._thumbnail: DecodedImage | None = None
        self.pane: Any = None
        self.toggle_button = ToggleButton("expand", f"Open {what}", theme, self)
        self.title = ElidedLabel(what.capitalize(), "strong", self)
        self.facts = ElidedLabel("", "small", self)
        self.copy = IconButton("copy", f"Copy {what}", theme, self)
        self.save = IconButton("download", f"Save {what} as…", theme, self)
        self._content = QWidget(self)
        self.picture = Canvas(theme, self._content)
        self.text = PartText(theme, self._content)
        self.picture.setAccessibleName(f"Thumbnail of {what}")
        self.text.setAccessibleName(f"Beginning of {what}")
        self.remarks = label("", "small", self._content, wrap=True)
        self.more = Button("", theme, self._content, kind="link")
        self.more.setAccessibleName(f"Show all of {what}")
        self.more.align_left()
        self._export = BodyExport(
            self.copy, self, tasks, toast, source=self._source, is_picture=self._is_picture, what="part", mime_type=None
        )
        self._lay_out()
        self._connect()
        self._show_content()
        self.set_tab_stop(False)
        self._latest = Latest(self, tasks, "part: load")
        self._latest.run(self._read)

    def set_tab_stop(self, on: bool) -> None:
        """Whether Tab leads to its buttons."""
        for button in (self.toggle_button, self.copy, self.save, self.more):
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus if on else Qt.FocusPolicy.NoFocus)

    def has_focus(self) -> bool:
        focus = QApplication.focusWidget()
        return focus is not None and self.isAncestorOf(focus)

    def height_for(self, width: int, room: int) -> int:
        """The height it needs at this width; open, it takes `room`."""
        if self.pane is not None:
            self.pane.setFixedHeight(max(PANE_MIN, room - CLOSED_HEIGHT))
            return CLOSED_HEIGHT + int(self.pane.height())
        if self.part is None:
            return UNREAD_HEIGHT
        if self._content.isHidden():
            return CLOSED_HEIGHT
        inner = width - 2 * metrics.SPACE_1
        self.text.lay_out(inner - TEXT_LEFT - TEXT_RIGHT)
        self.more.setVisible(not self.text.isHidden() and (self.text.cut or not self.part.whole))
        height = self._content_column.totalHeightForWidth(inner)
        return CLOSED_HEIGHT + max(height, self._content_column.totalMinimumSize().height())

    @Slot()
    def toggle(self) -> None:
        """Show the part in a pane of its own, or no longer."""
        if self.pane is not None:
            self.pane.stop()
            self.pane.hide()
            self.pane.deleteLater()
            self.pane = None
        elif self.part is not None:
            self.pane = self._make_pane(self._what, self)
            self.body.insertWidget(1, self.pane)
            self.pane.show()
            self.pane.show_source(self.part.source)
        self._show_content()
        self.toggled.emit(self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click on its head opens or closes it, one on its content opens it."""
        area = QRect(0, 0, self.width(), self.height() if self.pane is None else HEAD)
        if event.button() == Qt.MouseButton.LeftButton and area.contains(event.position().toPoint()):
            self.toggle()

    def end(self) -> None:
        """Cancel loading."""
        self._latest.stop()
        if self.pane is not None:
            self.pane.stop()

    async def _read(self) -> None:
        part = await self._load()
        self.part = part
        number = self._what.capitalize()
        self.title.setText(part.title or number)
        self.facts.setText(f"{number} · {part.facts}" if part.title else part.facts)
        self.toggle_button.setAccessibleDescription(f"{part.title} · {part.facts}")
        self.text.show_lines(part.lines)
        self.text.setAccessibleDescription("\n".join(line.text for line in part.lines[:ROWS_MAX])[:SPOKEN_MAX])
        self.remarks.setText(part.remarks)
        self.more.setText(f"Show all {size_text(part.source.size)}")
        self._show_content()
        if part.is_picture:
            async with self._turn:
                self._thumbnail = await read_thumbnail(part.source, self.devicePixelRatioF())
            self.picture.show_image(self._thumbnail.image)
            self.picture.setAccessibleDescription(self._thumbnail.words)
            self.remarks.setText(" ".join(filter(None, (self._thumbnail.words, part.remarks))))
            self._show_content()

    def _show_content(self) -> None:
        """The bytes of a picture are seen only if there is no thumbnail."""
        part, closed = self.part, self.pane is None
        image = self._thumbnail.image if self._thumbnail is not None else None
        waits = part is not None and part.is_picture and self._thumbnail is None
        self.toggle_button.set_icon_name("expand" if closed else "collapse")
        self._toggle_action.setText("Open" if closed else "Close")
        self.toggle_button.set_name(f"{self._toggle_action.text()} {self._what}")
        for button in (self.copy, self.save):
            button.setVisible(closed)  # The pane has its own.
        if image is not None:
            self.picture.setFixedSize(image.size() / self.devicePixelRatioF())
        self.picture.setVisible(image is not None)
        self.text.setVisible(part is not None and bool(part.lines) and image is None and not waits)
        self.remarks.setVisible(bool(self.remarks.text()))
        self.more.hide()
        shown = (self.picture, self.text, self.remarks)
        self._content.setVisible(closed and not all(widget.isHidden() for widget in shown))
        self.resized.emit(self)

    def _lay_out(self) -> None:
        names = vbox(Stretch(), self.title, self.facts, Stretch(), spacing=2, margins=0)
        head = hbox(self.toggle_button, (names, 1), self.copy, self.save, spacing=metrics.SPACE_1)
        head.addStrut(HEAD)
        left = Qt.AlignmentFlag.AlignLeft
        self._content_column = vbox(
            (self.picture, 0, left),
            self.remarks,
            self.text,
            (self.more, 0, left),
            inside=self._content,
            spacing=metrics.SPACE_1,
            margins=(TEXT_LEFT, metrics.SPACE_1, TEXT_RIGHT, metrics.SPACE_2),
        )
        self.body.setSpacing(0)
        fill(self.body, head, self._content, Stretch())

    def _connect(self) -> None:
        for button in (self.toggle_button, self.more):
            button.clicked.connect(self.toggle)
        self.copy.clicked.connect(self._export.copy)
        self.save.clicked.connect(self._export.save)
        self._toggle_action = add_view_action(self, "Open", self.toggle)
        self.addAction(add_view_action(self.toggle_button, "Copy", self._export.copy, QKeySequence.StandardKey.Copy))
        add_view_action(self, "Save as…", self._export.save)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)

    def _source(self) -> BodySource | None:
        return self.part.source if self.part is not None else None

    def _is_picture(self) -> bool:
        return self._thumbnail is not None and self._thumbnail.image is not None
