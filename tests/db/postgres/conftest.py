"""These tests are about PostgreSQL. A second store of `open_store` is another node."""

from __future__ import annotations

import pytest


@pytest.fixture
def engine() -> str:
    return "postgres"
