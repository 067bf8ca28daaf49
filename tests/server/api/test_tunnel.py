"""The calls about the tunnel."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.server.api.conftest import Desk, fields, problem
from tests.stand_in_tunnel import URL

OFF = {
    "state": "off",
    "program": None,
    "url": None,
    "started_at": None,
    "up_since": None,
    "restart_at": None,
    "restarts": 0,
    "problem": None,
    "probe": None,
    "outdated": [],
    "output": [],
}


async def until_up(desk: Desk) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            tunnel: dict[str, Any] = (await desk.client.get("/tunnel")).json()
            if tunnel["state"] != "starting":
                return tunnel
            await asyncio.sleep(0.02)


async def test_a_tunnel_from_start_to_stop(desk: Desk) -> None:
    assert (await desk.client.get("/tunnel")).json() == OFF
    started = await desk.client.post("/tunnel/start", json={"program": "stand-in"})
    assert started.status_code == 202
    assert started.json()["state"] == "starting"
    tunnel = await until_up(desk)
    assert (tunnel["state"], tunnel["url"], tunnel["program"]) == ("checking", URL, "stand-in")
    assert (tunnel["up_since"], tunnel["probe"]) == (None, None)
    stopped = await desk.client.post("/tunnel/stop")
    assert (stopped.status_code, stopped.json()["state"]) == (200, "off")
    history = (await desk.client.get("/tunnel/history")).json()
    assert [(one["url"], one["program"]) for one in history["items"]] == [(URL, "stand-in")]
    assert history["next"] is None


async def test_errors_say_what_is_wrong(desk: Desk) -> None:
    assert fields(await desk.client.post("/tunnel/start", json={})) == ["program"]
    told = problem(await desk.client.post("/tunnel/start", json={"program": "nothing"}), 404, "not-found")
    assert "stand-in" in told["detail"]
    problem(await desk.client.post("/tunnel/probe"), 409, "tunnel-down")
    problem(await desk.client.post("/tunnel/updated", json={"endpoint": "nobody"}), 404, "not-found")
    problem(await desk.client.put("/tunnel/programs/nothing/options", json={}), 404, "not-found")
    path = "/tunnel/programs/stand-in/options"
    assert fields(await desk.client.put(path, json={"name": "ABC", "other": "x"})) == ["name", "other"]
    assert fields(await desk.client.put(path, json={"name": 5})) == ["name"]
    problem(await desk.client.put(path, json=[]), 422, "invalid-fields")
    desk.addresses.listening = None
    told = problem(await desk.client.post("/tunnel/start", json={"program": "stand-in"}), 409, "not-running")
    assert "hookline serve" in told["detail"]


async def test_a_secret_can_be_written_and_not_read(desk: Desk) -> None:
    path = "/tunnel/programs/stand-in/options"
    written = await desk.client.put(path, json={"name": "abc", "key": "s3cret-key"})
    listed = await desk.client.get("/tunnel/programs")
    for response in (written, listed, await desk.client.get("/tunnel"), await desk.client.get("/settings")):
        assert response.status_code == 200
        assert "s3cret" not in response.text
    (program,) = listed.json()["items"]
    assert program == written.json()
    assert program["path"]
    assert {one["name"]: (one["value"], one["is_set"]) for one in program["options"]} == {
        "name": ("abc", True),
        "key": (None, True),
    }


async def test_the_history_is_read_page_by_page(desk: Desk) -> None:
    for number in range(5):
        await desk.store.tunnels.opened(f"https://{number}.example.com", "stand-in", number)
    seen, cursor = [], ""
    while True:
        page = (
            await desk.client.get("/tunnel/history", params={"limit": "2"} | ({"cursor": cursor} if cursor else {}))
        ).json()
        seen += [one["url"] for one in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [f"https://{number}.example.com" for number in (4, 3, 2, 1, 0)]


@pytest.mark.parametrize("method", ["get", "post"])
async def test_an_outdated_url_is_named_with_its_endpoint(desk: Desk, method: str) -> None:
    endpoint = await desk.endpoint(slug="orders")
    await desk.store.tunnels.copied(endpoint.id, "https://old.example.com", 5)
    await desk.store.tunnels.opened(URL, "stand-in", 6)
    await desk.tunnels.load()
    (outdated,) = (await desk.client.get("/tunnel")).json()["outdated"]
    assert outdated == {
        "endpoint": "orders",
        "url": "https://old.example.com/catch/orders",
        "new_url": None,
        "copied_at": "1970-01-01T00:00:00.000005Z",
    }
    if method == "post":
        assert (await desk.client.post("/tunnel/updated", json={"endpoint": "orders"})).json()["outdated"] == []
