"""The page of refused requests: what reached the capture port, was not kept, and why."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt, Slot
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPainter, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHBoxLayout,
    QHeaderView,
    QSplitter,
    QStackedLayout,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.core.model import Refusal
from app.core.wording import exact_time
from app.ui.news import News
from app.ui.ports import Doors
from app.ui.refused.model import METHOD, REASON, SOURCE, STATUS, TARGET, TIME, RefusedModel, RowIndex, cell
from app.ui.refused.raw_pane import RawPane
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import METHOD_SIZE, Tone, paint_method, paint_pill
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import Card
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.labels import label

_WIDTHS = {TIME: 116, SOURCE: 156, STATUS: 76, METHOD: 92, TARGET: 220}


class RefusedPage(QWidget):
    """Live, newest on top; the last 1,000, in memory. Under the list is what came of the chosen one."""

    def __init__(self, doors: Doors, theme: Theme, tasks: Tasks, news: News, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._refused, self._news = doors.refused, news
        self._chosen: Refusal | None = None
        self.setProperty("part", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.model = RefusedModel(self)
        self.table = self._make_table(theme)
        text = (
            "Requests that Hookline did not capture are listed here with the reason: an unknown URL, an endpoint that"
            " is switched off, a wrong password, a body too large, malformed HTTP."
        )
        self.empty = EmptyState("check-circle", "Nothing was refused", text, theme, self)
        self.clear_button = Button("Clear list", theme, self)
        self.clear_button.clicked.connect(self.clear)
        self.raw = RawPane(theme, tasks, self)
        self.raw.hide()
        self._lay_out()
        self.table.selectionModel().selectionChanged.connect(self._show_chosen)
        self.table.activated.connect(self._enter_raw)
        self.model.rowsRemoved.connect(self._show_chosen)
        news.refused_changed.connect(self._changed)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what was refused."""
        rows = self._refused.newest()
        self.model.show_newest(rows)
        self._body.setCurrentIndex(1 if rows else 0)
        self.clear_button.setEnabled(bool(rows))

    @Slot()
    def clear(self) -> None:
        """Forget the list."""
        self._refused.clear()
        self.refresh()
        self._news.refused_changed.emit()

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up."""
        super().showEvent(event)
        self.refresh()

    @Slot()
    def _changed(self) -> None:
        if self.isVisible():
            self.refresh()

    @Slot()
    def _show_chosen(self) -> None:
        """What came of the chosen request; of several, or none, nothing is shown."""
        rows = self.table.selectionModel().selectedRows()
        chosen = self.model.refusal(rows[0].row()) if len(rows) == 1 else None
        if chosen is None:
            self.raw.stop()
        elif chosen is not self._chosen:
            self.raw.show_refusal(chosen, self._refused.raw(chosen.id))
        self._chosen = chosen
        self.raw.setVisible(chosen is not None)

    @Slot()
    def _enter_raw(self) -> None:
        if self.raw.isVisible():
            self.raw.bytes.take_focus()

    @Slot()
    def copy_rows(self) -> None:
        """Copy the selected rows, tab-separated."""
        rows = sorted({index.row() for index in self.table.selectionModel().selectedRows()})
        lines = []
        for row in rows:
            refusal = self.model.refusal(row)
            cells = [exact_time(refusal.at), *(cell(refusal, column) for column in range(SOURCE, REASON + 1))]
            lines.append("\t".join(cells))
        if lines:
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _make_table(self, theme: Theme) -> QTableView:
        table = QTableView(self)
        table.setModel(self.model)
        table.setItemDelegate(RefusedDelegate(theme, table))
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setAccessibleName("Refused requests")
        table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(36)
        header = table.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        for column, width in _WIDTHS.items():
            table.setColumnWidth(column, width)
        copy = QAction("Copy", table)
        copy.setShortcut(QKeySequence.StandardKey.Copy)
        copy.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        copy.triggered.connect(self.copy_rows)
        table.addAction(copy)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        return table

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label("Refused", "display", self))
        words.addWidget(
            label("Reached the capture port and was not kept. The newest 1,000, until Hookline quits.", "muted", self)
        )
        head = QHBoxLayout()
        head.addLayout(words, 1)
        head.addWidget(self.clear_button)
        card = Card(self, padding=1)
        card.body.addWidget(self.table)
        split = QSplitter(Qt.Orientation.Vertical, self)
        split.setObjectName("refused")
        split.setChildrenCollapsible(False)
        split.setHandleWidth(metrics.SPACE_3)
        split.setStyleSheet("QSplitter::handle { background: transparent; }")  # the gap between two cards
        split.addWidget(card)
        split.addWidget(self.raw)
        split.setStretchFactor(0, 1)
        self._body = QStackedLayout()
        self._body.addWidget(self.empty)
        self._body.addWidget(split)
        column = QVBoxLayout(self)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5)
        column.setSpacing(metrics.SPACE_4)
        column.addLayout(head)
        column.addLayout(self._body, 1)


class RefusedDelegate(QStyledItemDelegate):
    """Paints status and method as badges; all else as the style does."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: RowIndex) -> None:
        """One cell."""
        text = str(index.data() or "")
        if index.column() not in (STATUS, METHOD) or text == "—":
            super().paint(painter, option, index)
            return
        ground = QStyleOptionViewItem(option)
        self.initStyleOption(ground, index)
        ground.text = ""
        QApplication.style().drawControl(QStyle.ControlElement.CE_ItemViewItem, ground, painter, ground.widget)
        rect = QRectF(option.rect)
        tokens = self._theme.tokens
        middle = rect.center().y()
        if index.column() == METHOD:
            size = METHOD_SIZE
            paint_method(painter, QRectF(rect.left() + 11, middle - 10, size.width(), size.height()), text, tokens)
        else:
            tone: Tone = "danger" if text.startswith("5") else "warning"
            paint_pill(painter, QRectF(rect.left() + 11, middle - 9, 40, 18), text, tokens, tone)
