"""Shows any number of lines of styled text; only visible ones are coloured. Its menu folds, wraps and zooms."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMimeData, QObject, Qt, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFontMetrics,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QWidget

from app.core.bodies.lines import Line
from app.core.search.spellings import Encoding
from app.ui.commands.text_size_commands import BodyTextCommands
from app.ui.request.body.code.code_folds import CodeFolds
from app.ui.request.body.code.code_gutter import CodeGutter
from app.ui.request.body.code.code_layout import CodeLayout
from app.ui.request.body.code.code_marks import CodeMarks
from app.ui.request.body.code.code_rows import TAB, CodeRows
from app.ui.request.body.code.searchable_text import SearchableText, qt_spans, utf16
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.view_actions import add_view_action

FOLD, UNFOLD = "Ctrl+Shift+[", "Ctrl+Shift+]"
FOLD_ALL, UNFOLD_ALL = "Ctrl+Alt+[", "Ctrl+Alt+]"


class CodeActions(QObject):
    """The keys work while the view has the focus."""

    def __init__(self, view: QPlainTextEdit, folds: CodeFolds, theme: Theme) -> None:
        super().__init__(view)
        self._view, self._folds, self._theme = view, folds, theme
        self._fold_actions = [
            add_view_action(view, "Fold", folds.fold_here, FOLD),
            add_view_action(view, "Unfold", folds.unfold_here, UNFOLD),
            add_view_action(view, "Fold all", folds.fold_all, FOLD_ALL),
            add_view_action(view, "Unfold all", folds.unfold_all, UNFOLD_ALL),
        ]
        for action in self._fold_actions:
            action.setShortcutVisibleInContextMenu(True)

    def menu(self, event: QContextMenuEvent) -> QMenu:
        """A new context menu, with Qt's own entries first. The commands in it are deleted with it."""
        view = self._view
        if event.reason() == QContextMenuEvent.Reason.Mouse and not view.textCursor().hasSelection():
            view.setTextCursor(view.cursorForPosition(event.pos()))
        menu = view.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addSeparator()
        if self._folds.possible:
            menu.addActions(self._fold_actions)
            menu.addSeparator()
        for command in BodyTextCommands(self._theme, None, menu).commands:
            command.setIconVisibleInMenu(False)
            menu.addAction(command)
        return menu


