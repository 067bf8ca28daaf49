"""The clock of the charts."""

from __future__ import annotations

import pytest

from app.core.clock import now_us
from app.ui.requests import activity_source as source

MINUTE_US = 60_000_000


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chart's clock stands a little ahead, so that no bar ends in the middle of a test."""
    now = now_us() + 2 * MINUTE_US
    monkeypatch.setattr(source, "now_us", lambda: now)
