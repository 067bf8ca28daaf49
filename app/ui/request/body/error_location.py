"""Links the notice about an invalid body to the place of the error in the text as it was sent."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from app.core.bodies.body_reader import BodyReader
from app.ui.request.body.body_loader import BodyLoader
from app.ui.request.body.code.code_view import SHOWN_MAX, CodeView
from app.ui.request.body.notices_bar import NotesBar


class ErrorLocation(QObject):
    """Create it after the object that shows what `loader` loads in `code`; the button in `notes` goes to the place."""

    def __init__(self, code: CodeView, loader: BodyLoader, notes: NotesBar) -> None:
        super().__init__(notes)
        self._code, self._loader = code, loader
        self._note, self._place = "", (0, 0)
        self._going = False
        loader.begun.connect(self._begun)
        loader.continued.connect(self._continued)
        notes.place.clicked.connect(self._go)

    def forget(self) -> None:
        """Another body is shown."""
        self._note, self._going = "", False

    def notices(self, reader: BodyReader) -> tuple[list[str], bool]:
        """The notices about the body, and whether there is a place to go to. The text view does not know what is wrong
        with the body as JSON or XML; it learns that from the other view.
        """
        notes = reader.notes
        if reader.located_error is not None:
            self._note, self._place = reader.located_error
        elif self._note and _is_text(reader):
            notes = [self._note, *notes]
        return notes, bool(self._note) and self._note in notes

    @Slot()
    def _go(self) -> None:
        reader, source = self._loader.reader, self._loader.source
        self._going = True
        if reader is not None and _is_text(reader):
            self._look()
        elif source is not None:
            self._loader.start(source, "text")  # Only once: the view selected for bodies of this type stays.

    @Slot(object, object)
    def _begun(self, reader: BodyReader, lines: object) -> None:
        if self._note and _is_text(reader):
            self._look()
        else:
            self._going = False

    @Slot(object)
    def _continued(self, lines: object) -> None:
        reader = self._loader.reader
        if self._note and reader is not None and _is_text(reader):
            self._look()

    def _look(self) -> None:
        """Mark the place if it is shown; until then more is loaded, as far as the view allows."""
        reader = self._loader.reader
        line, column = self._place
        more = reader is not None and not reader.done and self._code.length() < SHOWN_MAX
        if self._going and more and self._code.line_count() <= line:
            self._loader.more()
            return
        self._code.mark_place(line, column, move=self._going)
        self._going = False


def _is_text(reader: BodyReader) -> bool:
    return reader.view is not None and reader.view.group == "text"
