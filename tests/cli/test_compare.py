"""`hookline compare`, in a folder where no program runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.db.sqlite.store import Store
from tests import deliveries
from tests.cli.conftest import Run
from tests.cli.test_delivery import in_store


@pytest.fixture
def ids(folder: Path) -> list[str]:
    """Two requests: to the first the targets respond the same, to the second they do not."""

    async def make(store: Store) -> list[str]:
        endpoint = await deliveries.two_targets(store, slug="orders")
        made = []
        for second in (b'{"id":1}', b'{"id":2}'):
            rows = await deliveries.queued(store, endpoint)
            await deliveries.respond(store, rows[0], body=b'{"id":1}')
            await deliveries.respond(store, rows[1], body=second, ms=14.5)
            made.append(rows[0].capture_id)
        return made

    return in_store(folder, make)


def test_what_differs(run: Run, ids: list[str]) -> None:
    done = run("compare", "orders")
    first, *others = done.out.splitlines()
    assert first.startswith(f"≠  {ids[1]}  ")
    assert first.endswith("  200 in 2.5 ms → 200 in 14 ms (+12 ms)")
    assert others == ["   id: 1 → 2", "Compared 2 requests: 1 different, 1 the same."]
    assert done.code == 1
    (row,) = run("compare", "orders", "--json").json
    assert (row["request"]["id"], row["first_ms"], row["second_ms"], row["ms_difference"]) == (ids[1], 2.5, 14.5, 12.0)


def test_nothing_differs(run: Run, ids: list[str]) -> None:
    done = run("compare", "orders", "--ignore-path", "id")
    assert (done.code, done.out) == (0, "Compared 2 requests: 0 different, 2 the same.\n")
    newest = run("compare", "orders", "--ignore-path", "id", "--ignore-header", "X-A", "--all", "-n", "1")
    assert newest.out.startswith(f"=  {ids[1]}  ")
    assert newest.out.endswith("Compared 1 request: 0 different, 1 the same.\n")


def test_targets_by_number(run: Run, ids: list[str]) -> None:
    numbers = [str(target["id"]) for target in run("targets", "orders", "--json").json]
    assert "   id: 2 → 1\n" in run("compare", "orders", *reversed(numbers)).out
    assert run("compare", "orders", numbers[0]).code == 2
    assert run("compare", "orders", numbers[0], numbers[0]).code == 2
    assert run("compare", "orders", "x", "y").code == 2
    assert run("compare", "orders", "--ignore-path", "a...").code == 2
    assert run("compare", "nothing").code == 1


def test_nothing_to_compare(run: Run, folder: Path) -> None:
    async def make(store: Store) -> None:
        await deliveries.two_targets(store, slug="orders")
        endpoint = await deliveries.two_targets(store, slug="one")
        await store.targets.delete(endpoint.targets[1].id)

    in_store(folder, make)
    done = run("compare", "orders")
    assert (done.code, done.out, done.err) == (0, "", "hookline: No request has been sent to both targets yet.\n")
    assert run("compare", "orders", "--json").json == []
    alone = run("compare", "one")
    assert (alone.code, alone.err) == (3, "hookline: Endpoint 'one' has fewer than two targets. Add a target first.\n")
