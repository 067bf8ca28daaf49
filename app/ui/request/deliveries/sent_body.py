"""The body that an attempt sent: the captured one, or that of an edited replay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.core.delivery import Attempt, Delivery
from app.core.model import Capture
from app.core.store import CaptureRepository
from app.ui.request.body.body_source import BodySource, of_bytes, of_capture

if TYPE_CHECKING:
    from app.server.replay import ReplayService


async def sent_body(
    attempt: Attempt, delivery: Delivery, capture: Capture, captures: CaptureRepository, replays: ReplayService
) -> BodySource | None:
    """As much of it as was sent; None if it was another body that is no longer stored.

    Raises StorageUnavailableError.
    """
    replay = await replays.get(delivery.replay_id) if delivery.replay_id is not None else None
    edit = replay.spec.edit if replay is not None else None
    if edit is None or edit.body is None:
        whole = of_capture(capture, captures)
    else:
        headers = capture.headers if edit.headers is None else edit.headers
        whole = of_bytes(edit.body, f"replay-{delivery.id[:13]}", headers=headers)
    if attempt.size == whole.size:
        return whole
    return _beginning(whole, attempt.size) if attempt.size < whole.size else None


def _beginning(whole: BodySource, size: int) -> BodySource:
    async def read(offset: int, length: int) -> bytes:
        return await whole.read(offset, max(0, min(length, size - offset)))

    return replace(whole, size=size, read=read)
