"""The bars above and below a body: toolbar, notices, footer of a view, and the part of a large body that is shown."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.text import size_text
from app.ui.request.body.body_loader import STEP, BodyLoader
from app.ui.request.body.code.code_view import SHOWN_MAX, CodeView
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.side_by_side import SideBySide

MORE = 1 << 20
"""Bytes of the body that one press adds."""
EARLIER = 4 * STEP


def body_toolbar(views: QWidget, facts: QLabel, buttons: Iterable[QWidget], parent: QWidget) -> SideBySide:
    first, second = QHBoxLayout(), QHBoxLayout()
    first.addWidget(views)
    first.addStretch(1)
    second.setSpacing(2)  # all of it fits a third of 960 pixels
    facts.setIndent(metrics.SPACE_2)  # not between widgets: it goes where the facts have no room
    second.addWidget(facts, 1)
    for button in buttons:
        second.addWidget(button)
    margins = (metrics.SPACE_3, metrics.SPACE_2, metrics.SPACE_2, metrics.SPACE_2)
    result = SideBySide(metrics.SPACE_1, parent, margins)
    result.add_parts((first, 0), (second, 1))
    return result


def view_footer(content: QWidget, parent: QWidget) -> QFrame:
    footer = QFrame(parent)
    footer.setProperty("part", "footer")
    row = QHBoxLayout(footer)
    row.setContentsMargins(metrics.SPACE_4, metrics.SPACE_1, metrics.SPACE_3, metrics.SPACE_1)
    row.addWidget(content)
    return footer


class NoticesBar(QFrame):
    """Hidden while there are no notices."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.text = label("", "small", self, wrap=True)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, 6, metrics.SPACE_3, 6)
        self.place = Button("Show", theme, self, kind="link")
        self.place.setToolTip("Go to the error in the text as it was sent")
        self.place.setAccessibleName("Show the error")
        row.addWidget(self.text, 1)
        row.addWidget(self.place)
        self.hide()

    def say(self, notices: list[str], *, place: bool = False) -> None:
        """Show these notices, with a button if there is a place to go to; an empty list hides the bar."""
        self.place.setVisible(place)
        self.text.setText(" ".join(notices))
        self.setVisible(bool(notices))


class ErrorLocation(QObject):
    """The button in `notices` goes to the error in `code`. Create it after the object that shows there what `loader`
    loads.
    """

    def __init__(self, code: CodeView, loader: BodyLoader, notices: NoticesBar) -> None:
        super().__init__(notices)
        self._code, self._loader = code, loader
        self._notice, self._place = "", (0, 0)
        self._jumping = False
        loader.begun.connect(self._begun)
        loader.continued.connect(self._continued)
        notices.place.clicked.connect(self._show_place)

    def forget(self) -> None:
        """Another body is shown."""
        self._notice, self._jumping = "", False

    def notices(self, reader: BodyReader) -> tuple[list[str], bool]:
        """The notices about the body, and whether there is a place to go to. The text view does not know what is wrong
        with the body as JSON or XML; it learns that from the other view.
        """
        notices = reader.notes
        if reader.located_error is not None:
            self._notice, self._place = reader.located_error
        elif self._notice and _is_text(reader):
            notices = [self._notice, *notices]
        return notices, bool(self._notice) and self._notice in notices

    @Slot()
    def _show_place(self) -> None:
        reader, source = self._loader.reader, self._loader.source
        self._jumping = True
        if reader is not None and _is_text(reader):
            self._mark_place()
        elif source is not None:
            self._loader.start(source, "text")  # Only once: the view selected for bodies of this type stays.

    @Slot(object, object)
    def _begun(self, reader: BodyReader, lines: object) -> None:
        if self._notice and _is_text(reader):
            self._mark_place()
        else:
            self._jumping = False

    @Slot(object)
    def _continued(self, lines: object) -> None:
        reader = self._loader.reader
        if self._notice and reader is not None and _is_text(reader):
            self._mark_place()

    def _mark_place(self) -> None:
        """Mark the place if it is shown; until then more is loaded, as far as the view allows."""
        reader = self._loader.reader
        line, column = self._place
        more = reader is not None and not reader.done and self._code.length() < SHOWN_MAX
        if self._jumping and more and self._code.line_count() <= line:
            self._loader.more()
            return
        self._code.mark_place(line, column, move=self._jumping)
        self._jumping = False


def _is_text(reader: BodyReader) -> bool:
    return reader.view is not None and reader.view.group == "text"


