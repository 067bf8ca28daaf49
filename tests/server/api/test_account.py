"""The account through the local API."""

from __future__ import annotations

from tests.server.api.conftest import Desk, fields, problem


async def test_the_plan_is_told_and_changed(desk: Desk) -> None:
    await desk.endpoint()
    assert (await desk.client.get("/account")).json() == {"plan": "free", "endpoints": {"held": 1, "limit": 10}}
    changed = await desk.client.patch("/account", json={"plan": "pro"})
    assert changed.json() == {"plan": "pro", "endpoints": {"held": 1, "limit": None}}
    assert (await desk.client.get("/status")).json()["plan"] == "pro"


async def test_a_plan_that_allows_fewer_endpoints_is_refused(desk: Desk) -> None:
    await desk.client.patch("/account", json={"plan": "pro"})
    for _ in range(11):
        await desk.endpoint()
    told = problem(await desk.client.patch("/account", json={"plan": "free"}), 409, "plan-limit")
    assert "Delete 1 first." in told["detail"]
    assert (await desk.client.get("/account")).json()["plan"] == "pro"


async def test_what_is_no_plan(desk: Desk) -> None:
    assert fields(await desk.client.patch("/account", json={"plan": "gold"})) == ["plan"]
    assert fields(await desk.client.patch("/account", json={})) == ["plan"]
    assert fields(await desk.client.patch("/account", json={"plan": "pro", "x": 1})) == ["x"]
