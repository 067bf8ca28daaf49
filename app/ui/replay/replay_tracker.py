"""The replays as they are now: for the page that lists them, and the bar that shows one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.core.errors import NotFoundError
from app.core.events import ReplayChanged
from app.core.replay.spec import Replay, ReplayState
from app.ui.replay.replay_text import is_single
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.throttle import Throttle

MERGE_MS = 250
"""Replays announce their progress ten times a second."""
KEPT = 200
_ORDER = (ReplayState.RUNNING, ReplayState.PAUSED, ReplayState.QUEUED, ReplayState.DONE, ReplayState.CANCELLED)


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
        self._merged = Throttle(MERGE_MS, self)
        self._merged.fired.connect(self.changed)
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
        for state in (*_ORDER, ReplayState.INTERRUPTED):
            of_state = [replay for replay in self._in_bar() if replay.state is state]
            if of_state:
                return max(of_state, key=lambda replay: replay.id)
        return None

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

    def pause(self, replay_id: str) -> None:
        self._run(self._service.pause, replay_id, "pause replay")

    def resume(self, replay_id: str) -> None:
        self._run(self._service.resume, replay_id, "resume replay")

    def cancel(self, replay_id: str) -> None:
        """An interrupted one is given up."""
        self._run(self._service.cancel, replay_id, "cancel replay")

    def dismiss(self, replay_id: str) -> None:
        """Show it in the bar no longer; an interrupted one is given up."""
        self._told.discard(replay_id)
        if self._all[replay_id].state is ReplayState.INTERRUPTED:
            self.cancel(replay_id)
        self.changed.emit()

    def dismiss_ended(self) -> None:
        """The user has seen those that have ended."""
        ended = {replay.id for replay in self._in_bar() if replay.ended}
        self._told -= ended
        if ended:
            self.changed.emit()

    def _in_bar(self) -> list[Replay]:
        return [self._all[replay_id] for replay_id in self._told]

    def _run(self, change: Callable[[str], Coroutine[Any, Any, Replay]], replay_id: str, name: str) -> None:
        self._tasks.start(self._change(change, replay_id), name)

    async def _change(self, change: Callable[[str], Coroutine[Any, Any, Replay]], replay_id: str) -> None:
        try:
            replay = await self._tasks.complete(change(replay_id), self)
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
        for old in self.replays[KEPT:] if before is None else ():
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
