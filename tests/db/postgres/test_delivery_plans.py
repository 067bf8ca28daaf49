"""PostgreSQL finds what is queued by the index that is meant for it, though all before it has ended."""

from __future__ import annotations

from peewee import Database

from app.core.delivery import DeliveryFilter
from app.db.deliveries import deliveries, targets
from app.db.raw_sql import execute, json_list
from app.db.store import Store
from tests import factories
from tests.db.helpers import Place, write
from tests.deliveries import URL

ENDED = 5_000
STATEMENTS = {
    "delivery t1": (deliveries._queued_statement(), {"due_at": 0, "without": json_list([]), "limit": 1}),
    "delivery ": (targets._COUNTS, {"now": 0}),
    "delivery delivery_1": (targets._END, {"not_tried": "", "not_retried": "", "target": 1, "limit": 1}),
}
"""By the name that plans have for the deliveries that are looked for."""


async def test_those_that_are_queued_last_are_found_by_their_index(store: Store, place: Place) -> None:
    endpoint = await store.endpoints.create(factories.draft(forward_url=URL))
    write(
        place,
        "INSERT INTO capture (seq, id, endpoint_id, received_at, method, target, http_version, headers, content_type,"
        " size, sha256, source_address, source_port, scheme, complete, response_status, delivery, is_read, gist)"
        " SELECT n, n, ?, n, '', '', '', '', '', 0, '', '', 1, '', 1, 200, 'd', 0, '' FROM generate_series(1, ?) AS n",
        endpoint.id,
        2 * ENDED,
    )
    write(
        place,
        "INSERT INTO delivery (id, capture_seq, endpoint_id, target_id, url, state, queued_at) SELECT id, seq,"
        " endpoint_id, ?, '', CASE WHEN seq > ? THEN 'queued' ELSE 'delivered' END, seq FROM capture",
        endpoint.targets[0].id,
        ENDED,
    )
    write(place, "ANALYZE")

    def plans(database: Database) -> dict[str, str]:
        listed = deliveries._filtered(deliveries._listed(), DeliveryFilter()).limit(100)
        text, values = database.get_sql_context().sql(listed.order_by(deliveries.DeliveryModel.seq.desc())).query()
        rows = {"delivery first": database.execute_sql(f"EXPLAIN {text}", values).fetchall()}
        for name, (text, values) in STATEMENTS.items():
            of_target = {**values, "target_id": endpoint.targets[0].id}
            rows[name] = execute(database, f"EXPLAIN {text}", of_target).fetchall()
        return {name: "\n".join(line for (line,) in lines) for name, lines in rows.items()}

    for name, plan in (await store._readers.run(plans)).items():
        assert f"delivery_pkey on {name} " not in plan, plan
        assert "delivery_queued on delivery" in plan, plan
