"""The page of replays: the newest as a list, and beside it the selected one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QRect, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.replay import ChosenRequests, Replay, ReplayState, TargetProgress
from app.core.replay_summary import took_text
from app.core.text import clock_time, day_text, day_time, ms_text
from app.core.worst_state import replay_state, replay_target_state
from app.ui.commands.command import ActionButton, CommandButton
from app.ui.inspector.body.text_style import TextEdit
from app.ui.replay.replay_area import ReplayCommands
from app.ui.replay.replay_failures import LISTED, FailureTable
from app.ui.replay.replay_text import (
    BAR,
    counts_text,
    plan_text,
    short_text,
    shown_endpoint,
    source_name,
    speed_text,
    title_text,
    which_text,
    with_bars,
    wordings,
)
from app.ui.services import Services
from app.ui.state_look import LOOKS, paint_look
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import Card, EmptyState, NoticeBox, Page
from app.ui.widgets.fields import Segmented
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.labels import ElidedLabel, FittingLabel, IconLabel, label
from app.ui.widgets.layout import hbox, stack, vbox
from app.ui.widgets.rows import NONE, RIGHT, Column, Rows, RowsList, RowsView, paint_line

LIST_WIDTH, NARROW_LIST, NARROW = 300, 224, 900
LEAST = QSize(0, 120)
ROW_HEIGHT = 56
HOW = (
    "Press R on a request to send it again, or Ctrl+Shift+R on a list to send many, at a rate and with faults if you"
    " like. Each replay is listed here with what came of it at each target, and can be repeated."
)
FAILURES, SUMMARY = "failures", "summary"
STEPS = 1_000
_NUMBER_WIDTH, _TARGETS_IN_VIEW = 68, 4
LEAST_WIDTH, _LEAST_LIST = 320, 104
"""Pixels; the other is the height of failures or summary."""
AGAIN = "Replay failed…"
_BARS = f"(?P<chart_plain>{BAR}+)$"
"""Of a histogram."""


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
        hbox(*row, inside=self._buttons, spacing=metrics.SPACE_2)
        self.header.addWidget(self._buttons)
        self._list_card = Card(self, padding=1)
        self._list_card.body.addWidget(self.list)
        self._both = QWidget(self)
        hbox(self._list_card, (Scrolling(self.details, LEAST, self._both), 1), inside=self._both, spacing=0)
        self._body = stack(self._both, self.empty)
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


class TargetTable(RowsView):
    """A row for each target, as high as its rows, up to a few of them."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Progress by target", parent)
        self._theme, self._font = theme, ui_font(BASE)
        self.rows = Rows[TargetProgress](self._make_columns(), self)
        self.show_rows(self.rows, metrics.ROW_DENSE)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.horizontalHeader().setDefaultSectionSize(_NUMBER_WIDTH)

    def show_targets(self, targets: tuple[TargetProgress, ...]) -> None:
        before = self.rows.rowCount()
        self.rows.show_records(targets, lambda target: target.url)
        self._fit_columns()
        if self.rows.rowCount() != before:
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        rows = max(1, min(self.rows.rowCount(), _TARGETS_IN_VIEW))
        return QSize(super().sizeHint().width(), self.horizontalHeader().sizeHint().height() + rows * metrics.ROW_DENSE)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        """They grow with their numbers; they would jump if they shrank while a replay runs."""
        for column in range(1, self.rows.columnCount()):
            title = self.horizontalHeader().sectionSizeHint(column) + metrics.SPACE_1
            widths = title, self.sizeHintForColumn(column), self.columnWidth(column)
            self.setColumnWidth(column, max(widths))

    def _make_columns(self) -> list[Column[TargetProgress]]:
        """The tooltip of the target has those that are hidden."""
        tip = "95 % took no longer than this."
        return [
            Column("Target", _target_name, _target_tooltip, paint=self._paint_target, stretches=True),
            Column("Sent", lambda one: f"{one.sent:,}", align=RIGHT, needs=800),
            Column("Delivered", lambda one: f"{one.delivered:,}", align=RIGHT),
            Column("Failed", lambda one: f"{one.failed:,}", align=RIGHT),
            Column("Not sent", lambda one: f"{one.not_sent:,}", align=RIGHT, needs=500),
            Column("Per second", _per_second, align=RIGHT, needs=700),
            Column("Median", lambda one: _ms(one.median_ms), align=RIGHT, needs=600),
            Column("95 %", lambda one: _ms(one.p95_ms), align=RIGHT, title_tip=tip, needs=400),
        ]

    def _paint_target(self, painter: QPainter, place: QRect, target: TargetProgress) -> None:
        look, text = LOOKS[replay_target_state(target)], _target_name(target)
        paint_look(painter, place, look, self._theme, text=text, colour="text", font=self._font)


