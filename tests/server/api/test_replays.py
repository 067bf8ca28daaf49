"""Replays through the local API, to targets on real sockets."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import httpx
from msgspec.structs import replace

from app.core.model import Capture, Endpoint
from app.core.replay import MatchingRequests, ReplaySpec, ReplayState
from app.server.capture import CaptureServer, Handler
from app.server.target_responses import TargetResponses
from tests.server.api.conftest import Desk, fields, problem
from tests.server.forward.targets import Received, answering, silent, target

NOTHING_ASKED = {
    "problem": None,
    "id_count": None,
    "q": "",
    "after": None,
    "before": None,
    "url": None,
    "to_endpoint": None,
    "gaps": "none",
    "scale": None,
    "longest_gap_ms": None,
    "rate": None,
    "concurrency": 1,
    "times": 1,
    "faults": {"duplicate": 0.0, "swap": 0.0, "drop": 0.0, "delay": 0.0, "delay_max_ms": 1000, "cut_off": 0.0},
    "seed": 0,
    "edited": False,
    "ids": None,
    "edit": None,
}


async def orders(desk: Desk, count: int = 1, **draft: Any) -> tuple[Endpoint, list[Capture]]:
    """An endpoint with requests to `/0`, `/1` and so on."""
    endpoint = await desk.endpoint(slug="orders", **draft)
    return endpoint, [await desk.capture(endpoint, b"%d" % n, target=f"/catch/orders/{n}?a={n}") for n in range(count)]


async def ended(desk: Desk, started: httpx.Response) -> dict[str, Any]:
    """The replay that a call began, once it has ended."""
    assert started.status_code == 202, started.text
    made = started.json()
    assert started.headers["location"] == f"/api/v1/replays/{made['id']}"
    await desk.replays.wait(made["id"])
    replay: dict[str, Any] = (await desk.client.get(f"/replays/{made['id']}")).json()
    return replay


def lines(received: list[Received]) -> list[str]:
    return [one.line.removesuffix(" HTTP/1.1") for one in received]


async def test_a_request_is_sent_again_and_the_call_waits_for_the_result(desk: Desk) -> None:
    async with target(answering(b"HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nbad")) as first, target() as second:
        endpoint, (made,) = await orders(desk, forward_url=first.url)
        await desk.store.targets.create(endpoint.id, replace(endpoint.targets[0].draft(), url=f"{second.url}/in"))
        response = await desk.client.post(f"/requests/{made.id}/replay")
    assert response.status_code == 200
    delivery = response.json()
    assert lines(first.received) == ["POST /0?a=0"]
    assert lines(second.received) == ["POST /in/0?a=0"]
    assert second.received[0].body == b"0"
    assert (delivery["request"], delivery["endpoint"], delivery["state"]) == (made.id, "orders", "failed")
    assert [one["url"] for one in delivery["deliveries"]] == [f"{first.url}/0?a=0", f"{second.url}/in/0?a=0"]
    assert [one["state"] for one in delivery["deliveries"]] == ["failed", "delivered"]
    assert {name: value for name, value in delivery.items() if name != "deliveries"} == delivery["deliveries"][0]
    (attempt,) = delivery["attempts"]
    assert (attempt["trigger"], attempt["status"], attempt["failure"]) == ("replay", 500, "status")
    (replay,) = (await desk.client.get("/replays")).json()["items"]
    assert (replay["id"], replay["state"], replay["id_count"]) == (delivery["replay"], "done", 1)
    progress = replay["progress"]
    assert (progress["sent"], progress["delivered"], progress["failed"]) == (1, 1, 1)
    counts = [(one["url"], one["delivered"], one["failed"], one["not_sent"]) for one in progress["targets"]]
    assert counts == [(first.url, 0, 1, 0), (f"{second.url}/in", 1, 0, 0)]
    assert progress["targets"][1]["median_ms"] > 0


async def test_a_request_is_sent_as_edited_to_a_url(desk: Desk) -> None:
    async with target() as place:
        _, (made,) = await orders(desk)
        edit = {"method": "PUT", "headers": [["A", "1"], ["a", "2"]], "body": "ümlaut", "url": f"{place.url}/x"}
        delivery = (await desk.client.post(f"/requests/{made.id}/replay", json=edit)).json()
        data = {"body_base64": base64.b64encode(b"\x00\xff").decode(), "url": place.url}
        await desk.client.post(f"/requests/{made.id}/replay", json=data)
    edited, binary = place.received
    assert (lines([edited]), edited.body) == (["PUT /x/0?a=0"], "ümlaut".encode())
    assert edited.headers[1:3] == [("A", "1"), ("a", "2")]
    assert binary.body == b"\x00\xff"
    assert (delivery["target"], delivery["attempts"][0]["method"]) == (None, "PUT")
    full = (await desk.client.get(f"/replays/{delivery['replay']}")).json()
    assert full["ids"] == [made.id]
    assert full["edit"] == {
        "url": None,
        "method": "PUT",
        "headers": edit["headers"],
        "body_base64": base64.b64encode("ümlaut".encode()).decode(),
    }


async def test_a_request_is_sent_to_another_endpoint_while_hookline_captures(desk: Desk) -> None:
    _, (made,) = await orders(desk)
    other = await desk.endpoint(slug="other")
    server = CaptureServer(
        Handler(desk.store, desk.refused, desk.settings, desk.addresses, target_responses=TargetResponses())
    )
    await server.start("127.0.0.1", 0)
    desk.addresses.listening = server.address
    call = f"/requests/{made.id}/replay", {"to_endpoint": "other"}
    assert (await desk.client.post(call[0], json=call[1])).json()["state"] == "delivered"
    await server.stop()
    assert [row.target for row in await desk.store.captures.page(other.id)] == ["/catch/other/0?a=0"]
    desk.addresses.listening = None
    told = problem(await desk.client.post(call[0], json=call[1]), 409, "cannot-replay")
    assert "not running" in told["detail"]


async def test_who_waits_is_told_when_hookline_closes(desk: Desk) -> None:
    async with target(silent) as place:
        _, (made,) = await orders(desk, forward_url=place.url)
        waiting = asyncio.create_task(desk.client.post(f"/requests/{made.id}/replay"))
        await place.arrival()
        await desk.replays.stop()
        assert "closing" in problem(await waiting, 409, "cannot-replay")["detail"]


async def test_a_wrong_replay_of_a_request_names_its_field(desk: Desk) -> None:
    _, (made,) = await orders(desk)
    for wrong, named in (
        ({"resign": True}, ["resign"]),
        ({"url": "ftp://x"}, ["url"]),
        ({"url": "http://127.0.0.1:8787/catch/orders"}, ["url"]),
        ({"url": "http://localhost:9", "to_endpoint": "orders"}, ["to_endpoint"]),
        ({"method": "A B", "url": "http://localhost:9"}, ["method"]),
        ({"headers": [["a b", "1"]], "url": "http://localhost:9"}, ["headers"]),
        ({"headers": {"a": "b"}}, ["headers"]),
        ({"body": "x", "body_base64": "eA=="}, ["body_base64"]),
        ({"body_base64": "?"}, ["body_base64"]),
        ({}, ["url"]),
    ):
        assert fields(await desk.client.post(f"/requests/{made.id}/replay", json=wrong)) == named, wrong
        assert (await desk.client.get("/replays")).json() == {"items": [], "next": None}, wrong


async def test_what_does_not_exist_cannot_be_replayed(desk: Desk) -> None:
    problem(await desk.client.post("/requests/none/replay"), 404, "not-found")
    problem(await desk.client.post("/endpoints/none/replay"), 404, "not-found")
    problem(await desk.client.get("/replays/none"), 404, "not-found")
    for verb in ("pause", "resume", "cancel"):
        problem(await desk.client.post(f"/replays/none/{verb}"), 404, "not-found")


async def test_the_requests_of_an_endpoint_are_sent_in_order(desk: Desk) -> None:
    async with target() as place:
        endpoint, made = await orders(desk, 12, forward_url=place.url)
        await desk.capture(await desk.endpoint(slug="other"), target="/catch/other")
        replay = await ended(desk, await desk.client.post("/endpoints/orders/replay"))
        assert lines(place.received) == [f"POST /{n}?a={n}" for n in range(12)]
        place.received.clear()
        times = [(await desk.client.get(f"/requests/{one.id}")).json()["received_at"] for one in made]
        some = {"after": times[1], "before": times[11], "q": "path:/1"}
        few = await ended(desk, await desk.client.post("/endpoints/orders/replay", json=some))
    assert lines(place.received) == ["POST /1?a=1", "POST /10?a=10"]
    progress = {"total": 12, "sent": 12, "delivered": 12, "failed": 0, "dropped": 0, "duplicated": 0}
    assert {name: replay["progress"][name] for name in progress} == progress
    assert {name: replay[name] for name in NOTHING_ASKED} == NOTHING_ASKED
    assert (replay["endpoint"], replay["state"]) == (endpoint.slug, "done")
    assert "12" in replay["summary"]
    assert replay["created_at"] <= replay["started_at"] <= replay["ended_at"]
    assert {name: few[name] for name in some} == some


async def test_all_there_is_to_say_about_a_replay_is_kept(desk: Desk) -> None:
    async with target() as place:
        _, made = await orders(desk, 3)
        asked = {
            "ids": [made[2].id, made[0].id],
            "url": place.url,
            "gaps": "original",
            "scale": 0.5,
            "longest_gap_ms": 10,
            "concurrency": 2,
            "times": 3,
            "faults": {"duplicate": 1.0, "swap": 0.0, "drop": 0.0, "delay": 0.5, "delay_max_ms": 2, "cut_off": 0.0},
            "seed": 7,
        }
        replay = await ended(desk, await desk.client.post("/replays", json=asked))
        rated = await ended(desk, await desk.client.post("/replays", json={"url": place.url, "rate": 1000}))
    assert {name: replay[name] for name in asked} == asked
    assert (replay["progress"]["sent"], replay["progress"]["duplicated"]) == (12, 6)
    assert (rated["rate"], rated["gaps"], rated["endpoint"], rated["progress"]["sent"]) == (1000, "none", None, 3)


async def test_one_request_is_edited_with_a_url_of_its_own(desk: Desk) -> None:
    async with target() as place:
        _, (made,) = await orders(desk, forward_url="http://127.0.0.1:9")
        edit = {"url": f"{place.url}/exactly", "method": "DELETE"}
        await ended(desk, await desk.client.post("/replays", json={"ids": [made.id], "edit": edit}))
    assert lines(place.received) == ["DELETE /exactly"]


async def test_an_endpoint_that_does_not_exist_is_not_found_wherever_it_is_named(desk: Desk) -> None:
    _, (made,) = await orders(desk)
    for path, body in (
        ("/replays", {"endpoint": "nowhere", **TO}),
        ("/replays", {"ids": [made.id], "to_endpoint": "nowhere"}),
        (f"/requests/{made.id}/replay", {"to_endpoint": "nowhere"}),
        ("/tunnel/updated", {"endpoint": "nowhere"}),
    ):
        assert "'nowhere'" in problem(await desk.client.post(path, json=body), 404, "not-found")["detail"]


TO = {"url": "http://localhost:9"}
ID = "019a0000-0000-7000-8000-000000000000"


async def test_a_wrong_replay_names_its_fields(desk: Desk) -> None:
    await orders(desk)
    for wrong, named in (
        ({"endpoint": "orders"}, ["url"]),
        ({"ids": [], **TO}, ["ids"]),
        ({"ids": ["x"], **TO}, ["ids[0]"]),
        ({"ids": [ID], "q": "a", "endpoint": "orders", **TO}, ["endpoint", "q"]),
        ({"after": "2026-11-02T00:00:00Z", "before": "2026-11-01T00:00:00Z", **TO}, ["before"]),
        ({"after": "2026-11-02T00:00:00", **TO}, ["after"]),
        ({"after": 7, **TO}, ["after"]),
        ({"after": "0001-01-01T00:00:00+12:00", "before": "9999-12-31T23:59:59-12:00", **TO}, ["after", "before"]),
        ({"rate": 0, **TO}, ["rate"]),
        ({"rate": 5e-324, **TO}, ["rate"]),
        ({"edit": {}, **TO}, ["edit"]),
        ({"rate": 5, "gaps": "original", **TO}, ["rate"]),
        ({"scale": 2, "longest_gap_ms": 5, **TO}, ["scale", "longest_gap_ms"]),
        ({"gaps": "original", "scale": -1, "longest_gap_ms": -1, **TO}, ["scale", "longest_gap_ms"]),
        ({"gaps": "some", **TO}, ["gaps"]),
        ({"concurrency": 0, "times": 0, "seed": -1, **TO}, ["concurrency", "times", "seed"]),
        ({"faults": {"drop": 2, "delay_max_ms": -1}, **TO}, ["faults.drop", "faults.delay_max_ms"]),
        ({"faults": {"lose": 1}, **TO}, ["faults.lose"]),
        ({"edit": {"method": "PUT"}, **TO}, ["edit"]),
        ({"ids": [ID], "edit": {"method": "A B", "url": "x"}, **TO}, ["edit.method", "edit.url"]),
        ({"ids": [ID], "edit": {"body": "", "body_base64": ""}, **TO}, ["edit.body_base64"]),
    ):
        assert fields(await desk.client.post("/replays", json=wrong)) == named, wrong


async def test_a_wrong_search_says_where(desk: Desk) -> None:
    await orders(desk)
    for path in ("/replays", "/endpoints/orders/replay"):
        told = problem(await desk.client.post(path, json={"q": "a size:x", **TO}), 400, "invalid-query")
        assert (told["errors"][0]["field"], told["span"]) == ("q", [7, 8])


async def test_a_replay_pauses_goes_on_and_is_cancelled(desk: Desk) -> None:
    async with target() as place:
        await orders(desk, 500, forward_url=place.url)
        made = (await desk.client.post("/endpoints/orders/replay", json={"rate": 50})).json()
        call = f"/replays/{made['id']}"
        second = (await desk.client.post("/endpoints/orders/replay")).json()
        await place.arrival(2)
        problem(await desk.client.post(f"/replays/{second['id']}/pause"), 409, "replay-state")
        assert (await desk.client.post(f"{call}/pause")).json()["state"] == "paused"
        assert (await desk.client.get(call)).json()["state"] == "paused"
        assert (await desk.client.post(f"{call}/resume")).json()["state"] == "running"
        assert (await desk.client.post(f"/replays/{second['id']}/cancel")).json()["state"] == "cancelled"
        assert (await desk.client.post(f"{call}/cancel")).status_code == 200
        await desk.replays.wait(made["id"])
    done = (await desk.client.get(call)).json()
    assert (done["state"], done["progress"]["sent"]) == ("cancelled", len(place.received))
    for verb in ("pause", "resume", "cancel"):
        told = problem(await desk.client.post(f"{call}/{verb}"), 409, "replay-state")
        assert "this one is cancelled" in told["detail"]


async def test_replays_are_listed_page_by_page(desk: Desk) -> None:
    ids = []
    for number in range(5):
        spec = ReplaySpec(source=MatchingRequests(query=f"word{number}"))
        ids.append((await desk.replays.start(spec)).id)
    await asyncio.gather(*map(desk.replays.wait, ids))
    found, cursor = [], ""
    while True:
        page = (await desk.client.get(f"/replays?limit=2{cursor}")).json()
        found += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert [one["id"] for one in found] == ids[::-1]
    assert {one["state"] for one in found} == {ReplayState.DONE}
    assert fields(await desk.client.get("/replays?cursor=x"), 400, "invalid-parameter") == ["cursor"]
