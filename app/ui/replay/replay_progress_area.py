"""The replays of a window: the bar with the progress, the dialog with all of them, and their commands."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QColor,
    QFont,
    QGuiApplication,
    QPainter,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextDocument,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QVBoxLayout, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.errors import NotFoundError
from app.core.events import ReplayChanged
from app.core.replay.spec import MatchingRequests, Replay, ReplayState
from app.core.replay.summary import destination_text, faults_text, pace_text, source_text
from app.core.text import clock_time, day_text
from app.ui.commands.command import IN_WINDOW, CommandGroup, Commands
from app.ui.replay.replay_text import BAR, counts_text, is_single, speed_text, title_text, with_bars
from app.ui.replay.text_edit import TextEdit
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import BASE, SMALL, ui_font
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.dialog import Dialog, open_once
from app.ui.widgets.empty_state import EmptyState
from app.ui.widgets.fit_screen import bounded
from app.ui.widgets.labels import FittingLabel, label
from app.ui.widgets.layout import Space, Stretch, hbox, vbox
from app.ui.widgets.rows import Column, Rows
from app.ui.widgets.rows_list import RowsList, paint_line
from app.ui.widgets.toast import Toast

_ORDER = (ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.QUEUED, ReplayState.DONE, ReplayState.CANCELLED)


class ReplayTracker(QObject):
    """`changed` follows every change of `shown`: the replay that runs, waits or has ended, or that the end of Hookline
    interrupted. One that has ended is shown until it is dismissed.
    """

    changed = Signal()

    def __init__(self, services: Services, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._replays, self._tasks = services.replays, tasks
        self._known: dict[str, Replay] = {}
        self._subscription = services.bus.subscribe(ReplayChanged, self._follow)
        tasks.start(self._load(), "replays: interrupted ones", self)

    @property
    def shown(self) -> Replay | None:
        """The first of these there is: running, paused, waiting, ended, interrupted; the last started of several."""
        for state in (*_ORDER, ReplayState.INTERRUPTED):
            of_state = [replay for replay in self._known.values() if replay.state is state]
            if of_state:
                return max(of_state, key=lambda replay: replay.id)
        return None

    @property
    def waiting(self) -> int:
        """How many wait for the one that is shown."""
        shown = self.shown
        queued = sum(replay.state is ReplayState.QUEUED for replay in self._known.values())
        return queued - (shown is not None and shown.state is ReplayState.QUEUED)

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self._subscription.end()

    def pause(self, replay_id: str) -> None:
        self._run(self._replays.pause, replay_id, "pause replay")

    def resume(self, replay_id: str) -> None:
        self._run(self._replays.resume, replay_id, "resume replay")

    def cancel(self, replay_id: str) -> None:
        self._run(self._replays.cancel, replay_id, "cancel replay")

    def dismiss(self, replay_id: str) -> None:
        """Show it no longer; an interrupted one is given up."""
        replay = self._known.pop(replay_id, None)
        if replay is not None and replay.state is ReplayState.INTERRUPTED:
            self.cancel(replay_id)
        self.changed.emit()

    def _run(self, change: Callable[[str], Coroutine[Any, Any, Replay]], replay_id: str, name: str) -> None:
        self._tasks.start(self._change(change, replay_id), name)

    async def _change(self, change: Callable[[str], Coroutine[Any, Any, Replay]], replay_id: str) -> None:
        try:
            replay = await self._tasks.complete(change(replay_id), self)
        except NotFoundError:  # It ended at this moment.
            return
        if replay_id in self._known and not replay.ended:
            self._known[replay_id] = replay
            self.changed.emit()

    async def _load(self) -> None:
        for replay in await self._replays.latest():
            if replay.id not in self._known and not (replay.ended or is_single(replay.spec)):
                self._known[replay.id] = replay
        self.changed.emit()

    def _follow(self, event: ReplayChanged) -> None:
        replay = event.replay
        if is_single(replay.spec):
            return
        if (replay.state is ReplayState.CANCELLED and replay.started_at is None) or (
            replay.ended and self._was_given_up(replay)
        ):
            self._known.pop(replay.id, None)
        else:
            self._known = {key: one for key, one in self._known.items() if not one.ended}
            self._known[replay.id] = replay
        self.changed.emit()

    def _was_given_up(self, replay: Replay) -> bool:
        """Whether it was given up without having run again."""
        before = self._known.get(replay.id)
        return replay.state is ReplayState.CANCELLED and (before is None or before.state is ReplayState.INTERRUPTED)


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


NOT_RUNNING = "No replay is running."
_RESUMABLE = (ReplayState.PAUSED, ReplayState.INTERRUPTED)
HEIGHT = 56
_STEPS = 1_000
_PAUSED, _RUNNING = ReplayState.PAUSED, (ReplayState.RUNNING, ReplayState.QUEUED)


class ReplayBar(QFrame):
    """Shown while there is a replay to tell of. `details_requested` carries the ID of the one shown."""

    details_requested = Signal(str)

    def __init__(self, tracker: ReplayTracker, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._tracker = tracker
        self._announced: tuple[str, ReplayState] | None = None
        self.setProperty("part", "undo")
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Replay")
        self.title = label("", "strong", self)
        self.facts = FittingLabel("small", self)
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
        self.progress.setRange(0, _STEPS)
        self.progress.setAccessibleName("Replay progress")
        self.pause = Button("Pause", theme, self, icon="pause")
        self.cancel = Button("Cancel", theme, self, kind="ghost")
        self.details = Button("Details", theme, self, kind="ghost")
        self.dismiss = IconButton("close", "Dismiss", theme, self)
        self._lay_out()
        self.pause.clicked.connect(self._pause)
        self.cancel.clicked.connect(self._cancel)
        self.details.clicked.connect(self._show_details)
        self.dismiss.clicked.connect(self._dismiss)
        tracker.changed.connect(self._follow)
        self._follow()

    def _lay_out(self) -> None:
        top = hbox(self.title, (self.facts, 1), spacing=metrics.SPACE_3)
        column = vbox(Stretch(), top, self.progress, Stretch(), spacing=6)
        hbox(
            (column, 1),
            Space(metrics.SPACE_2),
            self.details,
            self.pause,
            self.cancel,
            self.dismiss,
            inside=self,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, 0, metrics.SPACE_3, 0),
        )

    @Slot()
    def _follow(self) -> None:
        replay = self._tracker.shown
        self.setVisible(replay is not None)
        if replay is None:
            self._announced = None
            return
        running, ended = replay.state in _RUNNING, replay.ended
        resumable = replay.state in (_PAUSED, ReplayState.INTERRUPTED)
        self.title.setText(title_text(replay))
        self.facts.set_wordings(self._wordings(replay), " · ".join(self._facts(replay)))
        total, done = replay.progress.total, replay.progress.done
        self.progress.setVisible(not ended)
        if total is None and running:
            self.progress.setRange(0, 0)
        else:
            self.progress.setRange(0, _STEPS)
            self.progress.setValue(round(done / total * _STEPS) if total else 0)
        self.pause.setVisible(not ended)
        self.pause.setEnabled(replay.state is not ReplayState.QUEUED)
        self.pause.setText("Resume" if resumable else "Pause")
        self.pause.set_icon_name("play" if resumable else "pause")
        self.cancel.setVisible(running or replay.state is _PAUSED)
        self.details.setText("Summary" if ended else "Details")
        self.dismiss.setVisible(ended or replay.state is ReplayState.INTERRUPTED)
        self._announce(replay)

    def _facts(self, replay: Replay) -> list[str]:
        waiting = f"{self._tracker.waiting} more waiting" if self._tracker.waiting else ""
        counts = counts_text(replay.progress) if replay.state is not ReplayState.QUEUED else ""
        return [part for part in (replay.problem or "", counts, speed_text(replay), waiting) if part]

    def _wordings(self, replay: Replay) -> list[str]:
        """The facts, then fewer of them for a narrow window."""
        facts = self._facts(replay)
        return [" · ".join(facts[:number]) for number in range(len(facts), 0, -1)] or [""]

    def _announce(self, replay: Replay) -> None:
        """Tell screen readers that it started, paused or ended; not each count."""
        if self._announced == (replay.id, replay.state):
            return
        self._announced = replay.id, replay.state
        text = title_text(replay) + (f". {counts_text(replay.progress)}" if replay.ended else "")
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    @Slot()
    def _pause(self) -> None:
        if (replay := self._tracker.shown) is not None:
            running = replay.state is ReplayState.RUNNING
            (self._tracker.pause if running else self._tracker.resume)(replay.id)

    @Slot()
    def _cancel(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self._tracker.cancel(replay.id)

    @Slot()
    def _dismiss(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self._tracker.dismiss(replay.id)

    @Slot()
    def _show_details(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self.details_requested.emit(replay.id)


class ReplayProgressArea(Commands):
    """`bar` is for the bottom of the window, `commands` for its registry."""

    context = IN_WINDOW

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(theme, None, window, read_only=services.read_only)
        self._services, self._tasks, self._window = services, tasks, window
        self.tracker = ReplayTracker(services, tasks, self)
        self.bar = ReplayBar(self.tracker, theme, window)
        opening, go_to = self.open_dialog, CommandGroup.GO_TO
        self.open = self.command("Replays", "replays", opening, None, "Ctrl+Alt+R", group=go_to)
        self.pause = self.command("Pause replay", "pause", self.bar.pause.click, self._cannot_pause, changes=True)
        self.cancel = self.command("Cancel replay", "close", self.bar.cancel.click, self._cannot_cancel, changes=True)
        self.open.add_to(window)
        self.bar.details_requested.connect(self.open_dialog)
        self.tracker.changed.connect(self._follow)
        self._follow()

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self.tracker.stop()

    @Slot(str)
    def open_dialog(self, replay_id: str = "") -> None:
        """Open the list of replays, once, with this one selected."""
        new = partial(ReplaysDialog, self.tracker, self._services, self._theme, self._tasks, self._window)
        dialog = open_once(self._window, ReplaysDialog, new)
        if replay_id:
            dialog.show_replay(replay_id)

    @Slot()
    def _follow(self) -> None:
        shown = self.tracker.shown
        resume = shown is not None and shown.state in _RESUMABLE
        self.pause.show_as("Resume replay" if resume else "Pause replay", "play" if resume else "pause")
        self.refresh()

    def _cannot_pause(self) -> str | None:
        shown = self.tracker.shown
        running = shown is not None and (shown.state is ReplayState.RUNNING or shown.state in _RESUMABLE)
        return None if running else NOT_RUNNING

    def _cannot_cancel(self) -> str | None:
        shown = self.tracker.shown
        running = shown is not None and shown.state in (ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.QUEUED)
        return None if running else NOT_RUNNING
