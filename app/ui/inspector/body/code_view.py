"""Shows any number of lines of styled text; only visible ones are coloured. Its menu folds, wraps and zooms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QPointF, QRect, QRectF, QSignalBlocker, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
    QResizeEvent,
    QTextBlock,
    QTextCursor,
    QTextFormat,
    QTextOption,
)
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QTextEdit, QToolTip, QWidget

from app.core.bodies.formatter import Line, position_of_column
from app.ui.commands.body_text_commands import FOLD, FOLD_ALL, UNFOLD, UNFOLD_ALL, BodyTextCommands
from app.ui.commands.command import add_view_action
from app.ui.inspector.body.code_rows import TAB, CodeFolds, CodeLayout, CodeRows, SearchableText, qt_spans
from app.ui.inspector.body.text_style import ReadOnlyText, TextSize, code_formats
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.marked_text import styled, utf16

Selection = QTextEdit.ExtraSelection
NEAR_MATCHES = 200


class CodeMarks(QObject):
    """Positions are counted as if nothing were folded; going to one unfolds it."""

    def __init__(self, rows: CodeRows, folds: CodeFolds, theme: Theme, layout: CodeLayout) -> None:
        super().__init__(rows.view)
        self._rows, self._folds, self._theme = rows, folds, theme
        self._layout = layout
        self.matches: Sequence[tuple[int, int]] = ()
        self.current = 0
        self._wrong: tuple[int, int] | None = None
        folds.changed.connect(self.refresh)

    def forget(self) -> None:
        """Other lines are shown."""
        self.matches, self.current, self._wrong = (), 0, None

    def show(self, matches: Sequence[tuple[int, int]], current: int, *, move: bool = True) -> None:
        """Highlight the matches around the current one (-1: none), and with `move` scroll to that, unfolding it; an
        empty list clears.
        """
        self.matches, self.current = matches, current
        place = matches[current][0] if matches and move and current >= 0 else None
        if place is not None:
            self._folds.reveal(self._rows.line_at(place))
        self.refresh()
        if place is not None:
            self._go_to(self._cursor(place, place))

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
            self._go_to(self._cursor(self._wrong[0], self._wrong[0]) if self._wrong is not None else None, centred=True)
            self._rows.view.setFocus()

    @Slot()
    def refresh(self) -> None:
        selections = self._of_wrong()
        tokens = self._theme.tokens
        first, last = max(0, self.current - NEAR_MATCHES), min(len(self.matches), self.current + NEAR_MATCHES)
        for number in range(first, last):
            if (cursor := self._cursor(*self.matches[number])) is None:
                continue
            selection = Selection()
            selection.cursor = cursor
            selection.format.setBackground(QColor(tokens.accent if number == self.current else tokens.warning_soft))
            selection.format.setForeground(QColor(tokens.on_accent if number == self.current else tokens.warning))
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

    def _go_to(self, cursor: QTextCursor | None, *, centred: bool = False) -> None:
        """Put the text cursor there, or at the end, and bring it into view."""
        view = self._rows.view
        if cursor is None:
            cursor = QTextCursor(view.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
        self._layout.lay_out_around(cursor.blockNumber())
        is_seen = view.viewport().rect().contains(view.cursorRect(cursor))
        view.setTextCursor(cursor)
        if centred or not is_seen:
            view.centerCursor()


ARROWS = 16
"""Width in pixels of the column with the arrows."""
GAP = 8


class CodeGutter(QWidget):
    """At the left edge of the view that `rows` belongs to."""

    def __init__(self, rows: CodeRows, folds: CodeFolds, theme: Theme) -> None:
        super().__init__(rows.view)
        self._rows, self._folds, self._theme = rows, folds, theme
        self._hovered = -1
        self.setMouseTracking(True)
        rows.view.updateRequest.connect(self._follow)

    def needed_width(self) -> int:
        """The width in pixels."""
        digits = max(2, len(str(self._rows.last_number())))
        arrows = ARROWS if self._rows.folding else 0
        return GAP + QFontMetrics(self._rows.view.font()).horizontalAdvance("0") * digits + GAP + arrows

    def place(self) -> None:
        area = self._rows.view.contentsRect()
        self.setGeometry(QRect(area.left(), area.top(), self.needed_width(), area.height()))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint line numbers, an arrow for continuations, and arrows that fold."""
        painter, tokens, exposed = QPainter(self), self._theme.tokens, event.rect()
        painter.fillRect(exposed, QColor(tokens.surface))
        painter.setFont(self._rows.view.font())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        arrows = ARROWS if self._rows.folding else 0
        width, height = self.width() - GAP - arrows, self._theme.body_text.line_height
        metrics = QFontMetrics(self._rows.view.font())
        above = max(0, height - metrics.height())
        for row, top in self._rows.visible_rows(exposed.bottom()):
            line = self._rows.line_of(row)
            painter.setPen(QColor(tokens.text_faint))
            text = self._rows.number_text(line)
            painter.drawText(QRectF(0, top + above, width, metrics.height()), Qt.AlignmentFlag.AlignRight, text)
            if self._folds.can_fold(line):
                self._paint_arrow(
                    painter, tokens, line, QPointF(self.width() - ARROWS / 2 - 2, top + above + metrics.height() / 2)
                )

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Fold or unfold if there is an arrow."""
        line = self._line_at(event)
        if event.button() == Qt.MouseButton.LeftButton and self._folds.can_fold(line):
            self._folds.toggle(line)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show a hand cursor and a tooltip over an arrow."""
        line = self._line_at(event)
        can = self._folds.can_fold(line)
        self.setCursor(Qt.CursorShape.PointingHandCursor if can else Qt.CursorShape.ArrowCursor)
        if line != self._hovered:
            self._hovered = line
            text = ("Unfold" if self._folds.is_folded(line) else "Fold") if can else ""
            QToolTip.showText(event.globalPosition().toPoint(), text, self)
            self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = -1
        self.update()

    def _line_at(self, event: QMouseEvent) -> int:
        y = event.position().y()
        above = [row for row, top in self._rows.visible_rows(int(y)) if top <= y]
        return self._rows.line_of(above[-1]) if above else -1

    def _paint_arrow(self, painter: QPainter, tokens: Tokens, line: int, middle: QPointF) -> None:
        folded = self._folds.is_folded(line)
        strong = folded or line == self._hovered
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.text_muted if strong else tokens.text_faint))
        across = [(-2.0, -4.0), (-2.0, 4.0), (3.0, 0.0)] if folded else [(-4.0, -2.0), (4.0, -2.0), (0.0, 3.0)]
        painter.drawPolygon(QPolygonF([middle + QPointF(x, y) for x, y in across]))

    @Slot(QRect, int)
    def _follow(self, rect: QRect, dy: int) -> None:
        if dy:
            self.scroll(0, dy)
        else:
            self.update(0, rect.y(), self.width(), rect.height())


