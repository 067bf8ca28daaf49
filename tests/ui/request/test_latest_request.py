"""Only the request selected last is loaded; one that was deleted meanwhile is no error."""

from __future__ import annotations

import pytest

from app.core.errors import NotFoundError, StorageUnavailableError
from app.ui.latest_only import Latest
from app.ui.messages import Messages
from app.ui.tasks import Tasks
from tests.ui.waiting import until


@pytest.mark.parametrize(
    ("error", "told"),
    [(NotFoundError("This request is no longer stored."), 0), (StorageUnavailableError("The disk is gone."), 1)],
)
async def test_what_was_deleted_while_it_was_read_is_no_error(qapp: object, error: Exception, told: int) -> None:
    messages, seen = Messages(), []
    latest = Latest(Tasks(messages), "read")

    async def fails() -> None:
        raise error

    async def works() -> None:
        seen.append("read")

    latest.run(fails)
    await until(lambda: not latest._running)
    latest.run(works)
    await until(lambda: seen == ["read"])
    assert len(messages.waiting()) == told
