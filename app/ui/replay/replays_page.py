"""The page of replays: the newest as a list, and beside it the selected one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QStackedLayout, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.replay.spec import Replay
from app.core.text import clock_time, day_text
from app.core.worst_state import replay_state
from app.ui.commands.command import ActionButton, CommandButton
from app.ui.replay.replay_commands import ReplayCommands
from app.ui.replay.replay_details import ReplayDetails
from app.ui.replay.replay_scope import shown_endpoint
from app.ui.replay.replay_text import short_text, source_name
from app.ui.services import Services
from app.ui.state_look import LOOKS
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.card import Card, Page
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.rows import Column, Rows, RowsList, paint_line

LIST_WIDTH, NARROW_LIST, NARROW = 300, 224, 900
LEAST = QSize(0, 120)
ROW_HEIGHT = 56
HOW = (
    "Press R on a request to send it again, or Ctrl+Shift+R on a list to send many, at a rate and with faults if you"
    " like. Each replay is listed here with what came of it at each target, and can be repeated."
)


class ReplaysModel(Rows[Replay]):
    """Two lines for each replay: of what and when, and what became of it; while it goes on, how much is done."""

    def __init__(self, source: Callable[[Replay], str], theme: Theme, parent: QObject) -> None:
        """`source` names its requests."""
        super().__init__([Column("", self._text, paint=self._paint)], parent)
        self._source, self._theme = source, theme

    def row_of(self, replay_id: str) -> int | None:
        return next((row for row, replay in enumerate(self._rows) if replay.id == replay_id), None)

    def _text(self, replay: Replay) -> str:
        """For screen readers, and as the tooltip."""
        state = LOOKS[replay_state(replay)].words
        return ", ".join((self._source(replay), _when(replay), short_text(replay), state))

    def _paint(self, painter: QPainter, place: QRect, replay: Replay) -> None:
        tokens, look = self._theme.tokens, LOOKS[replay_state(replay)]
        inside = place.adjusted(metrics.SPACE_3, metrics.SPACE_2, -metrics.SPACE_3, -metrics.SPACE_3)
        icon = QRect(inside.left(), inside.top() + 1, metrics.ICON, metrics.ICON)
        self._theme.icon(look.icon, look.colour).paint(painter, icon)
        inside.setLeft(icon.right() + metrics.SPACE_2)
        small, top, bottom = ui_font(SMALL), Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignBottom
        right = top | Qt.AlignmentFlag.AlignRight
        time = paint_line(painter, inside, _when(replay), small, tokens.text_faint, align=right)
        name = inside.adjusted(0, 0, -time - metrics.SPACE_2, 0)
        paint_line(painter, name, self._source(replay), ui_font(BASE, QFont.Weight.Medium), tokens.text, align=top)
        paint_line(painter, inside, short_text(replay), small, tokens.text_muted, align=bottom)
        total = replay.progress.total
        if not replay.ended and total:
            self._paint_done(painter, QRectF(inside.left(), place.bottom() - 6, inside.width(), 3), replay, total)

    def _paint_done(self, painter: QPainter, bar: QRectF, replay: Replay, total: int) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        for share, colour in ((1.0, "border_strong"), (min(1.0, replay.progress.done / total), "accent")):
            painter.setBrush(QColor(getattr(self._theme.tokens, colour)))
            painter.drawRoundedRect(QRectF(bar.left(), bar.top(), bar.width() * share, bar.height()), 1.5, 1.5)


def _when(replay: Replay) -> str:
    """`14:02`, `12 Nov`."""
    day = day_text(replay.created_at, now_us())
    return clock_time(replay.created_at)[:5] if day == "Today" else day


class ReplaysPage(Page):
    """`show_replay` selects one."""

    def __init__(
        self, commands: ReplayCommands, services: Services, theme: Theme, tasks: Tasks, parent: QWidget
    ) -> None:
        super().__init__("Replays", "What was sent again, and what came of it.", parent)
        self.setAccessibleName("Replays")
        self._tracker, self._services, self._commands = commands.tracker, services, commands
        self._wanted: str | None = None
        self.model = ReplaysModel(self._source, theme, self)
        self.list = RowsList("Replays", self.model, ROW_HEIGHT, theme, self)
        self.details = ReplayDetails(commands, services, theme, tasks, self)
        self.empty = EmptyState("replay", "No replays yet", HOW, theme, self)
        self.pause = ActionButton(commands.pause, theme, self)
        self.cancel = CommandButton("Cancel", commands.cancel, theme, self)
        self.repeat = CommandButton("Repeat", commands.repeat, theme, self, icon="replay")
        self.change = CommandButton("Repeat with changes…", commands.change, theme, self)
        self._lay_out()
        self.list.selectionModel().currentChanged.connect(self._show_selected)
        self._tracker.changed.connect(self._follow)
        self._refresh()

    @property
    def current(self) -> Replay | None:
        """The selected one."""
        return self.list.current_record()

    def show_replay(self, replay_id: str) -> None:
        """Select this one, once it is listed."""
        self._wanted = replay_id
        self._refresh()

    def take_focus(self) -> None:
        (self.list if self.model.rowCount() else self).setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._follow()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._list_card.setFixedWidth(NARROW_LIST if self.width() < NARROW else LIST_WIDTH)

    def _source(self, replay: Replay) -> str:
        source = replay.spec.source
        return escape(source_name(source, shown_endpoint(source, self._services.store.endpoints)))

    def _lay_out(self) -> None:
        self._buttons = QWidget(self)
        row = (self.pause, self.cancel, self.repeat, self.change)
        hbox(*row, inside=self._buttons, spacing=metrics.SPACE_2, margins=0)
        self.header.addWidget(self._buttons)
        self._list_card = Card(self, padding=1)
        self._list_card.body.addWidget(self.list)
        self._both = QWidget(self)
        hbox(self._list_card, (Scrolling(self.details, LEAST, self._both), 1), inside=self._both, spacing=0, margins=0)
        self._body = QStackedLayout()
        self._body.addWidget(self._both)
        self._body.addWidget(self.empty)
        vbox(
            self.header,
            (self._body, 1),
            inside=self,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_4),
        )

    @Slot()
    def _follow(self) -> None:
        """Hidden, it costs nothing; it is seen as it is when it is shown."""
        if self.isVisible():
            self._tracker.dismiss_ended()
            self._refresh()

    def _refresh(self) -> None:
        self.model.show_records(self._tracker.replays, lambda replay: replay.id)
        wanted = self.model.row_of(self._wanted) if self._wanted is not None else None
        if wanted is not None:
            self._wanted = None
            self.list.select_row(wanted)
        elif self.current is None and self.model.rowCount():
            self.list.select_row(0)
        nothing = self._tracker.loaded and not self.model.rowCount()
        self._body.setCurrentWidget(self.empty if nothing else self._both)
        self._buttons.setVisible(not nothing)
        self._show_selected()

    @Slot()
    def _show_selected(self) -> None:
        replay = self.current
        self.details.setVisible(replay is not None)
        if replay is not None:
            self.details.show_replay(replay)
        self._show_running(replay is not None and not replay.ended)
        self._commands.refresh()

    def _show_running(self, on: bool) -> None:
        """Where the keyboard was on Pause or Cancel, it must not come to Repeat."""
        both = (self.pause, self.cancel)
        if not on and any(button.hasFocus() for button in both):
            self.list.setFocus()
        for button in both:
            button.setVisible(on)