def _target_name(target: TargetProgress) -> str:
    return escape(target.url.partition("://")[2]) or "Without a target"


def _target_tooltip(target: TargetProgress) -> str:
    counts = f"{target.delivered:,} delivered, {target.failed:,} failed, {target.not_sent:,} not sent"
    times = f"Median {_ms(target.median_ms)}, 95 % within {_ms(target.p95_ms)}" if target.median_ms is not None else ""
    speed = f"{target.per_second:,.1f} per second" if target.per_second else ""
    return "\n".join(filter(None, (escape(target.url), counts, ", ".join(filter(None, (times, speed))))))


def _per_second(target: TargetProgress) -> str:
    return f"{target.per_second:,.1f}" if target.per_second else NONE


def _ms(ms: float | None) -> str:
    return NONE if ms is None else ms_text(ms)


class ReplayDetails(QWidget):
    """`show_replay` shows one, or what has changed of it."""

    def __init__(
        self, commands: ReplayCommands, services: Services, theme: Theme, tasks: Tasks, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._services, self._commands = services, commands
        self.replay: Replay | None = None
        self._mark = IconLabel(metrics.ICON, theme, self)
        self._mark.setFixedSize(metrics.ICON, metrics.ICON)
        self.title = ElidedLabel("", "heading", self)
        self.facts = FittingLabel("muted", self)
        self.progress = QProgressBar(self, textVisible=False)
        self.progress.setAccessibleName("Replay progress")
        self.plan = label("", "muted", self, wrap=True)
        self.problem = NoticeBox("warning", theme, self)
        self.targets = TargetTable(theme, self)
        self.views = Segmented(((FAILURES, "Failures"), (SUMMARY, "Summary")), self)
        self.views.setAccessibleName("Failures or summary")
        self.listed = ElidedLabel("", "small", self)
        self.failures = FailureTable(services, theme, tasks, self)
        self.nothing = label("", "muted", self)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.text = TextEdit("Summary of the replay", theme, self, read_only=True, coloured=_BARS)
        self.text.setProperty("frameless", True)
        again = commands.again
        self.again = CommandButton(AGAIN, again, theme, self, icon="retry", tooltip=again.name)
        self.copy = Button("Copy summary", theme, self, icon="copy", run=self._copy)
        self._lay_out()
        self.views.activated.connect(self._show_view)
        self.failures.loaded.connect(self._show_view)
        self.failures.commands.open_requested.connect(commands.open_requested)
        self.failures.commands.announced.connect(commands.announced)

    def show_replay(self, replay: Replay) -> None:
        other = self.replay is None or self.replay.id != replay.id
        ended_now = not other and self.replay is not None and not self.replay.ended and replay.ended
        self.replay = replay
        self.title.setText(title_text(replay))
        self.facts.set_wordings(wordings(_facts(replay)))
        look = LOOKS[replay_state(replay)]
        self._mark.show_icon(look.icon, look.colour)
        self._mark.setAccessibleName(look.words)
        show_progress(self.progress, replay)
        self.plan.setText(self._plan(replay))
        self.problem.show_text(replay.problem or "")
        self._targets.setVisible(bool(replay.progress.targets))
        self.targets.show_targets(replay.progress.targets)
        self.failures.show_failures_of(replay)
        self._show_summary(replay)
        if other or (ended_now and not replay.progress.failed):
            self.views.set_current(SUMMARY if replay.summary and not replay.progress.failed else FAILURES)
        self._show_view()

    def minimumSizeHint(self) -> QSize:
        """The words of a button give way."""
        return QSize(LEAST_WIDTH, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_words()

    def _fit_words(self) -> None:
        self.again.setText(AGAIN)
        needed = self.views.sizeHint().width() + self.again.sizeHint().width() + 4 * metrics.SPACE_2
        if needed > self.contentsRect().width() - metrics.SPACE_4:
            self.again.setText("")

    def _lay_out(self) -> None:
        head = vbox(
            hbox(self._mark, (self.title, 1), spacing=metrics.SPACE_2),
            self.facts,
            self.progress,
            spacing=metrics.SPACE_1,
        )
        targets = Card(self, padding=1)
        targets.body.addWidget(self.targets)
        self._targets = targets
        views = hbox(self.views, (self.listed, 1), self.again, self.copy, spacing=metrics.SPACE_2)
        card = Card(self, padding=1)
        card.setMinimumHeight(_LEAST_LIST)
        self._body = stack(self.failures, self.nothing, self.text)
        card.body.addLayout(self._body)
        vbox(
            head,
            self.plan,
            self.problem,
            targets,
            views,
            (card, 1),
            inside=self,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, 0, 0, 0),
        )

    def _plan(self, replay: Replay) -> str:
        spec, total = replay.spec, replay.progress.total
        count = len(spec.source.ids) if isinstance(spec.source, ChosenRequests) else None
        if count is None and total is not None:
            count = total // spec.times
        which = which_text(spec.source, shown_endpoint(spec.source, self._services.store.endpoints))
        return plan_text(spec, which, count, "their targets")

    def _show_summary(self, replay: Replay) -> None:
        text = with_bars(replay.summary or "")
        if text != self.text.text():
            self.text.show_text(text, coloured_from=0)
        self.views.set_enabled(SUMMARY, bool(text))
        self.views.explain(SUMMARY, "Summary" if text else "Summary: it is written when the replay has ended.")

    @Slot()
    def _show_view(self) -> None:
        replay = self.replay
        if replay is None:
            return
        failed, listed = replay.progress.failed, self.failures.rows.rowCount()
        self.views.set_title(FAILURES, f"Failures {failed:,}" if failed else "Failures")
        self._fit_words()
        summary = self.views.current() == SUMMARY
        self.copy.setVisible(summary)
        self.again.setVisible(not summary)
        more = failed > LISTED <= listed
        self.listed.setText(f"The newest {LISTED:,} of {failed:,} are listed." if more and not summary else "")
        so_far = "Nothing has failed so far." if not replay.ended else "Nothing failed."
        self.nothing.setText(so_far if not failed else "No failed request is stored any longer.")
        self._body.setCurrentWidget(self.text if summary else self.failures if listed else self.nothing)

    @Slot()
    def _copy(self) -> None:
        if self.replay is not None:
            QGuiApplication.clipboard().setText(self.replay.summary or "")
            self._commands.announced.emit("Summary copied.")


def show_progress(bar: QProgressBar, replay: Replay) -> None:
    """How much of it is done; hidden once it has ended."""
    total, done = replay.progress.total, replay.progress.done
    bar.setVisible(not replay.ended)
    counting = total is None and replay.state is ReplayState.RUNNING
    bar.setRange(0, 0 if counting else STEPS)
    if not counting:
        bar.setValue(round(done / total * STEPS) if total else 0)


def _facts(replay: Replay) -> list[str]:
    took = ""
    if replay.started_at is not None and replay.ended_at is not None:
        took = f"took {took_text(replay.started_at, replay.ended_at)}"
    counts = counts_text(replay.progress) if replay.state is not ReplayState.QUEUED else ""
    return [part for part in (counts, speed_text(replay), day_time(replay.created_at, now_us())[:-4], took) if part]
