"""The refused list through the local API."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.model import Refusal
from tests.server.api.conftest import Desk, problem

RAW = b"GET /x\0\xff<script>"


def refusal(at: int, target: str = "/x") -> Refusal:
    return Refusal(at=at, source_address="::1", source_port=5, status=404, reason="r", method="GET", target=target)


async def test_what_is_told(desk: Desk) -> None:
    desk.refused.add(refusal(1_700_000_000_000_000))
    page = (await desk.client.get("/refused")).json()
    assert page == {
        "items": [
            {
                "id": 1,
                "at": "2023-11-14T22:13:20.000000Z",
                "source": {"address": "::1", "port": 5},
                "status": 404,
                "reason": "r",
                "method": "GET",
                "target": "/x",
                "endpoint": None,
                "raw_size": 0,
            }
        ],
        "next": None,
    }
    assert (await desk.client.get("/status")).json()["counts"]["refused"] == 1


@pytest.mark.parametrize("limit", [1, 2, 3, 9, 10])
async def test_pages_meet_without_gap_while_more_are_refused(desk: Desk, limit: int) -> None:
    for number in range(9):
        desk.refused.add(refusal(100 + number // 4, f"/{number}"))
    seen: list[str] = []
    query: dict[str, Any] = {"limit": limit}
    while True:
        page = (await desk.client.get("/refused", params=query)).json()
        assert len(page["items"]) <= limit
        seen += [item["target"] for item in page["items"]]
        desk.refused.add(refusal(1_000, "/later"))
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert seen == [f"/{number}" for number in range(8, -1, -1)]


async def test_what_came_of_a_refused_request_can_be_had(desk: Desk) -> None:
    desk.refused.add(refusal(1), RAW)
    desk.refused.add(refusal(2))
    items = (await desk.client.get("/refused")).json()["items"]
    assert [(item["id"], item["raw_size"]) for item in items] == [(2, 0), (1, len(RAW))]
    answer = await desk.client.get("/refused/1/raw")
    assert (answer.status_code, answer.content) == (200, RAW)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="refused-1.bin"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    for wrong in ("2", "3", "0", "-1", "x", "9" * 40, "\u0661"):
        problem(await desk.client.get(f"/refused/{wrong}/raw"), 404, "not-found")
    desk.refused.clear()
    problem(await desk.client.get("/refused/1/raw"), 404, "not-found")
