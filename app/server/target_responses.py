"""The targets' responses that senders wait for: the capture port expects one, the forwarder announces it."""

from __future__ import annotations

import asyncio

from app.core.delivery import Attempt, FailureKind


class TargetResponses:
    """Passes the result of a delivery's first attempt on to who waits for it. Everything runs on the loop's thread."""

    def __init__(self) -> None:
        self._expected: dict[tuple[str, int], asyncio.Future[tuple[Attempt, bytes]]] = {}

    def expect(self, capture_id: str, target_id: int) -> asyncio.Future[tuple[Attempt, bytes]]:
        """The attempt and the body of its response, once it was made; cancelled when there will be none that can be
        passed on. Cancel it to stop waiting."""
        key = (capture_id, target_id)
        future: asyncio.Future[tuple[Attempt, bytes]] = asyncio.get_running_loop().create_future()
        self._expected[key] = future
        future.add_done_callback(lambda _: self._expected.pop(key, None))
        return future

    def announce(self, capture_id: str, target_id: int, attempt: Attempt, body: bytes) -> bool:
        """Whether the sender gets this response: it is waiting, and the whole response was kept."""
        future = self._expected.get((capture_id, target_id))
        if future is None or future.done():
            return False
        complete = attempt.failure in (None, FailureKind.STATUS) and not attempt.response_truncated
        if complete:
            future.set_result((attempt, body))
        else:
            future.cancel()
        return complete

    def give_up(self, target_id: int) -> None:
        """No attempt will be made for now: cancel all that is expected from this target."""
        for (_, of_target), future in tuple(self._expected.items()):
            if of_target == target_id:
                future.cancel()
