"""The refused list through the local API."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.model import Refusal
from tests.server.api.conftest import Desk


def refusal(at: int, target: str = "/x") -> Refusal:
    return Refusal(at=at, source_address="::1", source_port=5, status=404, reason="r", method="GET", target=target)


async def test_what_is_told(desk: Desk) -> None:
    desk.refused.add(refusal(1_700_000_000_000_000))
    page = (await desk.client.get("/refused")).json()
    assert page == {
        "items": [
            {
                "at": "2023-11-14T22:13:20.000000Z",
                "source": {"address": "::1", "port": 5},
                "status": 404,
                "reason": "r",
                "method": "GET",
                "target": "/x",
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
