"""One replay: how far it is, what came of it at each target, what failed, and its summary."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Slot
from PySide6.QtGui import (
    QColor,
    QGuiApplication,
    QPainter,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextDocument,
)
from PySide6.QtWidgets import QHeaderView, QProgressBar, QSizePolicy, QStackedLayout, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.replay.spec import ChosenRequests, Replay, ReplayState, TargetProgress
from app.core.replay.summary import took_text
from app.core.text import day_time, ms_text
from app.core.worst_state import replay_state, replay_target_state
from app.ui.commands.command import CommandButton
from app.ui.replay.replay_commands import ReplayCommands
from app.ui.replay.replay_failures import LISTED, FailureTable
from app.ui.replay.replay_scope import shown_endpoint
from app.ui.replay.replay_text import (
    BAR,
    counts_text,
    plan_text,
    speed_text,
    title_text,
    which_text,
    with_bars,
    wordings,
)
from app.ui.replay.text_edit import TextEdit
from app.ui.services import Services
from app.ui.state_look import LOOKS, paint_look
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import Card, NoticeBox
from app.ui.widgets.labels import ElidedLabel, FittingLabel, IconLabel, label
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.rows import NONE, RIGHT, Column, Rows, RowsView
from app.ui.widgets.segmented import Segmented

FAILURES, SUMMARY = "failures", "summary"
STEPS = 1_000
TARGET, SENT, DELIVERED, FAILED, NOT_SENT, PER_SECOND, MEDIAN, P95 = range(8)
_NEEDED = {SENT: 800, PER_SECOND: 700, MEDIAN: 600, NOT_SENT: 500, P95: 400}
"""Narrower tables hide a column: the tooltip of the target has it."""
_NUMBER_WIDTH, _TARGETS_IN_VIEW = 68, 4
LEAST_WIDTH, _LEAST_LIST = 320, 104
"""Pixels; the other is the height of failures or summary."""
AGAIN = "Replay failed…"


class TargetTable(RowsView):
    """A row for each target, as high as its rows, up to a few of them."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__("Progress by target", parent)
        self._theme, self._font = theme, ui_font(BASE)
        self.rows = Rows[TargetProgress](self._columns(), self)
        self.show_rows(self.rows, metrics.ROW_DENSE)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        header = self.horizontalHeader()
        header.setDefaultSectionSize(_NUMBER_WIDTH)
        header.setSectionResizeMode(TARGET, QHeaderView.ResizeMode.Stretch)

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
        for column, width in _NEEDED.items():
            self.setColumnHidden(column, self.viewport().width() < width)

    def _fit_columns(self) -> None:
        """They grow with their numbers; they would jump if they shrank while a replay runs."""
        for column in range(SENT, P95 + 1):
            title = self.horizontalHeader().sectionSizeHint(column) + metrics.SPACE_1
            widths = title, self.sizeHintForColumn(column), self.columnWidth(column)
            self.setColumnWidth(column, max(widths))

    def _columns(self) -> list[Column[TargetProgress]]:
        return [
            Column("Target", _target_name, _target_tooltip, paint=self._paint_target),
            Column("Sent", lambda one: f"{one.sent:,}", align=RIGHT),
            Column("Delivered", lambda one: f"{one.delivered:,}", align=RIGHT),
            Column("Failed", lambda one: f"{one.failed:,}", align=RIGHT),
            Column("Not sent", lambda one: f"{one.not_sent:,}", align=RIGHT),
            Column("Per second", lambda one: f"{one.per_second:,.1f}" if one.per_second else NONE, align=RIGHT),
            Column("Median", lambda one: _ms(one.median_ms), align=RIGHT),
            Column("95 %", lambda one: _ms(one.p95_ms), align=RIGHT, title_tip="95 % took no longer than this."),
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


def _ms(ms: float | None) -> str:
    return NONE if ms is None else ms_text(ms)


class BarColours(QSyntaxHighlighter):
    """Colours the bars of a histogram."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._theme = theme
        theme.changed.connect(self.rehighlight)

    def highlightBlock(self, text: str) -> None:
        start = text.find(BAR)
        if start >= 0:
            style = QTextCharFormat()
            style.setForeground(QColor(self._theme.tokens.chart_plain))
            self.setFormat(start, len(text) - start, style)


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
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
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
        self.text = TextEdit("Summary of the replay", theme, self, read_only=True)
        self.text.setProperty("frameless", True)
        self._bars = BarColours(self.text.document(), theme)
        again = commands.again
        self.again = CommandButton(AGAIN, again, theme, self, icon="retry", tooltip=again.name)
        self.copy = Button("Copy summary", theme, self, icon="copy")
        self._lay_out()
        self.views.activated.connect(self._show_view)
        self.failures.loaded.connect(self._show_view)
        self.failures.commands.open_requested.connect(commands.open_requested)
        self.failures.commands.announced.connect(commands.announced)
        self.copy.clicked.connect(self._copy)

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
        self._body = QStackedLayout()
        for widget in (self.failures, self.nothing, self.text):
            self._body.addWidget(widget)
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
            self.text.show_text(text)
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
