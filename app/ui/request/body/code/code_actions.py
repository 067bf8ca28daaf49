"""Actions for a view of lines, in its menu and with keys: fold, wrap, zoom."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QPlainTextEdit

from app.ui.request.body.code.code_folds import CodeFolds
from app.ui.theme.body_text import BodyTextStyle

FOLD, UNFOLD = "Ctrl+Shift+[", "Ctrl+Shift+]"
FOLD_ALL, UNFOLD_ALL = "Ctrl+Alt+[", "Ctrl+Alt+]"


class CodeActions(QObject):
    """The keys work while the view has the focus."""

    def __init__(self, view: QPlainTextEdit, folds: CodeFolds, text: BodyTextStyle) -> None:
        super().__init__(view)
        self._view, self._folds, self._body_text = view, folds, text
        self._fold = self._with_key("Fold", FOLD, folds.fold_here)
        self._unfold = self._with_key("Unfold", UNFOLD, folds.unfold_here)
        self._fold_all = self._with_key("Fold all", FOLD_ALL, folds.fold_all)
        self._unfold_all = self._with_key("Unfold all", UNFOLD_ALL, folds.unfold_all)
        self._wrap = QAction("Wrap long lines", self)
        self._wrap.setCheckable(True)
        self._wrap.triggered.connect(text.toggle_wrap)
        self._zooms = [QAction(name, self) for name in ("Zoom in", "Zoom out", "Reset zoom")]
        for action, slot in zip(self._zooms, (text.zoom_in, text.zoom_out, text.reset_zoom), strict=True):
            action.triggered.connect(slot)

    def menu(self, event: QContextMenuEvent) -> QMenu:
        """A new context menu, with Qt's own entries first."""
        view = self._view
        if event.reason() == QContextMenuEvent.Reason.Mouse and not view.textCursor().hasSelection():
            view.setTextCursor(view.cursorForPosition(event.pos()))
        menu = view.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addSeparator()
        if self._folds.possible:
            menu.addActions([self._fold, self._unfold, self._fold_all, self._unfold_all])
            menu.addSeparator()
        self._wrap.setChecked(self._body_text.wrap)
        menu.addAction(self._wrap)
        menu.addActions(self._zooms)
        return menu

    def _with_key(self, text: str, key: str, slot: Callable[[], None]) -> QAction:
        action = QAction(text, self)
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        action.setShortcutVisibleInContextMenu(True)
        action.triggered.connect(slot)
        self._view.addAction(action)
        return action
