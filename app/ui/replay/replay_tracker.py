"""Follows the replays of several requests: the one to show progress of, and what the user can do with it."""

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
