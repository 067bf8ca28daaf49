"""Highlights in a view of lines: matches of a search, and the position of an error."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextFormat
from PySide6.QtWidgets import QTextEdit

from app.core.bodies.lines import position_of_column
from app.ui.request.body.code.code_folds import CodeFolds
from app.ui.request.body.code.code_layout import CodeLayout
from app.ui.request.body.code.code_rows import CodeRows
from app.ui.request.body.code.searchable_text import utf16
from app.ui.theme.theme import Theme

Selection = QTextEdit.ExtraSelection
NEAR_MATCHES = 200


class CodeMarks(QObject):
    """Positions are counted as if nothing were folded; going to one unfolds it."""

    def __init__(self, rows: CodeRows, folds: CodeFolds, theme: Theme, layout: CodeLayout) -> None:
        super().__init__(rows.view)
        self._rows, self._folds, self._theme = rows, folds, theme
        self._layout = layout
        self._matches: Sequence[tuple[int, int]] = ()
        self._current = 0
        self._wrong: tuple[int, int] | None = None
        folds.changed.connect(self.refresh)

    def forget(self) -> None:
        """Other lines are shown."""
        self._matches, self._current, self._wrong = (), 0, None

    def show(self, matches: Sequence[tuple[int, int]], current: int, *, move: bool) -> None:
        """Highlight the matches around the current one (-1: none), and scroll to it if `move`."""
        self._matches, self._current = matches, current
        moves = bool(matches) and move and current >= 0
        if moves:
            self._folds.reveal(self._rows.line_at(matches[current][0]))
        self.refresh()
        if moves:
            self._bring_into_view(matches[current][0])

    def show_wrong(self, number: int, column: int, *, move: bool) -> None:
        """Highlight the position in the line of this number, if it is shown."""
        first, after = self._rows.with_number(number)
        pieces = self._rows.lines[first:after]
        if pieces:
            piece, at = position_of_column(pieces, column)
            start = self._rows.place_of(first + piece, at)
            self._wrong = (start, start + utf16(pieces[piece].text[at : at + 1]))
            self.refresh()
        if move:
            if self._wrong is not None:
                self._folds.reveal(self._rows.line_at(self._wrong[0]))
            view = self._rows.view
            cursor = self._cursor(*self._wrong) if self._wrong else None
            if cursor is None:
                cursor = QTextCursor(view.document())
                cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.setPosition(cursor.selectionStart())
            self._layout.lay_out_around(cursor.blockNumber())
            view.setTextCursor(cursor)
            view.centerCursor()
            view.setFocus()

    @Slot()
    def refresh(self) -> None:
        selections = self._of_wrong()
        tokens = self._theme.tokens
        first, last = max(0, self._current - NEAR_MATCHES), min(len(self._matches), self._current + NEAR_MATCHES)
        for number in range(first, last):
            if (cursor := self._cursor(*self._matches[number])) is None:
                continue
            selection = Selection()
            selection.cursor = cursor
            marked = QTextCharFormat()
            marked.setBackground(QColor(tokens.accent if number == self._current else tokens.warning_soft))
            marked.setForeground(QColor(tokens.on_accent if number == self._current else tokens.warning))
            selection.format = marked
            selections.append(selection)
        self._rows.view.setExtraSelections(selections)

    def _of_wrong(self) -> list[Selection]:
        """The line with the error, and the part after it, which may be empty."""
        place = self._cursor(*self._wrong) if self._wrong else None
        if place is None:
            return []
        line, spot = Selection(), Selection()
        tokens = self._theme.tokens
        line.cursor = QTextCursor(self._rows.view.document())
        line.cursor.setPosition(place.selectionStart())
        line.format.setBackground(QColor(tokens.danger_soft))
        line.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
        spot.cursor = place
        spot.format.setForeground(QColor(tokens.on_danger))
        spot.format.setBackground(QColor(tokens.danger))
        return [line, spot]

    def _cursor(self, start: int, end: int) -> QTextCursor | None:
        position = self._rows.position(start)
        if position is None:
            return None
        cursor = QTextCursor(self._rows.view.document())
        cursor.setPosition(position)
        cursor.setPosition(position + end - start, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def _bring_into_view(self, place: int) -> None:
        cursor, view = self._cursor(place, place), self._rows.view
        if cursor is None:
            return
        self._layout.lay_out_around(cursor.blockNumber())
        visible = view.viewport().rect().contains(view.cursorRect(cursor))
        view.setTextCursor(cursor)
        if not visible:
            view.centerCursor()
