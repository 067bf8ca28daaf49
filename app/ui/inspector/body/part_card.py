"""A part of a body as a card: its head, and below that the beginning of its content, or all of it in its own pane; and
how a part is read: its headers, its first lines, and a thumbnail."""

from __future__ import annotations

import re
from asyncio import Lock
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QPointF, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QImage,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QApplication, QWidget

from app.core.bodies.escape import escape_beginning
from app.core.bodies.format_registry import part_lines
from app.core.bodies.formats.image import image_kind
from app.core.bodies.formats.multipart import HEAD_MAX, SHOWN_MAX, Part, Span, as_text, decode, section_of
from app.core.bodies.formatter import Line
from app.core.bodies.media_types import media_type, type_of
from app.core.file_names import safe_name
from app.core.text import size_text
from app.ui.commands.command import add_view_action
from app.ui.inspector.body.body_export import BodyExport
from app.ui.inspector.body.body_source import BodySource, of_bytes
from app.ui.inspector.body.code_rows import qt_spans
from app.ui.inspector.body.image_view import Canvas, read_picture
from app.ui.inspector.body.pictures import DecodedImage
from app.ui.inspector.body.text_style import code_formats
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.card import Card
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Stretch, fill, hbox, vbox
from app.ui.widgets.marked_text import styled, utf16
from app.ui.widgets.notices import Toast

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
ROWS_MAX = 12
ENCODED_MAX = 64 * 1024 * 1024
"""Bytes of a part with a transfer encoding that are decoded."""
THUMBNAIL_OF_MAX = 16 * 1024 * 1024
"""Bytes of a picture that is decoded without being asked for."""
THUMBNAIL = QSize(240, 120)
"""The largest thumbnail, in pixels."""
TEXT_MAX = 200
"""Characters shown of a name or a type."""


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
        self.text = _PartText(theme, self._content)
        self.picture.setAccessibleName(f"Thumbnail of {what}")
        self.text.setAccessibleName(f"Beginning of {what}")
        self.remarks = label("", "small", self._content, wrap=True)
        self.more = Button("", theme, self._content, kind="link")
        self.more.setAccessibleName(f"Show all of {what}")
        self.more.align_left()
        self._export = BodyExport(
            self.copy, self, tasks, toast, source=self._source, is_picture=self._is_picture, what="part"
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


class _PartText(QWidget):
    """`lay_out` for a width comes first. `cut`: there is more than what is shown."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._lines: Sequence[Line] = ()
        self._layouts: list[QTextLayout] = []
        self._pattern: re.Pattern[str] | None = None
        self._width = 0
        self.cut = False
        theme.changed.connect(self._restyle)

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show the first of these lines."""
        self._lines = lines

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        """Mark the matches of this pattern."""
        self._pattern = pattern
        self._restyle()

    def lay_out(self, width: int) -> None:
        """Wrap at this width, and set the height."""
        self._width = width
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        height, rows = self._theme.body_text.line_height, 0
        self._layouts, self.cut = [], len(self._lines) > ROWS_MAX
        for line in self._lines[:ROWS_MAX]:
            layout = QTextLayout(line.text, mono_font(self._theme.body_text.size))
            layout.setTextOption(option)
            layout.setFormats(list(self._formats(line)))
            layout.beginLayout()
            end = 0
            while rows < ROWS_MAX and (row := layout.createLine()).isValid():
                row.setLineWidth(width)
                row.setPosition(QPointF(0, rows * height))
                end = row.textStart() + row.textLength()
                rows += 1
            layout.endLayout()
            self.cut = self.cut or end < utf16(line.text)
            self._layouts.append(layout)
        self.setFixedHeight(rows * height)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(self._theme.tokens.text))
        for layout in self._layouts:
            layout.draw(painter, QPointF(0, 0))

    @Slot()
    def _restyle(self) -> None:
        self.lay_out(self._width)

    def _formats(self, line: Line) -> Iterator[QTextLayout.FormatRange]:
        tokens = self._theme.tokens
        formats, marked = code_formats(tokens), QTextCharFormat()
        marked.setBackground(QColor(tokens.warning_soft))
        for start, length, kind in qt_spans(line):
            yield styled(start, length, formats[kind])
        for match in self._pattern.finditer(line.text) if self._pattern is not None else ():
            yield styled(utf16(line.text[: match.start()]), utf16(match.group()), marked)


