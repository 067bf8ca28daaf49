"""An index that tests can fill."""

from __future__ import annotations

import pytest

from tests.db.search.index import make_small


@pytest.fixture
def small_index(monkeypatch: pytest.MonkeyPatch) -> None:
    make_small(monkeypatch)
