"""`/endpoints/{slug}/compare`: what two targets responded to the same requests."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.model import Endpoint
from app.core.target import TargetDraft
from tests import deliveries
from tests.server.api.conftest import Desk, fields, problem

PATH = "/endpoints/orders/compare"


async def answered(desk: Desk, endpoint: Endpoint, first: bytes, second: bytes, status: int = 200) -> str:
    """A request that both targets responded to, the second one with `status`; its ID."""
    rows = await deliveries.queued(desk.store, endpoint)
    await deliveries.respond(desk.store, rows[0], body=first)
    await deliveries.respond(desk.store, rows[1], status, second, ms=1.5)
    return rows[0].capture_id


async def compared(desk: Desk, **query: Any) -> dict[str, Any]:
    response = await desk.client.get(PATH, params=query)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_each_request_with_what_differs(desk: Desk) -> None:
    endpoint = await deliveries.two_targets(desk.store, slug="orders")
    same = await answered(desk, endpoint, b'{"id":1}', b'{"id": 1}')
    different = await answered(desk, endpoint, b'{"id":1}', b'{"id":2}', status=500)
    rows = await deliveries.queued(desk.store, endpoint)
    for row in rows:
        await deliveries.fail(desk.store, row)
    found = await compared(desk)
    first, second = endpoint.targets
    assert (found["targets"], found["compared"]) == ({"first": first.id, "second": second.id}, 3)
    assert found["next"] is None
    listed = [(one["request"]["id"], one["same"], one["first_status"], one["second_status"]) for one in found["items"]]
    assert listed == [
        (rows[0].capture_id, None, None, None),
        (different, False, 200, 500),
        (same, True, 200, 200),
    ]
    item = found["items"][1]
    assert item["differences"] == [
        {"part": "status", "where": "", "text": "Status: 200 → 500", "first": "200", "second": "500"},
        {"part": "body", "where": "id", "text": "id: 1 → 2", "first": "1", "second": "2"},
    ]
    assert (item["more"], item["notes"], item["request"]["endpoint"]) == (False, [], "orders")
    assert (item["first_ms"], item["second_ms"], item["ms_difference"]) == (2.5, 1.5, -1.0)
    assert found["items"][0]["ms_difference"] is None
    assert item["first_delivery"] == (await desk.store.deliveries.of_capture(different))[0].id


async def test_only_different_ones_page_by_page(desk: Desk) -> None:
    endpoint = await deliveries.two_targets(desk.store, slug="orders")
    ids = [await answered(desk, endpoint, b"1", b"1" if number % 2 else b"2") for number in range(5)]
    some: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        found = await compared(desk, only="different", limit="2", **cursor)
        some += [one["request"]["id"] for one in found["items"]]
        if found["next"] is None:
            break
        assert found["compared"] == 2
        cursor = {"cursor": found["next"]}
    assert some == [ids[4], ids[2], ids[0]]


async def test_ignored_headers_and_json_values(desk: Desk) -> None:
    endpoint = await deliveries.two_targets(desk.store, slug="orders")
    rows = await deliveries.queued(desk.store, endpoint)
    for row, version in zip(rows, ("1", "2"), strict=True):
        body = f'{{"id":{version},"at":{version}}}'.encode()
        headers = (("X-Version", version), ("Date", version), ("X-Build", version))
        await deliveries.respond(desk.store, row, body=body, headers=headers)

    async def where(**query: Any) -> list[str]:
        return [each["where"] for each in (await compared(desk, **query))["items"][0]["differences"]]

    assert await where() == ["X-Version", "X-Build", "id", "at"]
    assert await where(all_headers="true") == ["X-Version", "Date", "X-Build", "id", "at"]
    assert await where(ignore_header=["x-version", "X-Build"], ignore_path=["id", "$..at"]) == []
    assert fields(await desk.client.get(PATH, params={"ignore_path": "a..."}), 400, "invalid-parameter") == [
        "ignore_path"
    ]
    assert fields(await desk.client.get(PATH, params={"ignore_header": "a b"}), 400, "invalid-parameter") == [
        "ignore_header"
    ]


async def test_which_targets(desk: Desk) -> None:
    endpoint = await deliveries.two_targets(desk.store, slug="orders")
    third = await desk.store.targets.create(endpoint.id, TargetDraft(url="http://127.0.0.1:9/third"))
    first, second = (target.id for target in endpoint.targets)
    for query, chosen in (
        ({}, (first, second)),
        ({"first": third.id}, (third.id, first)),
        ({"second": first}, (second, first)),
        ({"first": second, "second": third.id}, (second, third.id)),
    ):
        assert (await compared(desk, **query))["targets"] == {"first": chosen[0], "second": chosen[1]}


@pytest.mark.parametrize(
    ("query", "named"),
    [({"first": "-1"}, "first"), ({"second": "x"}, "second"), ({"only": "same"}, "only"), ({"cursor": "?"}, "cursor")],
)
async def test_wrong_parameters_are_named(desk: Desk, query: dict[str, str], named: str) -> None:
    await deliveries.two_targets(desk.store, slug="orders")
    assert fields(await desk.client.get(PATH, params=query), 400, "invalid-parameter") == [named]


async def test_a_target_with_itself_or_alone(desk: Desk) -> None:
    endpoint = await deliveries.two_targets(desk.store, slug="orders")
    same = str(endpoint.targets[0].id)
    wrong = await desk.client.get(PATH, params={"first": same, "second": same})
    problem(wrong, 409, "cannot-compare")
    problem(await desk.client.get(PATH, params={"first": "99"}), 404, "not-found")
    await desk.store.targets.delete(endpoint.targets[1].id)
    problem(await desk.client.get(PATH), 409, "cannot-compare")
    problem(await desk.client.get("/endpoints/nothing/compare"), 404, "not-found")
