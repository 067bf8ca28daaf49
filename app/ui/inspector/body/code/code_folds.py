"""Folds lines of a view: they are removed from its document and replaced by a short label."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QTextCursor

from app.ui.inspector.body.code.code_rows import CodeRows, utf16


class CodeFolds(QObject):
    """Does not hide blocks instead: Qt lays them out one by one, which takes seconds."""

    changed = Signal()

    def __init__(self, rows: CodeRows) -> None:
        super().__init__(rows.view)
        self._rows = rows

    @property
    def possible(self) -> bool:
        """Whether this text can be folded."""
        return self._rows.folding

    def can_fold(self, line: int) -> bool:
        """Whether a line begins a region that can be, or is, folded."""
        return line in self._rows.folds.regions

    def is_folded(self, line: int) -> bool:
        """Whether lines are folded below this one."""
        return line in self._rows.folds.folded

    def text(self, line: int) -> str:
        """The text of the row that begins with this line."""
        text = self._rows.lines[line].text
        return text + "".join(self.label(line)) if self.is_folded(line) else text

    def label(self, line: int) -> tuple[str, str]:
        """The label shown for the lines folded under this one, and their end."""
        return self._rows.folds.label(line, self._rows.lines)

    def toggle(self, line: int) -> None:
        """Fold or unfold the region that begins at this line."""
        (self._unfold if self.is_folded(line) else self._fold)(line)
        self.changed.emit()

    def reveal(self, line: int) -> None:
        """Unfold the regions that hide this line."""
        hidden = False
        while (start := self._rows.folds.hidden_by(line)) is not None:
            self._unfold(start)
            hidden = True
        if hidden:
            self.changed.emit()

    @Slot()
    def fold_here(self) -> None:
        """Fold the region at the cursor."""
        folds = self._rows.folds
        start = folds.region_at(self._cursor_line())
        while start is not None and start in folds.folded:
            start = folds.parent_region(start)
        if start is not None:
            self._fold(start)
            cursor = QTextCursor(self._rows.block_of(start))
            self._rows.view.setTextCursor(cursor)
            self.changed.emit()

    @Slot()
    def unfold_here(self) -> None:
        """Unfold the region at the cursor."""
        line = self._cursor_line()
        if self.is_folded(line):
            self.toggle(line)

    @Slot()
    def fold_all(self) -> None:
        """Fold everything but the outermost level."""
        self._rebuild(self._rows.folds.inner_regions(), fold=True)

    @Slot()
    def unfold_all(self) -> None:
        self._rebuild(tuple(self._rows.folds.folded), fold=False)

    def selected_text(self) -> str:
        """The selected text, with folded lines and without the labels and breaks added for display."""
        cursor, document = self._rows.view.textCursor(), self._rows.view.document()
        first, last = document.findBlock(cursor.selectionStart()), document.findBlock(cursor.selectionEnd())
        parts: list[str] = []
        for row in range(first.blockNumber(), last.blockNumber() + 1):
            line = self._rows.line_of(row)
            text, folded = self._rows.lines[line].text, self.is_folded(line)
            begin = cursor.selectionStart() - first.position() if row == first.blockNumber() else 0
            end = cursor.selectionEnd() - last.position() if row == last.blockNumber() else None
            parts += ["" if self._rows.lines[line].folded or not parts else "\n", _cut(text, begin, end)]
            if folded and (end is None or end > utf16(text)):
                for hidden in self._rows.lines[line + 1 : self._rows.folds.regions[line].end + 1]:
                    parts += ["" if hidden.folded else "\n", hidden.text]
        return "".join(parts)

    def _cursor_line(self) -> int:
        return self._rows.line_of(self._rows.view.textCursor().blockNumber())

    def _fold(self, line: int) -> None:
        folds = self._rows.folds
        if line not in folds.regions:
            return
        begin, last = self._rows.block_of(line), self._rows.block_of(folds.regions[line].end)
        cursor = QTextCursor(begin)
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
        cursor.setPosition(last.position() + last.length() - 1, QTextCursor.MoveMode.KeepAnchor)
        folds.fold([line])
        cursor.insertText("".join(self.label(line)))
        self._rows.block_of(line).setUserState(-1)

    def _unfold(self, line: int) -> None:
        folds = self._rows.folds
        if line not in folds.folded:
            return
        region = folds.regions[line]
        block = self._rows.block_of(line)
        cursor = QTextCursor(block)
        cursor.setPosition(block.position() + utf16(self._rows.lines[line].text))
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        folds.unfold([line])
        texts = [self.text(inner) for inner in folds.visible_lines(line + 1, region.end)]
        cursor.insertText("\n" + "\n".join(texts))
        for row in (self._rows.row_of(line), self._rows.row_of(region.end)):
            self._rows.view.document().findBlockByNumber(row).setUserState(-1)

    def _rebuild(self, starts: Iterable[int], *, fold: bool) -> None:
        """Rewrites the document; the line at the top stays in view."""
        folds, view = self._rows.folds, self._rows.view
        if not self.possible:
            return
        top = self._rows.line_of(view.firstVisibleBlock().blockNumber())
        line = self._cursor_line()
        (folds.fold if fold else folds.unfold)(starts)
        view.setPlainText("\n".join(map(self.text, folds.visible_lines(0, len(self._rows.lines) - 1))))
        view.setTextCursor(QTextCursor(self._rows.block_of(line)))
        view.verticalScrollBar().setValue(self._rows.block_of(top).firstLineNumber())
        self.changed.emit()


def _cut(text: str, begin: int, end: int | None) -> str:
    """From one UTF-16 unit to another."""
    if text.isascii():
        return text[begin:end]
    units = text.encode("utf-16-le", "surrogatepass")
    return units[2 * begin : None if end is None else 2 * end].decode("utf-16-le", "surrogatepass")
