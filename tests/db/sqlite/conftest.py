"""These tests are about SQLite, or look into its file."""

from __future__ import annotations

import pytest


@pytest.fixture
def engine() -> str:
    return "sqlite"
