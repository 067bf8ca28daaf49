"""PostgreSQL reads a page of a list in its order, and not many more requests than it shows."""

from __future__ import annotations

import pytest
from peewee import Database

from app.core.model import Endpoint, PageKey
from app.db import queries
from app.db.raw_sql import execute
from app.db.store import Store
from tests.db.helpers import Place, write

REQUESTS, PAGE = 5_000, 100
READ = "SELECT sum(seq_tup_read + idx_tup_fetch)::integer FROM pg_stat_xact_user_tables WHERE relname LIKE 'capture%'"


@pytest.mark.parametrize("of_all", [False, True])
async def test_a_page_halfway_reads_few_others(store: Store, place: Place, endpoint: Endpoint, of_all: bool) -> None:
    write(
        place,
        "INSERT INTO capture (seq, id, endpoint_id, received_at, method, target, http_version, headers, content_type,"
        " size, sha256, source_address, source_port, scheme, complete, response_status, delivery, is_read, gist)"
        " SELECT n, to_char(n, '00000'), ?, n, '', '', '', '', '', 0, '', '', 1, '', 1, 200, 'n', 0, ''"
        " FROM generate_series(1, ?) AS n",
        endpoint.id,
        REQUESTS,
    )
    write(place, "ANALYZE")
    halfway = PageKey(received_at=REQUESTS // 2, id=f" {REQUESTS // 2:05}")

    def job(database: Database) -> int:
        with database.atomic():
            assert len(queries.page(database, None if of_all else endpoint.id, halfway, None, PAGE)) == PAGE
            return int(execute(database, READ).fetchone()[0])

    assert await store._readers.run(job) < 2 * PAGE
