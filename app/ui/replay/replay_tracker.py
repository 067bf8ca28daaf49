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
        self._told: dict[str, Replay] = {}
        """Those that the bar may show."""
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
            of_state = [replay for replay in self._told.values() if replay.state is state]
            if of_state:
                return max(of_state, key=lambda replay: replay.id)
        return None

    @property
    def waiting(self) -> int:
        """How many wait for the one that is shown."""
        shown = self.shown
        queued = sum(replay.state is ReplayState.QUEUED for replay in self._told.values())
        return queued - (shown is not None and shown.state is ReplayState.QUEUED)

    @property
    def going_on(self) -> int:
        """How many run, wait or are paused."""
        return sum(not replay.ended and replay.state is not ReplayState.INTERRUPTED for replay in self._told.values())

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
        replay = self._told.pop(replay_id, None)
        if replay is not None and replay.state is ReplayState.INTERRUPTED:
            self.cancel(replay_id)
        self.changed.emit()

    def dismiss_ended(self) -> None:
        """The user has seen those that have ended."""
        ended = [replay.id for replay in self._told.values() if replay.ended]
        for replay_id in ended:
            del self._told[replay_id]
        if ended:
            self.changed.emit()

    def _run(self, change: Callable[[str], Coroutine[Any, Any, Replay]], replay_id: str, name: str) -> None:
        self._tasks.start(self._change(change, replay_id), name)

    async def _change(self, change: Callable[[str], Coroutine[Any, Any, Replay]], replay_id: str) -> None:
        try:
            replay = await self._tasks.complete(change(replay_id), self)
        except NotFoundError:  # It ended at this moment.
            return
        if not replay.ended:
            for known in (self._all, self._told):
                if replay_id in known:
                    known[replay_id] = replay
            self.changed.emit()

    async def _load(self) -> None:
        for replay in await self._service.latest():
            if self._all.setdefault(replay.id, replay) is replay and not (replay.ended or is_single(replay.spec)):
                self._told[replay.id] = replay
        self.loaded = True
        self.changed.emit()

    def _follow(self, event: ReplayChanged) -> None:
        replay = event.replay
        before = self._all.get(replay.id)
        self._all[replay.id] = replay
        for old in self.replays[KEPT:] if before is None else ():
            if old.ended:
                del self._all[old.id]
        if not is_single(replay.spec):
            self._tell(replay)
        if before is None or before.state is not replay.state:
            self.changed.emit()
        else:
            self._merged.call()

    def _tell(self, replay: Replay) -> None:
        if (replay.state is ReplayState.CANCELLED and replay.started_at is None) or (
            replay.ended and self._was_given_up(replay)
        ):
            self._told.pop(replay.id, None)
        else:
            self._told = {key: one for key, one in self._told.items() if not one.ended}
            self._told[replay.id] = replay

    def _was_given_up(self, replay: Replay) -> bool:
        """Whether it was given up without having run again."""
        before = self._told.get(replay.id)
        return replay.state is ReplayState.CANCELLED and (before is None or before.state is ReplayState.INTERRUPTED)
