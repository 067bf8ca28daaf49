"""Deliveries through the local API."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from app.core.events import Bus, DeliveryChanged
from app.core.model import DeliveryState, Endpoint
from app.server.api.parameters import cursor_text
from app.server.forward import Forwarder
from tests import factories
from tests.server.api.conftest import Desk, fields, problem


async def test_deliveries_tell_what_became_of_mirroring(desk: Desk, bus: Bus) -> None:
    store = desk.store
    endpoint = await desk.endpoint(forward_url="http://127.0.0.1:9/")
    capture = factories.capture(b"", endpoint_id=endpoint.id, seq=store.captures.new_seq(), mirror=DeliveryState.QUEUED)
    await store.captures.add(capture, b"", forward_url=endpoint.forward_url)
    queued = (await desk.client.get("/deliveries", params={"request": capture.id})).json()["items"]
    assert [(row["state"], row["status"], row["started_at"]) for row in queued] == [("queued", None, None)]
    told = asyncio.Event()
    bus.subscribe(DeliveryChanged, lambda _: told.set())
    forwarder = Forwarder(store.captures, store.deliveries, store.endpoints, bus, store.account.instance_id)
    await forwarder.start()
    await asyncio.wait_for(told.wait(), 10)
    await forwarder.stop()
    page = (await desk.client.get("/deliveries", params={"request": capture.id})).json()
    row = page["items"][0]
    assert (row["id"], row["request"], row["url"]) == (queued[0]["id"], capture.id, "http://127.0.0.1:9/orders?x=1")
    assert (row["state"], row["error"]) == ("failed", "Nothing is listening at 127.0.0.1:9 (connection refused).")
    assert page["next"] is None
    onward = {"request": capture.id, "cursor": cursor_text(row["id"])}
    assert (await desk.client.get("/deliveries", params=onward)).json()["items"] == []
    onward["cursor"] = cursor_text("another")
    assert fields(await desk.client.get("/deliveries", params=onward), 400, "invalid-parameter") == ["cursor"]
    full = (await desk.client.get(f"/requests/{capture.id}")).json()
    assert full["deliveries"] == page["items"]
    assert full["mirror"] == "failed"


async def queue(desk: Desk, endpoint: Endpoint, outcomes: list[DeliveryState]) -> list[str]:
    """One request for each outcome; their ids, oldest first."""
    store, ids = desk.store, []
    for state in outcomes:
        capture = factories.capture(
            b"", endpoint_id=endpoint.id, seq=store.captures.new_seq(), mirror=DeliveryState.QUEUED
        )
        await store.captures.add(capture, b"", forward_url="http://127.0.0.1:9/")
        (delivery,) = await store.deliveries.of_capture(capture.id)
        if state is not DeliveryState.QUEUED:
            await store.deliveries.finish(msgspec.structs.replace(delivery, state=state, error="no answer"), b"")
        ids.append(capture.id)
    return ids


async def test_the_latest_of_all_endpoints_or_one_in_any_state_or_one(desk: Desk) -> None:
    failed, delivered, queued = DeliveryState.FAILED, DeliveryState.DELIVERED, DeliveryState.QUEUED
    one, two, gone = await desk.endpoint(slug="one"), await desk.endpoint(slug="two"), await desk.endpoint(slug="gone")
    of_one = await queue(desk, one, [failed, delivered, failed, queued])
    of_two = await queue(desk, two, [failed])
    await queue(desk, gone, [failed])
    await desk.client.delete("/endpoints/gone")

    async def found(**query: Any) -> list[str]:
        items = (await desk.client.get("/deliveries", params=query)).json()["items"]
        return [item["request"] for item in items]

    assert await found() == [*of_two, *reversed(of_one)]
    assert await found(endpoint="one") == of_one[::-1]
    assert await found(state="failed") == [of_two[0], of_one[2], of_one[0]]
    assert await found(state="failed", endpoint="one") == [of_one[2], of_one[0]]
    assert await found(state="queued") == [of_one[3]]
    page = (await desk.client.get("/deliveries?limit=1&state=failed&endpoint=one")).json()
    assert (page["items"][0]["request"], page["items"][0]["endpoint"]) == (of_one[2], "one")
    page = (await desk.client.get(f"/deliveries?limit=1&state=failed&endpoint=one&cursor={page['next']}")).json()
    assert ([item["request"] for item in page["items"]], page["next"]) == ([of_one[0]], None)


async def test_what_cannot_be_asked_for(desk: Desk) -> None:
    problem(await desk.client.get("/deliveries?endpoint=none"), 404, "not-found")
    assert fields(await desk.client.get("/deliveries?state=none"), 400, "invalid-parameter") == ["state"]
    one = (await desk.capture(await desk.endpoint(slug="one"))).id
    for other in ("state=failed", "endpoint=one"):
        response = await desk.client.get(f"/deliveries?request={one}&{other}")
        assert fields(response, 400, "invalid-parameter") == [other.partition("=")[0]]
