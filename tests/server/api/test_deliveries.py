"""Deliveries through the local API."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from app.core.clock import now_us, rfc3339
from app.core.delivery import Delivery, Timing
from app.core.events import Bus, DeliveriesQueued
from app.core.ids import uuid7
from app.core.model import DeliveryState, Endpoint
from app.core.replay import ChosenRequests, Replay, ReplaySpec, ReplayState
from app.core.target import TargetDraft
from tests import deliveries, factories
from tests.server.api.conftest import Desk, fields, problem
from tests.support import until


async def test_deliveries_of_a_request_tell_what_became_of_it(desk: Desk) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    (waiting,) = await deliveries.queued(desk.store, endpoint)
    query = {"request": waiting.capture_id}
    queued = (await desk.client.get("/deliveries", params=query)).json()["items"]
    assert queued == [
        {
            "id": waiting.id,
            "request": waiting.capture_id,
            "endpoint": endpoint.slug,
            "method": "POST",
            "url": "http://127.0.0.1:9/in/orders?x=1",
            "state": "queued",
            "queued_at": rfc3339(waiting.queued_at),
            "started_at": None,
            "ms": None,
            "status": None,
            "response_headers": [],
            "response_size": 0,
            "response_truncated": False,
            "error": None,
            "next_step": None,
            "target": endpoint.targets[0].id,
            "replay": None,
            "attempt_count": 0,
            "due_at": None,
            "responded": False,
            "waits_for": {"reason": "next", "request": None, "text": "now"},
        }
    ]
    await deliveries.fail(desk.store, waiting, attempts=2)
    page = (await desk.client.get("/deliveries", params=query)).json()
    row = page["items"][0]
    assert (row["state"], row["error"], row["attempt_count"]) == ("failed", deliveries.REFUSED, 2)
    assert row["next_step"] == "Gave up after 2 attempts."
    assert page["next"] is None
    full = (await desk.client.get(f"/requests/{waiting.capture_id}")).json()
    assert full["deliveries"] == page["items"]
    assert full["delivery"] == "failed"


async def test_the_url_before_the_first_attempt_is_as_the_target_is_now(desk: Desk) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    (waiting,) = await deliveries.queued(desk.store, endpoint)
    draft = TargetDraft(url="http://127.0.0.1:9/mended", append_path=False, keep_query=False)
    await desk.store.targets.update(endpoint.targets[0].id, draft)
    assert (await desk.client.get(f"/deliveries/{waiting.id}")).json()["url"] == draft.url
    (listed,) = (await desk.client.get("/deliveries")).json()["items"]
    assert listed["url"] == draft.url


async def test_the_response_is_that_of_the_last_attempt(desk: Desk) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    (waiting,) = await deliveries.queued(desk.store, endpoint)
    failed = deliveries.attempt(waiting, 1, status=500, response_headers=(("A", "1"),), response_size=3)
    first = factories.after(waiting, failed, DeliveryState.QUEUED, due_at=waiting.queued_at + 60_000_000)
    await desk.store.deliveries.finish(first, [(failed, b"bad")])
    row = (await desk.client.get("/deliveries")).json()["items"][0]
    assert (row["status"], row["response_headers"], row["response_size"]) == (500, [["A", "1"]], 3)
    assert (row["state"], row["due_at"]) == ("queued", rfc3339(first.due_at))
    good = deliveries.attempt(
        waiting, 2, status=200, failure=None, error=None, response_size=4, response_truncated=True
    )
    done = replace(factories.after(first, good, DeliveryState.DELIVERED), responded=True)
    await desk.store.deliveries.finish(done, [(good, b"good")])
    row = (await desk.client.get("/deliveries")).json()["items"][0]
    assert (row["status"], row["response_headers"], row["response_size"]) == (200, [], 4)
    assert (row["response_truncated"], row["responded"], row["due_at"]) == (True, True, None)


async def test_a_delivery_in_full_has_its_attempts(desk: Desk) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    (waiting,) = await deliveries.queued(desk.store, endpoint)
    bad = deliveries.attempt(waiting, 1)
    good = deliveries.attempt(
        waiting,
        2,
        status=200,
        failure=None,
        error=None,
        http_version="1.1",
        response_headers=(("X-A", "\xff"),),
        response_size=2,
        timing=Timing(lookup=0.5, connect=1.5, first_byte=9.0),
    )
    await desk.store.deliveries.finish(
        factories.after(waiting, good, DeliveryState.DELIVERED), [(bad, b""), (good, b"ok")]
    )
    full = (await desk.client.get(f"/deliveries/{waiting.id}")).json()
    made = full.pop("attempts")
    assert full == (await desk.client.get("/deliveries")).json()["items"][0]
    assert made[0] == {
        "number": 1,
        "trigger": "forward",
        "started_at": rfc3339(bad.started_at),
        "ms": 2.5,
        "method": "POST",
        "url": "http://127.0.0.1:9/in/orders?x=1",
        "headers": [["Host", "127.0.0.1:9"], ["X-Dup", "1"], ["x-dup", "2"]],
        "size": len(deliveries.BODY),
        "reused": False,
        "timing": {"lookup": None, "connect": None, "tls": None, "first_byte": None},
        "http_version": "",
        "status": None,
        "response_headers": [],
        "response_size": 0,
        "response_truncated": False,
        "response_removed": False,
        "failure": "connection",
        "error": deliveries.REFUSED,
    }
    second = {name: made[1][name] for name in ("trigger", "status", "response_headers", "timing", "failure")}
    assert second == {
        "trigger": "retry",
        "status": 200,
        "response_headers": [["X-A", "\xff"]],
        "timing": {"lookup": 0.5, "connect": 1.5, "tls": None, "first_byte": 9.0},
        "failure": None,
    }


async def test_the_body_of_a_response_is_an_attachment(desk: Desk) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    (waiting,) = await deliveries.queued(desk.store, endpoint)
    await deliveries.deliver(desk.store, waiting, b"<script>\0\xff")
    response = await desk.client.get(f"/deliveries/{waiting.id}/attempts/1/body")
    assert response.content == b"<script>\0\xff"
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-disposition"] == f'attachment; filename="{waiting.id}-1.bin"'
    head = await desk.client.head(f"/deliveries/{waiting.id}/attempts/1/body")
    assert (head.content, head.headers["content-length"]) == (b"", "10")
    for number in ("0", "2", "x", "9" * 30):
        problem(await desk.client.get(f"/deliveries/{waiting.id}/attempts/{number}/body"), 404, "not-found")


async def test_retry_queues_a_failed_delivery_again(desk: Desk, bus: Bus) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    rows = [(await deliveries.queued(desk.store, endpoint))[0] for _ in range(2)]
    for row in rows:
        await deliveries.fail(desk.store, row)
    events: list[DeliveriesQueued] = []
    bus.subscribe(DeliveriesQueued, events.append)
    response = await desk.client.post(f"/deliveries/{rows[0].id}/retry")
    assert response.status_code == 200
    full = response.json()
    assert (full["id"], full["state"], full["attempt_count"], len(full["attempts"])) == (rows[0].id, "queued", 1, 1)
    assert events == [
        DeliveriesQueued(target_ids=(endpoint.targets[0].id,), shown={rows[0].capture_id: DeliveryState.QUEUED})
    ]
    told = problem(await desk.client.post(f"/deliveries/{rows[0].id}/retry"), 409, "cannot-retry")
    assert told["detail"] == "Only a delivery that failed or was not sent can be retried; this one is queued."
    failed = (await desk.client.get("/deliveries?state=failed")).json()["items"]
    assert [one["id"] for one in failed] == [rows[1].id]


async def test_what_waits_is_listed_from_the_oldest_and_the_first_is_sent_now(desk: Desk, bus: Bus) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    rows = [(await deliveries.queued(desk.store, endpoint))[0] for _ in range(3)]
    tried = deliveries.attempt(rows[0])
    due_at = now_us() + 3_600_000_000
    await deliveries.finish(desk.store, rows[0], DeliveryState.QUEUED, tried, due_at=due_at)

    async def listed(**query: object) -> list[tuple[str, str]]:
        query = {"state": "queued", "order": "oldest", **query}
        page = (await desk.client.get("/deliveries", params=query)).json()
        return [(one["id"], one["waits_for"]["reason"]) for one in page["items"]] + (
            await listed(**{**query, "cursor": page["next"]}) if page["next"] else []
        )

    expected = [(rows[0].id, "retry"), (rows[1].id, "order"), (rows[2].id, "order")]
    assert await listed() == await listed(limit=2) == expected
    assert await listed(order="newest") == expected[::-1]
    told = problem(await desk.client.post(f"/deliveries/{rows[1].id}/send-now"), 409, "cannot-send-now")
    assert told["detail"] == "It waits for an older request, in order: send that one now."
    events: list[DeliveriesQueued] = []
    bus.subscribe(DeliveriesQueued, events.append)
    full = (await desk.client.post(f"/deliveries/{rows[0].id}/send-now")).json()
    assert (full["state"], full["due_at"], full["waits_for"]["text"]) == ("queued", None, "now")
    assert [event.shown for event in events] == [{rows[0].capture_id: DeliveryState.QUEUED}]


async def test_a_replay_and_a_delivery_whose_target_is_gone_cannot_be_retried(desk: Desk) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    (row,) = await deliveries.queued(desk.store, endpoint)
    await deliveries.fail(desk.store, row)
    replay = await replayed(desk, row)
    told = problem(await desk.client.post(f"/deliveries/{replay.id}/retry"), 409, "cannot-retry")
    assert "replay" in told["detail"]
    await desk.store.targets.delete(endpoint.targets[0].id)
    told = problem(await desk.client.post(f"/deliveries/{row.id}/retry"), 409, "cannot-retry")
    assert told["detail"] == "Its target was removed."
    assert (await desk.client.post("/deliveries/retry", json={})).json() == {"queued": 0}


async def replayed(desk: Desk, of: Delivery, replay_id: str = "a-replay") -> Delivery:
    """A failed replay of the request that `of` delivered."""
    replay = Delivery(
        id=uuid7(now_us()),
        capture_id=of.capture_id,
        endpoint_id=of.endpoint_id,
        url=deliveries.URL,
        state=DeliveryState.QUEUED,
        queued_at=now_us(),
        target_id=of.target_id,
        replay_id=replay_id,
    )
    await desk.store.deliveries.add_replay(replay)
    return await deliveries.fail(desk.store, replay)


async def test_retry_all_of_an_endpoint_or_a_target(desk: Desk) -> None:
    one = await desk.endpoint(slug="one", forward_url=deliveries.URL)
    two = await desk.endpoint(slug="two", forward_url=deliveries.URL)
    second = await desk.store.targets.create(one.id, TargetDraft(url="http://127.0.0.1:9/second"))

    async def fail_all() -> None:
        for endpoint in (desk.store.endpoints.by_id(one.id), two):
            assert endpoint is not None
            for row in await deliveries.queued(desk.store, endpoint):
                await deliveries.fail(desk.store, row)

    async def retried(**given: Any) -> int:
        response = await desk.client.post("/deliveries/retry", json=given)
        assert response.status_code == 200, response.text
        count: int = response.json()["queued"]
        return count

    await fail_all()
    assert await retried(target=second.id) == 1
    assert await retried(endpoint="one") == 1
    assert await retried(endpoint="one", target=second.id) == 0
    assert await retried() == 1
    await fail_all()
    assert await retried(endpoint=None, target=None) == 3


async def test_what_cannot_be_retried_is_named(desk: Desk) -> None:
    one = await desk.endpoint(slug="one", forward_url=deliveries.URL)
    await desk.endpoint(slug="two")
    for body, named in (
        ({"endpoint": 1}, ["endpoint"]),
        ({"target": "1"}, ["target"]),
        ({"request": "x"}, ["request"]),
    ):
        assert fields(await desk.client.post("/deliveries/retry", json=body)) == named
    problem(await desk.client.post("/deliveries/retry"), 400, "invalid-json")
    for body in (
        {"endpoint": "none"},
        {"target": 99},
        {"endpoint": "two", "target": 99},
        {"endpoint": "two", "target": one.targets[0].id},
    ):
        problem(await desk.client.post("/deliveries/retry", json=body), 404, "not-found")


async def queue(desk: Desk, endpoint: Endpoint, outcomes: list[DeliveryState]) -> list[str]:
    """One request for each outcome; their ids, oldest first."""
    ids = []
    for state in outcomes:
        (delivery,) = await deliveries.queued(desk.store, endpoint)
        if state is DeliveryState.FAILED:
            await deliveries.fail(desk.store, delivery)
        elif state is DeliveryState.DELIVERED:
            await deliveries.deliver(desk.store, delivery)
        ids.append(delivery.capture_id)
    return ids


async def test_the_latest_of_all_endpoints_or_one_in_any_state_or_one(desk: Desk) -> None:
    failed, delivered, queued = DeliveryState.FAILED, DeliveryState.DELIVERED, DeliveryState.QUEUED
    one, two, gone = [await desk.endpoint(slug=slug, forward_url=deliveries.URL) for slug in ("one", "two", "gone")]
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
    assert await found(target=one.targets[0].id) == of_one[::-1]
    assert await found(target=one.targets[0].id, state="failed") == [of_one[2], of_one[0]]
    assert await found(target=two.targets[0].id, endpoint="one") == []
    assert await found(target=99) == []
    page = (await desk.client.get("/deliveries?limit=1&state=failed&endpoint=one")).json()
    assert (page["items"][0]["request"], page["items"][0]["endpoint"]) == (of_one[2], "one")
    page = (await desk.client.get(f"/deliveries?limit=1&state=failed&endpoint=one&cursor={page['next']}")).json()
    assert ([item["request"] for item in page["items"]], page["next"]) == ([of_one[0]], None)


async def test_replays_alone_or_none_and_those_whose_ids_begin_alike(desk: Desk) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    (row,) = await deliveries.queued(desk.store, endpoint)
    replay = await replayed(desk, row)

    async def found(**query: Any) -> list[tuple[str, str | None]]:
        items = (await desk.client.get("/deliveries", params=query)).json()["items"]
        return [(item["id"], item["replay"]) for item in items]

    assert await found(replay="true") == [(replay.id, "a-replay")]
    assert await found(replay="false") == [(row.id, None)]
    assert await found() == [(replay.id, "a-replay"), (row.id, None)]
    assert await found(id=row.id[:30].upper()) == [(row.id, None)]


async def test_the_deliveries_of_one_replay(desk: Desk) -> None:
    endpoint = await desk.endpoint(forward_url=deliveries.URL)
    (row,) = await deliveries.queued(desk.store, endpoint)
    first, second, forgotten = (f"01a20000-{n}000-7000-8000-000000000000" for n in range(3))
    made = [await replayed(desk, row, one) for one in (first, second, first, forgotten)]
    for one in (first, second):
        spec = ReplaySpec(source=ChosenRequests(ids=(row.capture_id,)))
        await desk.store.replays.save(Replay(id=one, created_at=1, spec=spec, state=ReplayState.DONE))

    async def found(replay: str, **query: Any) -> list[str]:
        answer = await desk.client.get("/deliveries", params={"replay": replay, **query})
        return [item["id"] for item in answer.json()["items"]]

    assert await found(first) == await found(first.upper()[:14]) == [made[2].id, made[0].id]
    assert await found(second, state="failed") == [made[1].id]
    assert await found(second, state="delivered") == []
    assert await found(forgotten) == [made[3].id]
    assert await found("0" * 8) == []
    page = (await desk.client.get("/deliveries", params={"replay": first, "limit": 1})).json()
    assert await found(first, cursor=page["next"]) == [made[0].id]
    several = await desk.client.get("/deliveries", params={"replay": first[:8]})
    assert fields(several, 400, "invalid-parameter") == ["replay"]


async def test_what_cannot_be_asked_for(desk: Desk) -> None:
    problem(await desk.client.get("/deliveries?endpoint=none"), 404, "not-found")
    assert fields(await desk.client.get("/deliveries?state=none"), 400, "invalid-parameter") == ["state"]
    for wrong in ("target=x", "target=-1", f"target={'9' * 19}", "replay=yes", "id=abc"):
        response = await desk.client.get(f"/deliveries?{wrong}")
        assert fields(response, 400, "invalid-parameter") == [wrong.partition("=")[0]]
    for path in ("", "/attempts/1/body"):
        problem(await desk.client.get(f"/deliveries/none{path}"), 404, "not-found")
    problem(await desk.client.post("/deliveries/none/retry"), 404, "not-found")


async def test_deliveries_of_a_request_can_be_filtered_and_ordered_as_all_others(desk: Desk) -> None:
    endpoint = await deliveries.two_targets(desk.store, slug="one")
    first, second = await deliveries.queued(desk.store, endpoint)
    await deliveries.queued(desk.store, endpoint)
    await deliveries.fail(desk.store, second)

    async def found(**query: Any) -> list[str]:
        query["request"] = first.capture_id
        return [item["id"] for item in (await desk.client.get("/deliveries", params=query)).json()["items"]]

    assert await found() == await found(order="oldest", endpoint="one", replay=False) == [first.id, second.id]
    assert await found(order="newest") == [second.id, first.id]
    assert (
        await found(state="failed") == await found(target=second.target_id) == await found(id=second.id) == [second.id]
    )
    query = {"request": first.capture_id, "limit": 1}
    page = (await desk.client.get("/deliveries", params=query)).json()
    rest = (await desk.client.get("/deliveries", params={**query, "cursor": page["next"]})).json()
    assert [one["id"] for one in (*page["items"], *rest["items"])] == [first.id, second.id]
    assert rest["next"] is None


async def test_an_attempt_whose_response_made_room_says_so(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="orders", forward_url=deliveries.URL)
    one = await deliveries.deliver(desk.store, (await deliveries.queued(desk.store, endpoint))[0], b"fine")
    stored = (await desk.client.get("/status")).json()["stored"]
    desk.store.limits.set_response_limit(1)
    await until(lambda: desk.store._eviction._worker.is_idle)
    (attempt,) = (await desk.client.get(f"/deliveries/{one.id}")).json()["attempts"]
    assert (attempt["status"], attempt["response_removed"], attempt["response_size"]) == (200, True, 0)
    assert attempt["response_headers"] == []
    assert (await desk.client.get(f"/deliveries/{one.id}/attempts/1/body")).content == b""
    after = (await desk.client.get("/status")).json()["stored"]
    assert (after["bytes"], after["response_limit"]) == (stored["bytes"], 1)
    assert after["response_bytes"] < stored["response_bytes"]


async def test_deliveries_deleted_before_they_were_sent_are_listed_and_counted(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="orders", forward_url=deliveries.URL)
    first, second = await deliveries.expired(desk.store, endpoint, 2)
    page = (await desk.client.get("/deliveries", params={"state": "not_sent"})).json()
    assert [(row["id"], row["request"]) for row in page["items"]] == [
        (one.id, one.capture_id) for one in (second, first)
    ]
    row = page["items"][0]
    assert (row["state"], row["url"], row["method"]) == ("not_sent", "http://127.0.0.1:9/in/orders?x=1", "POST")
    assert row["error"] == "Request deleted before it was sent: its retention ended."
    full = (await desk.client.get(f"/deliveries/{first.id}")).json()
    assert (full["state"], full["attempts"]) == ("not_sent", [])
    refused = problem(await desk.client.post(f"/deliveries/{first.id}/retry"), 409, "cannot-retry")
    assert refused["detail"] == "Its request was deleted."
    assert (await desk.client.get("/endpoints/orders")).json()["targets"][0]["deleted"] == 2
    (warning,) = (await desk.client.get("/status")).json()["warnings"]
    assert warning == (
        f"2 requests were deleted before they were sent to {deliveries.URL}."
        " To see them: hookline deliveries orders --not-sent"
    )
