"""The list and the open request of a page: side by side, or one at a time where there is no room for both; and what the
column of the list does without where height is short."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QSplitter, QWidget

from app.ui.commands.command import IN_WINDOW, ActionButton, Command, CommandGroup
from app.ui.inspector.request_pane import RequestPane
from app.ui.requests.activity_chart import ActivityStrip
from app.ui.requests.list.delegate import ROW
from app.ui.requests.page.header import EndpointHeader
from app.ui.requests.page.list_area import ListArea
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.layout import Stretch, hbox, vbox

LIST_MINIMUM = 264
ROWS, ROWS_MIN = 5, 3
"""Rows of the list that what is above it leaves room for, and those without which the page scrolls."""


class Panes(QWidget):
    """In a narrow page an open request takes the place of the list until it is closed, by `back` for example. Then
    moving in the list opens nothing: a request is opened by a click or Enter, with the focus in it.
    """

    def __init__(
        self,
        column: QWidget,
        detail: RequestPane,
        back: Callable[[], None],
        theme: Theme,
        parent: QWidget,
        *,
        take_focus: Callable[[], None],
    ) -> None:
        super().__init__(parent)
        self._column, self._detail, self._empty, self._focus_shown = column, detail, False, take_focus
        self.single = False
        """Whether only one is shown."""
        self.back = Command(
            "Back to list",
            theme,
            self,
            run=back,
            icon="back",
            keys=("Alt+Left",),
            group=CommandGroup.LIST,
            context=IN_WINDOW,
            unavailable=self._list_shown,
            synonyms="close request",
        )
        self.back.add_to(self)
        self.splitter = QSplitter(Qt.Orientation.Horizontal, self)
        self.splitter.setObjectName("requests")
        column.setMinimumWidth(LIST_MINIMUM)
        for part, share in ((column, 2), (detail, 3)):
            self.splitter.addWidget(part)
            self.splitter.setStretchFactor(self.splitter.indexOf(part), share)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(1)
        self.splitter.setSizes([440, 600])
        self._bar = QWidget(self)
        self._bar.setProperty("part", "surface")
        self._bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._button = ActionButton(self.back, theme, self._bar)
        self._button.set_labelled(True)
        row = hbox(
            self._button, Stretch(), margins=(metrics.SPACE_2, metrics.SPACE_1, metrics.SPACE_2, metrics.SPACE_1)
        )
        vbox(row, line(self._bar), inside=self._bar, spacing=0, margins=0)
        vbox(self._bar, (self.splitter, 1), inside=self, spacing=0, margins=0)
        self._second_click = QTimer(self, singleShot=True, interval=QApplication.doubleClickInterval())
        self._second_click.timeout.connect(self._take_clicks)
        detail.opened.connect(self.fit)
        detail.closed.connect(self.fit)
        self.fit()

    @property
    def only_list(self) -> bool:
        """Whether the list has the place of both."""
        return self.single and self._detail.is_empty

    def set_empty(self, empty: bool) -> None:
        """Without requests the whole width explains how the first one comes."""
        self._empty = empty
        self.fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.single != (self.width() < metrics.SIDE_BY_SIDE_WIDTH):
            self.fit()

    def take_focus(self) -> None:
        """Put the keyboard into the request that has the place of the list, or on the way back if there is only said
        why it is not shown.
        """
        if self._detail.capture is None:
            self._button.setFocus()
        else:
            self._detail.take_focus()

    @Slot()
    def fit(self) -> None:
        self.single = self.width() < metrics.SIDE_BY_SIDE_WIDTH
        opened = not self._detail.is_empty
        focus = self.window().focusWidget() if self.isVisible() else None
        if self.single and opened and self._detail.isHidden():
            # The second half of a double-click on a row must not press what has come there.
            self._detail.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            self._second_click.start()
        self._detail.setVisible(opened or not (self._empty or self.single))
        self._column.setVisible(not (self.single and opened))
        self._bar.setVisible(self.single and opened)
        self.back.refresh()
        if focus is not None and self.isAncestorOf(focus) and not focus.isVisible():
            self._focus_shown()  # Qt gives it to whatever comes next

    @Slot()
    def _take_clicks(self) -> None:
        self._detail.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)

    def _list_shown(self) -> str | None:
        taken = self.isVisible() and self.single and not self.only_list
        return None if taken else "The list is shown."


class ListColumn(QWidget):
    """Where height is short, the chart gives way to the list, then the header's description, then its facts. There is
    no chart without requests; a selected time range stays visible, because it filters the list.
    """

    def __init__(self, header: EndpointHeader, activity: ActivityStrip, parent: QWidget) -> None:
        super().__init__(parent)
        self._header, self._activity, self._empty = header, activity, False
        self._least_height: int | None = None
        """Since the last layout: the layouts around ask a dozen times for each endpoint that is shown."""

    def set_empty(self, empty: bool) -> None:
        if empty != self._empty:
            self._empty = empty
            self._fit()

    def minimumSizeHint(self) -> QSize:
        """Without what gives way."""
        if self._least_height is None:
            self._least_height = self._header_height(whole=False) + self._below(ROWS_MIN)
        return QSize(super().minimumSizeHint().width(), self._least_height)

    def event(self, event: QEvent) -> bool:
        laid_out = event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest)
        if laid_out:
            self._least_height = None
        done = super().event(event)
        if laid_out:
            self._fit()
        return done

    def _fit(self) -> None:
        header, activity = self._header, self._activity
        free = self.height() - self._header_height(whole=True) - self._below(ROWS)
        chart = free >= activity.sizeHint().height() and not self._empty
        activity.setVisible(chart or activity.times is not None)
        if not activity.isHidden():
            free -= activity.sizeHint().height()
        description = free >= 0
        header.show_lines(description=description, facts=description or free + header.lines_height()[0] >= 0)

    def _header_height(self, *, whole: bool) -> int:
        """With all the header's lines, or without those that give way."""
        header = self._header
        heights = header.lines_height()
        shown = header.heightForWidth(self.width()) if header.hasHeightForWidth() else header.sizeHint().height()
        hidden = [line.isHidden() for line in (header.description, header.facts)]
        return shown + sum(compress(heights, hidden)) - (0 if whole else sum(heights))

    def _below(self, rows: int) -> int:
        """The least height of all below the chart, with so many rows of the list."""
        parts = self.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
        below = [one for one in parts if one not in (self._header, self._activity) and not one.isHidden()]
        return rows * ROW + sum(one.minimumSizeHint().height() for one in below if not isinstance(one, ListArea))
