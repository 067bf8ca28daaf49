"""What SQLite reads for the counts over time."""

from __future__ import annotations

from pathlib import Path

from app.core.model import Endpoint
from app.db.queries import COUNT
from app.db.raw_sql import of_sqlite
from app.db.store import Store
from tests.db.helpers import query

NOW = 1_795_000_000_000_000


async def test_counting_reads_indexes_alone(store: Store, endpoint: Endpoint, tmp_path: Path) -> None:
    statement = f"EXPLAIN QUERY PLAN {of_sqlite(COUNT)}"
    for name, value in (("endpoint_ids", f"'[{endpoint.id}]'"), ("start", NOW), ("end", NOW + 1)):
        statement = statement.replace(f":{name}", str(value))
    plan = [row[3] for row in query(tmp_path, statement)]
    searches = [line for line in plan if "capture" in line and line.startswith("SEARCH")]
    assert len(searches) == 3
    assert all("COVERING INDEX" in line for line in searches), plan
