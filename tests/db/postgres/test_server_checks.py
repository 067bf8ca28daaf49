"""`hookline doctor` on a team's store: what it says, and that it changes nothing."""

from __future__ import annotations

import psycopg
import pytest

from app.core.doctor import ok
from app.core.errors import StoreAddressError
from app.core.model import Endpoint
from app.core.target import TargetDraft
from app.db.postgres import server_checks
from app.db.postgres.store import Store
from tests.db.helpers import Place


def test_a_database_without_tables_gets_none(postgres_url: str) -> None:
    found = server_checks.check_database(postgres_url)
    assert found.state == "ok"
    assert "; the tables are created at the first start" in found.text
    assert server_checks.check_forwarding(postgres_url) == ok("no targets yet")
    assert server_checks.check_index(postgres_url).state == "ok"
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regnamespace('hookline')").fetchone() == (None,)


async def test_a_store_in_use(store: Store, endpoint: Endpoint, place: Place) -> None:
    found = server_checks.check_database(str(place))
    assert found.state == "ok"
    assert found.text.endswith(" MiB, 1 node running; your role is member")
    await store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/"))
    assert server_checks.check_forwarding(str(place)) == ok("1 target, none is paused or failing")


async def test_tables_of_a_newer_version(store: Store, place: Place) -> None:
    with psycopg.connect(str(place)) as connection:
        connection.execute("INSERT INTO hookline.migration VALUES ('9999_newer', 1)")
    with pytest.raises(StoreAddressError, match=r"was upgraded by a newer Hookline \(it holds 9999_newer\)"):
        server_checks.check_database(str(place))


def test_a_server_that_is_not_there() -> None:
    address = "postgresql:///none?host=/nowhere&password=secret"
    found = server_checks.check_database(address)
    assert found.state == "problem"
    assert found.text.startswith("The store at postgresql:///nowhere/none cannot be used: ")
    assert found.text.endswith("Check that the server runs there.")
    for check in (server_checks.check_index, server_checks.check_forwarding):
        assert check(address).advice == "See the check of the database."
