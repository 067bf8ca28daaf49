"""Follows a replay to its end, with a line on the terminal that is updated meanwhile; Ctrl-C cancels the replay."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from app.cli.call import Call
from app.cli.client import Answer
from app.cli.errors import CliError
from app.cli.progress_line import ProgressLine
from app.cli.replay_text import progress_text

if TYPE_CHECKING:
    from hookline.records import FullReplay

FIRST_POLL_S, POLL_S = 0.02, 0.25


async def follow(call: Call, replay: Answer[FullReplay]) -> tuple[Answer[FullReplay], bool]:
    """The replay once it has ended, and whether Ctrl-C cancelled it. A second Ctrl-C does not wait for its end."""
    try:
        return await _until_ended(call, replay), False
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
    call.out.message("Cancelling; waiting for what is being sent.")
    with contextlib.suppress(CliError):  # it has just ended
        await call.api.replays.cancel(replay.value.id)
    return await _until_ended(call, replay), True


async def _until_ended(call: Call, replay: Answer[FullReplay]) -> Answer[FullReplay]:
    pause_s = FIRST_POLL_S
    with ProgressLine(call.out) as line:
        while not replay.value.ended:
            line.show(progress_text(replay.value))
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, POLL_S)
            replay = await call.api.answer(call.api.replays.asked.get(replay.value.id))
    return replay
