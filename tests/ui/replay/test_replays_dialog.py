"""The list of replays."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.core.replay.spec import ChosenRequests, ReplaySpec
from app.ui.replay.replay_progress_area import ReplaysDialog, ReplayTracker
from tests.ui.desk import open_desk
from tests.ui.replay.replay_desk import target
from tests.ui.waiting import until


async def test_without_replays_it_says_how_to_make_one_and_the_first_is_shown_at_once(tmp_path: Path) -> None:
    async with target() as received, open_desk(tmp_path) as desk:
        capture = await desk.capture(await desk.endpoint(forward_url=received.url))
        over = QWidget()
        tracker = ReplayTracker(desk.services, desk.tasks, over)
        dialog = ReplaysDialog(tracker, desk.services, desk.theme, desk.tasks, over)
        dialog.open()
        await until(dialog.empty.isVisible)
        assert not dialog.text.isVisible()
        await desk.replays.start(ReplaySpec(source=ChosenRequests(ids=(capture.id,))))
        await until(lambda: dialog.text.isVisible() and "1 request" in dialog.text.text())
        assert not dialog.empty.isVisible()
        assert dialog.current is not None
        dialog.reject()
        await desk.tasks.cancel_all()
        over.deleteLater()
