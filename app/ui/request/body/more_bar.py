"""The bar below a large body: which part of it is shown, and buttons to load more."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.text import size_text
from app.ui.request.body.body_loader import STEP, BodyLoader
from app.ui.request.body.code.code_view import SHOWN_MAX, CodeView
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import ElidedLabel

MORE = 1 << 20
"""Bytes of the body that one press adds."""
EARLIER = 4 * STEP


class RestBar(QFrame):
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
        begin, end = size_text(reader.start_offset), size_text(reader.unpacked)
        if reader.codings and full and not reader.start_offset:
            text = f"Unpacking stops at {end}: it may be a decompression bomb. Hex shows it as sent."
        else:
            beginning = "the first" if lines is None else f"{lines:,} lines of the first"
            part = f"{begin} to {end}" if reader.start_offset else f"{beginning} {end}"
            of = f", unpacked from {size_text(size)}" if reader.codings else f" of {size_text(size)}"
            text = f"Showing {part}{of}"
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


class RestOfBody(QObject):
    """Handles the buttons of `bar`."""

    def __init__(self, bar: RestBar, loader: BodyLoader, code: CodeView) -> None:
        super().__init__(bar)
        self._bar, self._loader, self._code = bar, loader, code
        self._back_to: tuple[int | None, int] | None = None
        """Number and byte of the line that stays at the top while what precedes it is loaded."""
        bar.more.clicked.connect(self._more)
        bar.earlier.clicked.connect(self._earlier)

    def show_part(self, reader: BodyReader, size: int) -> None:
        """Update the text after lines were loaded."""
        full = self._code.length() >= SHOWN_MAX
        if full:
            self._loader.enough()
        textual = reader.view is not None and reader.view.formatter is not None
        if not size or not textual or (reader.done and not reader.start_offset):
            self._bar.hide()
        else:
            self._bar.say(reader, size, self._code.line_count() if reader.has_lines else None, full=full)
        self._return()

    def forget(self) -> None:
        """Another body is shown."""
        self._back_to = None

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
            self._back_to = (self._code.top_line(), reader.start_offset)
            self._loader.start_at(source, reader.view.group, max(0, reader.start_offset - EARLIER))

    def _return(self) -> None:
        """Once it is loaded again, scroll the previous top line back to the top."""
        reader = self._loader.reader
        if self._back_to is None or reader is None:
            return
        number, byte = self._back_to
        there = (
            reader.unpacked > byte and not reader.has_lines and (number is None or self._code.line_count() >= number)
        )
        if there or reader.done:
            self._back_to = None
            self._code.show_at_top(number)
        else:
            self._loader.more()