class CodeView(ReadOnlyText):
    """`set_lines` begins, `add_lines` continues. Places (of matches) are counted as if nothing were
    folded."""

    menu_opening = Signal(object, object, object)
    """The view, its context menu, which listeners may extend, and a text cursor at the clicked position."""

    def __init__(self, theme: Theme, parent: QWidget, name: str = "Body as text") -> None:
        super().__init__(parent)
        self._theme = theme
        self.searchable = SearchableText()
        self._style_number = 0
        self.setProperty("part", "code")
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(6)
        self.setAccessibleName(name)
        self.rows = CodeRows(self)
        self.folds = CodeFolds(self.rows)
        self._layout = CodeLayout(self.rows, theme.body_text)
        self.gutter = CodeGutter(self.rows, self.folds, theme)
        self._fold_actions = [
            add_view_action(self, "Fold", self.folds.fold_here, FOLD),
            add_view_action(self, "Unfold", self.folds.unfold_here, UNFOLD),
            add_view_action(self, "Fold all", self.folds.fold_all, FOLD_ALL),
            add_view_action(self, "Unfold all", self.folds.unfold_all, UNFOLD_ALL),
        ]
        for action in self._fold_actions:
            action.setShortcutVisibleInContextMenu(True)
        self.marks = CodeMarks(self.rows, self.folds, theme, self._layout)
        self.folds.changed.connect(self.gutter.update)
        theme.changed.connect(self._apply_style)
        self._text_size = TextSize(self, theme.body_text, self._set_font)
        self._apply_style(theme.tokens)

    def set_lines(self, lines: Sequence[Line], first: int = 1, *, folding: bool = False) -> None:
        """Show these lines; the first has this number. `folding`: indented lines can be folded."""
        self.rows.begin(lines, first, folding=folding)
        self.searchable = SearchableText()
        self.marks.forget()
        self.searchable.add(lines)
        self.setPlainText("\n".join(line.text for line in lines))
        if self.blockCount() == 1:
            # Qt has laid the text out by now; laid out again, it is without lines of the previous document.
            self.document().firstBlock().clearLayout()
        self._fit_gutter()

    def add_lines(self, lines: Sequence[Line]) -> None:
        """Append lines."""
        if not lines:
            return
        self.rows.add(lines)
        self.searchable.add(lines)
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText("\n" + "\n".join(line.text for line in lines))
        self._fit_gutter()

    def end_lines(self) -> None:
        """There are no more lines: the last ones can be folded, too."""
        self.rows.folds.finish()
        self.gutter.update()

    def line_count(self) -> int:
        """The number of the last line shown; a continued line counts once."""
        return self.rows.last_number() if self.rows.lines else 0

    def createMimeDataFromSelection(self) -> QMimeData:
        """The selected text, including folded lines."""
        data = QMimeData()
        data.setText(self.folds.selected_text())
        return data

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """A menu with actions for the text and those that listeners add."""
        menu = self.menu(event)
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        self.menu_opening.emit(self, menu, self.textCursor() if by_key else self.cursorForPosition(event.pos()))
        menu.popup(event.globalPos())

    def menu(self, event: QContextMenuEvent) -> QMenu:
        """A new context menu, with Qt's own entries first. The commands in it are deleted with it."""
        if event.reason() == QContextMenuEvent.Reason.Mouse and not self.textCursor().hasSelection():
            self.setTextCursor(self.cursorForPosition(event.pos()))
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addSeparator()
        if self.rows.folding:
            menu.addActions(self._fold_actions)
            menu.addSeparator()
        for command in BodyTextCommands(self._theme, None, menu).commands:
            command.setIconVisibleInMenu(False)
            menu.addAction(command)
        return menu

    def paintEvent(self, event: QPaintEvent) -> None:
        """Lay out and colour what is about to be visible, then paint."""
        self._lay_out_visible()
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the gutter at the left edge, and the place in the text."""
        with self._kept_place(event.oldSize().height()):
            # Qt's new layout has less height than that of this class. Qt would hide a bar for it, the next paint would
            # show the bar again, and each resizes the view: that would never end.
            bars = [(bar, bar.maximum()) for bar in (self.verticalScrollBar(), self.horizontalScrollBar())]
            blockers = [QSignalBlocker(bar) for bar, _ in bars]
            super().resizeEvent(event)
            for bar, maximum in bars:
                bar.setMaximum(maximum)
            for blocker in blockers:
                blocker.unblock()
            self._lay_out_visible()
            self._layout.tell_size()
        self.gutter.place()

    @contextmanager
    def _kept_place(self, height: int) -> Iterator[None]:
        """Wrap lines anew within this: the text at the top stays there, and the cursor stays in view if it was before,
        when the view was `height` pixels high.
        """
        top = self.cursorForPosition(QPoint(0, self.fontMetrics().height() // 2))
        seen = self._sees_cursor(height)
        yield
        block = top.block()
        self._layout.lay_out(block)
        line = block.layout().lineForTextPosition(top.positionInBlock()).lineNumber()
        self.verticalScrollBar().setValue(block.firstLineNumber() + line)
        self.scrollContentsBy(0, 0)  # The bar may have had this value while there were other lines above.
        if seen and not self._sees_cursor(self.viewport().height()):
            self._layout.lay_out_around(self.textCursor().blockNumber())
            self.ensureCursorVisible()

    def _sees_cursor(self, height: int) -> bool:
        place = self.cursorRect()
        return place.top() >= 0 and place.bottom() < height

    def _lay_out_visible(self) -> None:
        for row, _ in self.rows.visible_rows(self.viewport().height()):
            block = self.document().findBlockByNumber(row)
            if block.userState() != self._style_number:
                self._colour(block)
            self._layout.lay_out(block)
        self._layout.lay_out_end()

    def _fit_gutter(self) -> None:
        self.setViewportMargins(self.gutter.needed_width(), 0, 0, 0)
        self.gutter.place()

    def _colour(self, block: QTextBlock) -> None:
        block.setUserState(self._style_number)
        line = self.rows.line_of(block.blockNumber())
        spans = qt_spans(self.rows.lines[line]) if line < len(self.rows.lines) else []
        if self.folds.is_folded(line):
            end, (what, closer) = utf16(self.rows.lines[line].text), self.folds.label(line)
            spans = [*spans, (end, len(what), "folded"), (end + len(what), utf16(closer), "punctuation")]
        ranges = [styled(start, length, self._formats[kind]) for start, length, kind in spans]
        if ranges or block.layout().formats():
            block.layout().setFormats(ranges)

    def _set_font(self, font: QFont) -> None:
        """Apply the text size and line wrapping."""
        with self._kept_place(self.viewport().height()):
            self.setFont(font)
            self.setTabStopDistance(TAB * QFontMetrics(font).horizontalAdvance(" "))
            widget = QPlainTextEdit.LineWrapMode.WidgetWidth
            self.setLineWrapMode(widget if self._theme.body_text.wrap else QPlainTextEdit.LineWrapMode.NoWrap)
            self._fit_gutter()

    @Slot(object)
    def _apply_style(self, tokens: Tokens) -> None:
        self._style_number += 1
        self._formats = code_formats(tokens)
        self.marks.refresh()
        self.viewport().update()
        self.gutter.update()