@dataclass(frozen=True)
class LoadedPart:
    """`title` is empty for a part without a name; `facts` are its type, its size as sent, and its file's name. `lines`
    are the first of its content, all of it if they are `whole`. `source` is that content, without its transfer
    encoding.
    """

    title: str
    facts: str
    remarks: str
    source: BodySource
    lines: list[Line]
    whole: bool
    is_picture: bool


async def read_part(body: BodySource, span: Span, name: str) -> LoadedPart:
    """A part of a body that has no content coding; `name` is for a saved file."""
    # The line end before a boundary can also be that of the headers.
    data = await body.read(span.begin, min(span.end + 2 - span.begin, HEAD_MAX + SHOWN_MAX))
    found = section_of(data, 0, min(span.end - span.begin, len(data)), is_part=True, closed=span.closed)
    assert found.part is not None
    part, size = found.part, span.end - span.begin - found.begin
    source, remarks = await _content(body, span.end - size, size, part, name)
    remarks += ["Some of its header lines are malformed."] if part.odd else []
    remarks += [] if span.closed else ["The body ends before this part does."]
    first, whole = await source.read(0, SHOWN_MAX), source.size <= SHOWN_MAX
    lines = await in_thread(part_lines, part, first, source.size, complete=whole) if first else []
    kind = media_type(source.content_type)
    is_picture = bool(first) and (kind.startswith("image/") or image_kind(first) is not None)
    facts = (_short(as_text(part.content_type)), size_text(size), _short(part.file_name))
    return LoadedPart(
        _title(part), " · ".join(filter(None, facts)), " ".join(remarks), source, lines, whole, is_picture
    )


async def read_thumbnail(source: BodySource, ratio: float) -> DecodedImage:
    """The picture, no larger than a thumbnail on a screen of this scale."""
    if source.size > THUMBNAIL_OF_MAX:
        return DecodedImage(f"Pictures over {size_text(THUMBNAIL_OF_MAX)} get no thumbnail.")
    found = await read_picture(source, ratio)
    return replace(found, image=None if found.image is None else await in_thread(_shrunk, found.image, ratio))


def _shrunk(image: QImage, ratio: float) -> QImage:
    room = THUMBNAIL * ratio
    if image.width() <= room.width() and image.height() <= room.height():
        return image
    size = image.size().scaled(room, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))
    return image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)


async def _content(body: BodySource, begin: int, size: int, part: Part, name: str) -> tuple[BodySource, list[str]]:
    """The content between these bytes, and a remark if it has a transfer encoding."""
    content_type, file_name = _content_type(part), safe_name(part.file_name)
    sent = body.part(begin, size, headers=(), content_type=content_type, name=name, file_name=file_name)
    if part.encoding not in ("base64", "quoted-printable"):
        return sent, []
    if size > ENCODED_MAX:
        return sent, [f"Sent as {part.encoding}, and not decoded: it is larger than {size_text(ENCODED_MAX)}."]
    plain, done = await in_thread(decode, part.encoding, await sent.read(0, size))
    if not done:
        return sent, [f"Its headers say {part.encoding}, but it is not; shown as sent."]
    remark = f"Sent as {part.encoding}, decoded here and when it is saved."
    return replace(sent, size=len(plain), read=of_bytes(plain, name).read), [remark]


def _content_type(part: Part) -> str:
    """The declared type, or if that is generic, the type for its file name."""
    declared_type = media_type(part.content_type)
    found = type_of(declared_type, part.file_name)
    return part.content_type if found == declared_type else found


def _title(part: Part) -> str:
    """Its name, or else its content ID."""
    if part.name is not None:
        return _short(part.name) or '""'
    return _short(next((as_text(value) for name, value in part.headers if name.lower() == "content-id"), ""))


def _short(text: str | None) -> str:
    return escape_beginning(text or "", TEXT_MAX)