class LoadMoreBar(QFrame):
    """Says which part of a large body is shown, with buttons to load more."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("part", "footer")
        self.text = ElidedLabel("", "small", self)
        self.earlier = Button("Load earlier", theme, self, kind="link")
        self.more = Button("Load more", theme, self, kind="link")
        self.save = Button("Save as…", theme, self, kind="link")
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.SPACE_4, 2, metrics.SPACE_3, 2)
        row.addWidget(self.text, 1)
        for button in (self.earlier, self.more, self.save):
            row.addWidget(button)
        self.hide()

    def say_first(self, read: int, size: int, *, full: bool) -> None:
        """`read` of the `size` bytes of a request are shown; `full`: no more can be shown."""
        if full:
            text = f"Only the first part of {size_text(size)} is shown. Hex and Save as… have all of it."
        elif read < size:
            text = f"Showing the first {size_text(read)} of {size_text(size)}"
        else:
            text = "Showing the first lines"
        self.text.setText(text)
        self.earlier.hide()
        self.more.setVisible(not full)
        self.show()

    def say(self, reader: BodyReader, size: int, lines: int | None, *, full: bool) -> None:
        """The part of a body of `size` bytes that is shown; `lines` if that is less than what was read. `full`: the
        view can show no more.
        """
        end = size_text(reader.unpacked)
        if reader.codings and full and not reader.start_offset:
            text = f"Decompression stopped at {end}: this may be a decompression bomb. Hex shows it as sent."
        else:
            of = f", decompressed from {size_text(size)}" if reader.codings else f" of {size_text(size)}"
            text = f"Showing {_part(reader, lines)}{of}"
        self.text.setText(text)
        left = size - reader.unpacked
        if full:
            self.more.setText("Show next part")
        elif reader.codings or left > MORE:
            self.more.setText(f"Load {size_text(MORE).replace('.0 ', ' ')} more")
        else:
            self.more.setText(f"Load the rest, {size_text(left)}" if left > 0 else "Load the rest")
        self.earlier.setVisible(reader.start_offset > 0)
        self.more.setVisible(not reader.done and not (full and reader.codings))
        self.show()


def _part(reader: BodyReader, lines: int | None) -> str:
    """Not from one size to another: far into a body both are rounded to the same."""
    begin, end = reader.start_offset, reader.unpacked
    if not begin:
        return f"the first {size_text(end)}" if lines is None else f"{lines:,} lines of the first {size_text(end)}"
    if not reader.done:
        part = size_text(end - begin) if lines is None else f"{lines:,} lines"
        return f"{part} after the first {size_text(begin)}"
    return f"the last {size_text(end - begin)}" + (f" of {size_text(end)}" if reader.codings else "")


class LoadMore(QObject):
    """Handles the buttons of `bar`."""

    def __init__(self, bar: LoadMoreBar, loader: BodyLoader, code: CodeView) -> None:
        super().__init__(bar)
        self._bar, self._loader, self._code = bar, loader, code
        self._return_to: tuple[int | None, int] | None = None
        """Number and byte of the line that stays at the top while what precedes it is loaded."""
        bar.more.clicked.connect(self._more)
        bar.earlier.clicked.connect(self._earlier)

    def show_part(self, reader: BodyReader, size: int) -> None:
        """Update the text after lines were loaded."""
        full = self._code.length() >= SHOWN_MAX
        if full:
            self._loader.stop_after_step()
        textual = reader.view is not None and reader.view.formatter is not None
        if not size or not textual or (reader.done and not reader.start_offset):
            self._bar.hide()
        else:
            self._bar.say(reader, size, self._code.line_count() if reader.has_lines else None, full=full)
        self._restore_top_line()

    def forget(self) -> None:
        """Another body is shown."""
        self._return_to = None

    @Slot()
    def _more(self) -> None:
        reader, source = self._loader.reader, self._loader.source
        if reader is None or source is None or reader.view is None:
            return
        if self._code.length() >= SHOWN_MAX:
            self._loader.start_at(source, reader.view.group, reader.unpacked)
        else:
            self._loader.more(MORE)

    @Slot()
    def _earlier(self) -> None:
        reader, source = self._loader.reader, self._loader.source
        if reader is not None and source is not None and reader.view is not None:
            self._return_to = (self._code.top_line(), reader.start_offset)
            self._loader.start_at(source, reader.view.group, max(0, reader.start_offset - EARLIER))

    def _restore_top_line(self) -> None:
        """Once it is loaded again, scroll the previous top line back to the top."""
        reader = self._loader.reader
        if self._return_to is None or reader is None:
            return
        number, byte = self._return_to
        loaded = (
            reader.unpacked > byte and not reader.has_lines and (number is None or self._code.line_count() >= number)
        )
        if loaded or reader.done:
            self._return_to = None
            self._code.show_at_top(number)
        else:
            self._loader.more()
