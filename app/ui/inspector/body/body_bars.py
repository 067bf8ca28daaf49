"""The bars above and below a body: toolbar, notices, footer of a view, and the part of a large body that is shown."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.formatter import Position
from app.core.text import size_text
from app.ui.inspector.body.body_source import BodyLoader
from app.ui.inspector.body.code_view import CodeView
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.layout import SideBySide, Stretch, hbox
from app.ui.widgets.notices import NoticeText


def body_toolbar(views: QWidget, facts: QLabel, buttons: Iterable[QWidget], parent: QWidget) -> SideBySide:
    facts.setIndent(metrics.SPACE_2)  # not between widgets: it goes where the facts have no room
    first, second = hbox(views, Stretch()), hbox((facts, 1), *buttons, spacing=2)  # all fits a third of 960 pixels
    margins = (metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_2, metrics.SPACE_2)
    result = SideBySide(metrics.SPACE_1, parent, margins)
    result.add_parts((first, 0), (second, 1))
    return result


def view_footer(content: QWidget, parent: QWidget) -> QFrame:
    footer = QFrame(parent)
    footer.setProperty("part", "footer")
    hbox(content, inside=footer, margins=(metrics.SPACE_4, metrics.SPACE_1, metrics.SPACE_3, metrics.SPACE_1))
    return footer


class NoticesBar(QFrame):
    """Hidden while there are no notices."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.text = NoticeText(theme, self, "small")
        self._row = hbox((self.text, 1), inside=self, margins=(metrics.SPACE_4, 6, metrics.SPACE_3, 6))
        self.hide()

    def say(self, notices: list[str]) -> None:
        """Show these notices; an empty list hides the bar."""
        self.text.say(" ".join(notices))
        self.setVisible(bool(notices))


class BodyNotices(NoticesBar):
    """What is wrong with the body that `loader` reads, with a button that goes to the error in `code`."""

    def __init__(self, code: CodeView, loader: BodyLoader, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._code, self._loader = code, loader
        self._error: tuple[str, Position] | None = None
        self._jumping = False
        self.place = Button("Show", theme, self, kind="link", name="Show the error", run=self._show_place)
        self.place.setToolTip("Go to the error in the text as it was sent")
        self._row.addWidget(self.place)

    def forget(self) -> None:
        """Another body is shown."""
        self._error, self._jumping = None, False

    def show_notices(self, reader: BodyReader, others: list[str]) -> None:
        """The reader's notes after `others`. The text view does not know what is wrong with the body as JSON or XML; it
        learns that from the other view. Call it after the lines are shown.
        """
        notices = reader.notes
        if reader.located_error is not None:
            self._error = reader.located_error
        elif self._error is not None and _is_text(reader):
            notices = [self._error[0], *notices]
        self.place.setVisible(self._error is not None and self._error[0] in notices)
        self.say([*others, *notices])
        self._mark_place()

    @Slot()
    def _show_place(self) -> None:
        reader, source = self._loader.reader, self._loader.source
        self._jumping = True
        if reader is not None and _is_text(reader):
            self._mark_place()
        elif source is not None:
            self._loader.start(source, "text")  # Only once: the view selected for bodies of this type stays.

    def _mark_place(self) -> None:
        """Mark the place once its line is shown."""
        reader = self._loader.reader
        if reader is None or self._error is None or not _is_text(reader):
            self._jumping = False
            return
        line, column = self._error[1]
        if self._code.line_count() > line or self._loader.ended:
            self._code.marks.show_wrong(line, column, move=self._jumping)
            self._jumping = False


def _is_text(reader: BodyReader) -> bool:
    return reader.view is not None and reader.view.group == "text"


class PartBar(QFrame):
    """Says which part of a large body is shown, with buttons for the rest: `more` goes on as text."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "footer")
        self.text = ElidedLabel("", "small", self)
        self.earlier = Button("Show previous part", theme, self, kind="link")
        self.more = Button("Show next part", theme, self, kind="link")
        self.save = Button("Save as…", theme, self, kind="link")
        row = ((self.text, 1), self.earlier, self.more, self.save)
        hbox(*row, inside=self, margins=(metrics.SPACE_4, 2, metrics.SPACE_3, 2))
        self.hide()

    def show_part(self, reader: BodyReader, size: int, lines: int) -> None:
        """All that is shown of a body of `size` bytes are these many lines of what `reader` has read."""
        self.text.setText(_part(reader, size, lines))
        self.more.setText("Show next part" if _is_text(reader) else "Show as text")
        self.more.setVisible(not (reader.complete and reader.done) and not (reader.codings and _is_text(reader)))
        self.earlier.setVisible(reader.start_offset > 0)
        self.show()


def _part(reader: BodyReader, size: int, lines: int) -> str:
    """Not from one size to another: far into a body both are rounded to the same."""
    begin, end = reader.start_offset, size_text(reader.end_offset)
    if reader.codings and not reader.complete and not begin:
        return f"Decompression stopped at {end}: this may be a decompression bomb. Hex shows it as sent."
    of = f", decompressed from {size_text(size)}" if reader.codings else f" of {size_text(size)}"
    length = size_text(reader.end_offset - begin)
    if not reader.done:
        place = f"{lines:,} lines after the first {size_text(begin)}" if begin else f"the first {lines:,} lines"
        return f"Showing {place}{of}"
    if not begin:
        return f"Showing the first {end}{of}"
    if reader.complete:
        return f"Showing the last {length}{f' of {end}' if reader.codings else ''}{of}"
    return f"Showing {length} after the first {size_text(begin)}{of}"