class CodeView(QPlainTextEdit):
    """Read-only. `set_lines` begins, `add_lines` continues; `end_near` requests more.

    Places (of matches) are counted as if nothing were folded.
    """

    end_near = Signal()
    menu_opening = Signal(object, object, object)
    """The view, its context menu, which listeners may extend, and a text cursor at the clicked position."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._text = SearchableText()
        self._length = 0
        self._formats: dict[str, QTextCharFormat] = {}
        self._style_number = 0
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setProperty("frameless", True)
        self.setProperty("part", "code")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(6)
        self.setAccessibleName("Body")
        self.rows = CodeRows(self)
        self.folds = CodeFolds(self.rows)
        self._layout = CodeLayout(self.rows, theme.body_text)
        self.gutter = CodeGutter(self.rows, self.folds, theme)
        self.actions_here = CodeActions(self, self.folds, theme)
        self.marks = CodeMarks(self.rows, self.folds, theme, self._layout)
        self.folds.changed.connect(self.gutter.update)
        theme.changed.connect(self._apply_style)
        theme.body_text.changed.connect(self._set_text)
        self._set_text()
        self._apply_style(theme.tokens)

    def set_lines(self, lines: Sequence[Line], first: int | None = 1, *, folding: bool = False) -> None:
        """Show these lines; the first has this number, or None if numbers are unknown. `folding`: indented lines can be
        folded.
        """
        self.rows.begin(lines, first, folding=folding)
        self._text = SearchableText()
        self.marks.forget()
        self._length = sum(len(line.text) + 1 for line in lines)
        self._text.add(lines)
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
        self._length += sum(len(line.text) + 1 for line in lines)
        self._text.add(lines)
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText("\n" + "\n".join(line.text for line in lines))
        self._fit_gutter()

    @property
    def lines(self) -> Sequence[Line]:
        """The lines, including those folded; `rows` maps them to blocks."""
        return self.rows.lines

    def end_lines(self) -> None:
        """There are no more lines: the last ones can be folded, too."""
        if self.rows.folds is not None:
            self.rows.folds.finish()
            self.gutter.update()

    def length(self) -> int:
        """The number of characters shown."""
        return self._length

    def line_count(self) -> int:
        """The number of the last line shown; a continued line counts once."""
        return self.rows.last_number() if self.rows.lines else 0

    def find_all(self, needle: str, written: Sequence[Encoding] = ()) -> list[tuple[int, int]]:
        """Places of `needle`, for `show_match`; `written` is the notation of the text."""
        return self._text.find([needle], written)[0]

    def find_words(
        self, words: Sequence[str], written: Sequence[Encoding], begin: int = 0
    ) -> tuple[list[tuple[int, int]], int]:
        """Places of any of the words from the character `begin` on, and the end of the text."""
        return self._text.find(words, written, begin)

    def show_match(self, matches: Sequence[tuple[int, int]], current: int, *, move: bool = True) -> None:
        """Mark the matches around the current one, and with `move` scroll to that one, unfolding it; an empty list
        clears.
        """
        self.marks.show(matches, current, move=move)

    def mark_place(self, line: int, column: int, *, move: bool) -> None:
        """Underline the place of an error if it is shown, and with `move` scroll to it."""
        self.marks.show_wrong(line, column, move=move)

    def createMimeDataFromSelection(self) -> QMimeData:
        """The selected text, including folded lines."""
        data = QMimeData()
        data.setText(self.folds.selected_text())
        return data

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """A menu with actions for the text and those that listeners add."""
        menu = self.actions_here.menu(event)
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        self.menu_opening.emit(self, menu, self.textCursor() if by_key else self.cursorForPosition(event.pos()))
        menu.popup(event.globalPos())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Lay out and colour what is about to be visible, then paint."""
        for row, _ in self.rows.visible_rows(self.viewport().height()):
            block = self.document().findBlockByNumber(row)
            if block.userState() != self._style_number:
                self._colour(block)
            self._layout.lay_out(block)
        self._layout.lay_out_end()
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the gutter at the left edge, and the cursor in view when a bar appears below or above."""
        below = self.cursorRect().bottom()
        super().resizeEvent(event)
        if event.size().height() <= below < event.oldSize().height():
            self.ensureCursorVisible()
        self.gutter.place()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom all bodies' text while Ctrl is held."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._theme.body_text.zoom_by_wheel(event.angleDelta().y())
            event.accept()
        else:
            super().wheelEvent(event)

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
        ranges = []
        for start, length, kind in spans:
            span = QTextLayout.FormatRange()
            span.start, span.length, span.format = start, length, self._formats[kind]
            ranges.append(span)
        if ranges or block.layout().formats():
            block.layout().setFormats(ranges)

    @Slot()
    def _set_text(self) -> None:
        """Apply the text size and line wrapping."""
        text = self._theme.body_text
        font = mono_font(text.size)
        self.setFont(font)
        self.setTabStopDistance(TAB * QFontMetrics(font).horizontalAdvance(" "))
        widget = QPlainTextEdit.LineWrapMode.WidgetWidth
        self.setLineWrapMode(widget if text.wrap else QPlainTextEdit.LineWrapMode.NoWrap)
        self._fit_gutter()

    @Slot(object)
    def _apply_style(self, tokens: Tokens) -> None:
        self._style_number += 1
        for kind in ("key", "string", "number", "literal", "punctuation"):
            self._formats[kind] = QTextCharFormat()
            self._formats[kind].setForeground(QColor(getattr(tokens, f"code_{kind}")))
        for kind, text, ground in (
            ("control", tokens.warning, tokens.warning_soft),
            ("folded", tokens.text_muted, tokens.pressed),
        ):
            self._formats[kind] = QTextCharFormat()
            self._formats[kind].setForeground(QColor(text))
            self._formats[kind].setBackground(QColor(ground))
        self.marks.refresh()
        self.viewport().update()
        self.gutter.update()
