"""The replays of this data folder, the last started first, with the summary of the selected one."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QRect, QSize, Qt, Slot
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPainter, QSyntaxHighlighter, QTextCharFormat, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.events import ReplayChanged
from app.core.replay.spec import MatchingRequests, Replay, ReplayState
from app.core.replay.summary import destination_text, faults_text, pace_text, source_text
from app.core.text import clock_time, day_text
from app.ui.replay.replay_text import BAR, counts_text, title_text, with_bars
from app.ui.replay.replay_tracker import ReplayTracker
from app.ui.replay.text_edit import TextEdit
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.rows import Column, Rows
from app.ui.widgets.rows_list import RowsList, paint_line
from app.ui.widgets.toast import Toast

SIZE = QSize(900, 720)
LIST_WIDTH, ROW_HEIGHT = 300, 52
HOW = "Press R on a request to replay it, or Ctrl+Shift+R to replay many."


class ReplaysModel(Rows[Replay]):
    """Two lines for each replay: what became of it, and when and of what it was."""

    def __init__(self, requests: Callable[[Replay], str], theme: Theme, parent: QObject) -> None:
        """`requests` names those of a replay."""
        super().__init__([Column("", lambda replay: ", ".join(self._lines(replay)), paint=self._paint)], parent)
        self._requests, self._theme = requests, theme

    def row_of(self, replay_id: str) -> int | None:
        return next((row for row, replay in enumerate(self._rows) if replay.id == replay_id), None)

    def update_one(self, replay: Replay) -> None:
        """Show a replay as it is now; a new one comes first."""
        row = self.row_of(replay.id)
        if row is not None:
            self.replace_record(row, replay)
        else:
            self.insert_records(0, [replay])

    def _lines(self, replay: Replay) -> tuple[str, str]:
        first = title_text(replay).removeprefix("Replay ").capitalize()
        when = f"{day_text(replay.created_at, now_us())} {clock_time(replay.created_at)[:5]}"
        return first, f"{when} · {self._requests(replay)}"

    def _paint(self, painter: QPainter, place: QRect, replay: Replay) -> None:
        tokens, (first, second) = self._theme.tokens, self._lines(replay)
        inside = place.adjusted(metrics.SPACE_5, metrics.SPACE_2, -metrics.SPACE_3, -metrics.SPACE_2)
        strong, small = ui_font(BASE, QFont.Weight.Medium), ui_font(SMALL)
        paint_line(painter, inside, first, strong, tokens.text, align=Qt.AlignmentFlag.AlignTop)
        paint_line(painter, inside, second, small, tokens.text_faint, align=Qt.AlignmentFlag.AlignBottom)


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


class ReplaysDialog(Dialog):
    """`show_replay` selects one."""

    def __init__(
        self, tracker: ReplayTracker, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None
    ) -> None:
        super().__init__("Replays", theme, parent)
        self._tracker, self._services = tracker, services
        self._wanted: str | None = None
        self._loaded = False
        self.model = ReplaysModel(self._requests, theme, self)
        self.list = RowsList("Replays", self.model, ROW_HEIGHT, theme, self)
        self.list.setFixedWidth(LIST_WIDTH)
        self.text = TextEdit("Summary of the replay", theme, self, read_only=True)
        self.text.setProperty("frameless", True)
        self.empty = EmptyState("replay", "No replays yet", HOW, theme, self)
        self._bars = BarColours(self.text.document(), theme)
        self.copy = Button("Copy summary", theme, self, icon="copy")
        self.resume = Button("Resume", theme, self, icon="play")
        self.cancel = Button("Cancel replay", theme, self)
        self.close_button = Button("Close", theme, self)
        self._toast = Toast(theme, self)
        left, right = QVBoxLayout(), QVBoxLayout()
        left.addWidget(self.list)
        right.setContentsMargins(metrics.SPACE_3, metrics.SPACE_2, 0, 0)
        right.addWidget(self.text)
        right.addWidget(self.empty)
        self.fill_columns(left, right)
        self._fill_footer(self.footer)
        self.list.selectionModel().currentChanged.connect(self._show)
        for changed in (self.model.dataChanged, self.model.rowsInserted):
            changed.connect(self._show)
        self.copy.clicked.connect(self._copy)
        self.resume.clicked.connect(self._resume)
        self.cancel.clicked.connect(self._cancel)
        self.close_button.clicked.connect(self.reject)
        self._subscription = services.bus.subscribe(ReplayChanged, lambda event: self.model.update_one(event.replay))
        tasks.start(self._load(), "replays: list", self)
        self._show()
        self.resize(bounded(self, SIZE))
        self.list.setFocus()

    def sizeHint(self) -> QSize:
        return bounded(self, SIZE)

    def is_idle(self) -> bool:
        return True

    def done(self, result: int) -> None:
        self._subscription.end()
        super().done(result)

    def show_replay(self, replay_id: str) -> None:
        """Select this one, once the list is loaded."""
        self._wanted = replay_id
        if (row := self.model.row_of(replay_id)) is not None:
            self.list.select_row(row)

    @property
    def current(self) -> Replay | None:
        """The selected one."""
        return self.list.current_record()

    def _requests(self, replay: Replay) -> str:
        source = replay.spec.source
        endpoint_id = source.endpoint_id if isinstance(source, MatchingRequests) else None
        endpoint = self._services.store.endpoints.by_id(endpoint_id) if endpoint_id is not None else None
        return escape(source_text(source, endpoint.name if endpoint is not None else None))

    def _fill_footer(self, footer: QHBoxLayout) -> None:
        footer.addWidget(self.copy)
        footer.addStretch(1)
        for button in (self.cancel, self.resume, self.close_button):
            footer.addWidget(button)

    async def _load(self) -> None:
        replays = await self._services.replays.latest()
        self._loaded = True
        self.model.set_records(replays)
        if self._wanted is not None:
            self.show_replay(self._wanted)
        self._show()

    @Slot()
    def _show(self) -> None:
        if self.current is None and self.model.rowCount():
            self.list.select_row(0)
        nothing = self._loaded and not self.model.rowCount()
        self.empty.setVisible(nothing)
        self.text.setVisible(not nothing)
        replay = self.current
        position = self.text.verticalScrollBar().value()
        text = with_bars(replay.summary or self._so_far(replay)) if replay is not None else ""
        if text != self.text.text():
            self.text.show_text(text)
            self.text.verticalScrollBar().setValue(position)
        state = replay.state if replay is not None else None
        self.copy.setEnabled(replay is not None)
        self.resume.setVisible(state in (ReplayState.PAUSED, ReplayState.INTERRUPTED))
        self.cancel.setVisible(replay is not None and not replay.ended)
        self.cancel.setText("Dismiss" if state is ReplayState.INTERRUPTED else "Cancel replay")

    @Slot()
    def _copy(self) -> None:
        if (replay := self.current) is not None:
            QGuiApplication.clipboard().setText(replay.summary or self._so_far(replay))
            self._toast.say("Summary copied.")

    @Slot()
    def _resume(self) -> None:
        if (replay := self.current) is not None:
            self._tracker.resume(replay.id)

    @Slot()
    def _cancel(self) -> None:
        if (replay := self.current) is not None:
            self._tracker.cancel(replay.id)

    def _so_far(self, replay: Replay) -> str:
        spec = replay.spec
        lines = [
            title_text(replay),
            "",
            f"Requests  {self._requests(replay)}",
            f"To        {destination_text(spec.destination)}",
            f"Pace      {pace_text(spec.pace)}, {spec.concurrency:,} at once",
            f"Times     {spec.times:,}",
            f"Faults    {faults_text(spec.faults, spec.seed)}",
            "",
            f"So far    {counts_text(replay.progress)}",
        ]
        return "\n".join([*lines, *(["", replay.problem] if replay.problem else [])])
