"""What the window holds of replays beside their page: the replays as they are now, what the user does to one (pause or
cancel it, repeat it, with changes, or only what failed of it), and the bar below the pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any, Literal

from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QWidget

from app.core.delivery import Delivery
from app.core.errors import HooklineError, NotFoundError
from app.core.events import ReplayChanged
from app.core.replay import (
    REPLAYS_KEPT,
    ChosenRequests,
    Faults,
    MatchingRequests,
    OwnTargets,
    Replay,
    ReplaySpec,
    ReplayState,
    received_until,
)
from app.core.text import count_of
from app.core.worst_state import State, replay_state
from app.ui.commands.command import IN_WINDOW, CommandButton, CommandGroup, Commands
from app.ui.replay.replay_text import counts_text, failed_text, is_single, shown_endpoint, title_text, to_text, wordings
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.throttle import Throttle
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.dialog import ask
from app.ui.widgets.labels import FittingLabel, label
from app.ui.widgets.layout import Space, hbox

MERGE_MS = 250
"""Replays announce their progress ten times a second."""
_ORDER = (
    *(ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.QUEUED),
    *(ReplayState.DONE, ReplayState.CANCELLED, ReplayState.INTERRUPTED),
)
"""In which a replay is shown in the bar."""
NOT_RUNNING = "No replay is running."
HAS_ENDED = "This replay has ended."
IS_WAITING = "This replay waits for the one before it."
NOT_ENDED = "This replay has not ended."
NONE_SELECTED = "Select a replay on the page “Replays”."
ENDPOINT_DELETED = "The endpoint of this replay was deleted with its requests."
EDITED = "This replay sent an edited request. Edit the request again, or repeat it as it was."
NOTHING_FAILED = "Nothing failed in this replay."
GONE = "The requests that failed are no longer stored."
AGAIN_MOST = 10_000
"""Failed requests that are replayed at once."""
RESUMABLE = (ReplayState.PAUSED, ReplayState.INTERRUPTED)
HEIGHT = 44
"""Pixels of the bar."""


class ReplayTracker(QObject):
    """`changed` follows every change of `replays` or `shown`, several a moment as one."""

    changed = Signal()

    def __init__(self, services: Services, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._service, self._tasks = services.replays, tasks
        self._all: dict[str, Replay] = {}
        self._told: set[str] = set()
        """The IDs of those that the bar may show."""
        self.loaded = False
        self._merged = Throttle(MERGE_MS, self, self.changed)
        self._subscription = services.bus.subscribe(ReplayChanged, self._follow)
        tasks.start(self._load(), "replays: list", self)

    @property
    def replays(self) -> list[Replay]:
        """The last started first: the newest that are stored, and those of this run of Hookline."""
        return sorted(self._all.values(), key=lambda replay: replay.id, reverse=True)

    @property
    def shown(self) -> Replay | None:
        """The replay in the bar, until it is dismissed: the first there is of running, paused, waiting, ended and
        interrupted ones, and of several the last started. The replay of a single request is never in the bar: its
        result is shown where it was replayed.
        """
        newest_first = (replay for replay in self.replays if replay.id in self._told)
        return min(newest_first, key=lambda replay: _ORDER.index(replay.state), default=None)

    @property
    def waiting(self) -> int:
        """How many wait for the one that is shown."""
        shown = self.shown
        queued = sum(replay.state is ReplayState.QUEUED for replay in self._in_bar())
        return queued - (shown is not None and shown.state is ReplayState.QUEUED)

    @property
    def going_on(self) -> int:
        """How many run, wait or are paused."""
        return sum(not replay.ended and replay.state is not ReplayState.INTERRUPTED for replay in self._in_bar())

    def stop(self) -> None:
        """Unsubscribe from the bus."""
        self._subscription.end()

    def change(self, verb: Literal["pause", "resume", "cancel"], replay_id: str) -> None:
        """To cancel an interrupted one is to give it up."""
        self._tasks.start(self._change(getattr(self._service, verb)(replay_id), replay_id), f"{verb} replay")

    def dismiss(self, replay_id: str) -> None:
        """Show it in the bar no longer; an interrupted one is given up."""
        self._told.discard(replay_id)
        if self._all[replay_id].state is ReplayState.INTERRUPTED:
            self.change("cancel", replay_id)
        self.changed.emit()

    def dismiss_ended(self) -> None:
        """The user has seen those that have ended."""
        ended = {replay.id for replay in self._in_bar() if replay.ended}
        self._told -= ended
        if ended:
            self.changed.emit()

    def _in_bar(self) -> list[Replay]:
        return [self._all[replay_id] for replay_id in self._told]

    async def _change(self, change: Coroutine[Any, Any, Replay], replay_id: str) -> None:
        try:
            replay = await self._tasks.complete(change, self)
        except NotFoundError:  # It ended at this moment.
            return
        if not replay.ended:
            self._all[replay_id] = replay
            self.changed.emit()

    async def _load(self) -> None:
        for replay in await self._service.latest():
            if self._all.setdefault(replay.id, replay) is replay and not (replay.ended or is_single(replay.spec)):
                self._told.add(replay.id)
        self.loaded = True
        self.changed.emit()

    def _follow(self, event: ReplayChanged) -> None:
        replay = event.replay
        before = self._all.get(replay.id)
        self._all[replay.id] = replay
        for old in self.replays[REPLAYS_KEPT:] if before is None else ():
            if old.ended and old.id not in self._told:
                del self._all[old.id]
        if not is_single(replay.spec):
            self._tell(replay, before)
        if before is None or before.state is not replay.state:
            self.changed.emit()
        else:
            self._merged.call()

    def _tell(self, replay: Replay, before: Replay | None) -> None:
        """Let the bar show it, unless it was cancelled before it ran or while it was interrupted."""
        interrupted = before is not None and before.state is ReplayState.INTERRUPTED
        ran = replay.started_at is not None and replay.id in self._told and not interrupted
        if replay.state is ReplayState.CANCELLED and not ran:
            self._told.discard(replay.id)
        else:
            self._told = {one.id for one in self._in_bar() if not one.ended} | {replay.id}


def repeated(replay: Replay) -> ReplaySpec:
    """The same requests, targets, options and seed."""
    return replace(replay.spec, source=received_until(replay.spec.source, replay.started_at or replay.created_at))


def failed_again(replay: Replay, failures: list[Delivery]) -> list[ReplaySpec]:
    """Those that failed, once more to the targets they failed at: one replay for each. Faults made on purpose are not
    repeated: the same seed would make the same requests fail again."""
    by_target = defaultdict[int | None, list[str]](list)
    spec = replace(replay.spec, times=1, faults=Faults())
    own = isinstance(spec.destination, OwnTargets)
    for delivery in failures:
        if delivery.target_id is not None or not own:
            by_target[delivery.target_id].append(delivery.capture_id)
    return [
        replace(
            spec,
            source=ChosenRequests(ids=tuple(dict.fromkeys(ids))),
            destination=OwnTargets(target_id=number) if own else spec.destination,
        )
        for number, ids in by_target.items()
    ]


class ReplayCommands(Commands):
    """Commands on what `selected` returns. `started` carries a replay that was begun here, `open_requested` the ID of a
    request whose deliveries are to be shown.
    """

    group = CommandGroup.REQUEST
    context = IN_WINDOW
    started = Signal(object)
    open_requested = Signal(str)

    def __init__(self, tracker: ReplayTracker, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(theme, None, window, read_only=services.read_only)
        self.tracker, self._services, self._tasks, self._window = tracker, services, tasks, window
        self.selected: Callable[[], Replay | None] = lambda: tracker.shown
        self.pause = self.command("Pause replay", "pause", self._pause, self._cannot_pause, changes=True)
        self.cancel = self.command("Cancel replay", "close", self._cancel, self._cannot_cancel, changes=True)
        self.repeat = self.command(
            "Repeat replay", "replay", self._repeat, self._cannot_repeat, changes=True, synonyms="again same seed"
        )
        self.change = self.command(
            "Repeat replay with changes…", "edit-replay", self._change, self._cannot_change, changes=True
        )
        self.again = self.command("Replay failed requests…", "retry", self._again, self._none_failed, changes=True)

    def refresh(self) -> None:
        replay = self.selected()
        resume = replay is not None and replay.state in RESUMABLE
        self.pause.show_as("Resume replay" if resume else "Pause replay", "play" if resume else "pause")
        super().refresh()

    def _run(self, run: Callable[[Replay], object]) -> None:
        if (replay := self.selected()) is not None:
            run(replay)

    def _reason(self, unavailable: Callable[[Replay | None], str | None] | None) -> str | None:
        return unavailable(self.selected()) if unavailable is not None else None

    def _cannot_pause(self, replay: Replay | None) -> str | None:
        waits = replay is not None and replay.state is ReplayState.QUEUED
        return self._cannot_cancel(replay) or (IS_WAITING if waits else None)

    def _cannot_cancel(self, replay: Replay | None) -> str | None:
        if replay is None:
            return NOT_RUNNING
        return HAS_ENDED if replay.ended else None

    def _cannot_repeat(self, replay: Replay | None) -> str | None:
        if replay is None:
            return NONE_SELECTED
        if not replay.ended:
            return NOT_ENDED
        source = replay.spec.source
        of_one = isinstance(source, MatchingRequests) and source.endpoint_id is not None
        deleted = of_one and shown_endpoint(source, self._services.store.endpoints) is None
        return ENDPOINT_DELETED if deleted else None

    def _cannot_change(self, replay: Replay | None) -> str | None:
        return self._cannot_repeat(replay) or (EDITED if replay is not None and replay.spec.edit is not None else None)

    def _none_failed(self, replay: Replay | None) -> str | None:
        nothing = replay is not None and not replay.progress.failed
        return self._cannot_repeat(replay) or (NOTHING_FAILED if nothing else None)

    def _pause(self, replay: Replay) -> None:
        self.tracker.change("resume" if replay.state in RESUMABLE else "pause", replay.id)

    def _cancel(self, replay: Replay) -> None:
        self.tracker.change("cancel", replay.id)

    def _repeat(self, replay: Replay) -> None:
        self._tasks.start(self._start(repeated(replay)), "replay: repeat")

    def _change(self, replay: Replay) -> None:
        from app.ui.replay.replay_many_dialog import ReplayManyDialog  # start-up time, here and below: rarely needed

        spec = repeated(replay)
        source = spec.source
        ids = source.ids if isinstance(source, ChosenRequests) else ()
        listed = source if isinstance(source, MatchingRequests) else MatchingRequests()
        parts = self._services, self._theme, self._tasks, self._window
        dialog = ReplayManyDialog(listed, *parts, ids=ids, like=spec)
        dialog.started.connect(self.started)
        dialog.open()

    def _again(self, replay: Replay) -> None:
        self._tasks.start(self._replay_failed(replay), "replay: the failed ones", self)

    async def _replay_failed(self, replay: Replay) -> None:
        from app.ui.replay.replay_failures import read_failures  # as above

        failures = await read_failures(self._services.store.deliveries, replay.id, AGAIN_MOST)
        specs = failed_again(replay, failures)
        if not specs:
            self.announced.emit(GONE)
            return
        many = count_of(len(failures), "failed delivery", "failed deliveries")
        which = many if len(failures) < AGAIN_MOST else f"the newest {many}"
        text = f"This sends the requests of {which} once more, each to the target where it failed, without faults."
        if await ask(self._window, self._theme, "Replay failed requests?", text, "Replay", kind="primary"):
            for spec in specs:
                await self._start(spec)

    async def _start(self, spec: ReplaySpec) -> None:
        try:
            replay = await self._tasks.complete(self._services.replays.start(spec), self)
        except HooklineError as error:
            self.announced.emit(f"Not replayed: {error}")
            return
        self.started.emit(replay)


class ReplayBar(QFrame):
    """One line about a replay. `page_requested` carries its ID."""

    page_requested = Signal(str)

    def __init__(self, commands: ReplayCommands, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._tracker = commands.tracker
        self._announced: tuple[str, ReplayState] | None = None
        self.beside_page = False
        self.setProperty("part", "undo")
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Replay")
        self.title = label("", "strong", self)
        self.facts = FittingLabel("small", self)
        self.show_page = Button("Show", theme, self, kind="ghost", run=self._show_page)
        self.pause = CommandButton("Pause", commands.pause, theme, self, icon="pause")
        self.cancel = CommandButton("Cancel", commands.cancel, theme, self, kind="ghost")
        self.dismiss = IconButton("close", "Dismiss", theme, self, run=self._dismiss)
        hbox(
            self.title,
            (self.facts, 1),
            Space(metrics.SPACE_2),
            self.show_page,
            self.pause,
            self.cancel,
            self.dismiss,
            inside=self,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, 0, metrics.SPACE_3, 0),
        )
        self._tracker.changed.connect(self._follow)
        self._follow()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click beside the buttons shows the page, too."""
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self._show_page()

    def set_beside_page(self, beside: bool) -> None:
        """Beside the page of replays, which says the same, there is no bar."""
        self.beside_page = beside
        self._follow()

    @Slot()
    def _follow(self) -> None:
        replay = self._tracker.shown
        self.setVisible(replay is not None and not self.beside_page)
        if replay is None:
            self._announced = None
            return
        over = replay.ended or replay.state is ReplayState.INTERRUPTED
        self.title.setText(title_text(replay))
        waiting = f"{self._tracker.waiting} more waiting" if self._tracker.waiting else ""
        facts = failed_text(replay.progress), to_text(replay), waiting, replay.problem
        self.facts.set_wordings(wordings([fact for fact in facts if fact]))
        self.pause.setVisible(not replay.ended)
        resumable = replay.state in RESUMABLE
        self.pause.setText("Resume" if resumable else "Pause")
        self.pause.set_icon_name("play" if resumable else "pause")
        self.cancel.setVisible(not over)
        self.dismiss.setVisible(over)
        self._announce(replay)

    def _announce(self, replay: Replay) -> None:
        """Tell screen readers that it started, paused or ended; not each count."""
        if self._announced == (replay.id, replay.state):
            return
        self._announced = replay.id, replay.state
        text = title_text(replay) + (f". {counts_text(replay.progress)}" if replay.ended else "")
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    @Slot()
    def _dismiss(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self._tracker.dismiss(replay.id)

    @Slot()
    def _show_page(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self.page_requested.emit(replay.id)


class ReplayArea(QObject):
    """`bar` is for the bottom of the window, `commands` for its registry. `page_requested` carries the ID of the replay
    that the page is to show."""

    page_requested = Signal(str)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, window: QWidget) -> None:
        super().__init__(window)
        self.tracker = ReplayTracker(services, tasks, self)
        self.commands = ReplayCommands(self.tracker, services, theme, tasks, window)
        self.bar = ReplayBar(self.commands, theme, window)
        self.commands.started.connect(self._started)
        self.bar.page_requested.connect(self.page_requested)
        self.tracker.changed.connect(self.commands.refresh)
        self.commands.refresh()

    @property
    def state(self) -> State:
        """Of the replay in the bar."""
        shown = self.tracker.shown
        return State.NONE if shown is None else replay_state(shown)

    def set_selected(self, selected: Callable[[], Replay | None] | None) -> None:
        """Which replay the commands are about: what the page that is shown returns, or (None) the one in the bar, which
        is hidden beside the page."""
        self.commands.selected = selected or (lambda: self.tracker.shown)
        self.bar.set_beside_page(selected is not None)
        self.commands.refresh()

    @Slot(object)
    def _started(self, replay: Replay) -> None:
        """One that the user began from the page is what they want to see there."""
        if self.bar.beside_page:
            self.page_requested.emit(replay.id)
        else:
            self.commands.announced.emit("Repeating. The page “Replays” shows how far it is.")
