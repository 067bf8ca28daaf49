"""These tests are about PostgreSQL. A second store of `open_store` is another node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.db.postgres.cut_line import CutLine
from tests.postgres import PostgresServer


@pytest.fixture
def engine() -> str:
    return "postgres"


@pytest.fixture
def line(postgres_server: PostgresServer) -> Iterator[CutLine]:
    line = CutLine(postgres_server)
    yield line
    line.close()
