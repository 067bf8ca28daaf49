"""Captured requests through the local API."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.clock import rfc3339
from app.core.model import Plan
from tests.codings import zeros_brotli
from tests.server.api.conftest import Desk, fields, problem


async def test_summaries_newest_first_of_all_or_one(desk: Desk) -> None:
    one, two = await desk.endpoint(slug="one"), await desk.endpoint(slug="two")
    made = [await desk.capture(endpoint, gist="JSON · a") for endpoint in (one, two, one)]
    page = (await desk.client.get("/requests")).json()
    assert [item["id"] for item in page["items"]] == [capture.id for capture in reversed(made)]
    assert [item["endpoint"] for item in page["items"]] == ["one", "two", "one"]
    assert page["next"] is None
    page = (await desk.client.get("/requests", params={"endpoint": "two"})).json()
    assert page["items"] == [
        {
            "id": made[1].id,
            "endpoint": "two",
            "received_at": rfc3339(made[1].received_at),
            "method": "POST",
            "target": "/catch/sample/orders?x=1",
            "size": 2,
            "content_type": "application/json",
            "complete": True,
            "response": {"status": 200, "ms": None},
            "delivery": "none",
            "read": False,
            "starred": False,
            "note": None,
            "provider": None,
            "event": None,
            "gist": "JSON · a",
        }
    ]
    problem(await desk.client.get("/requests?endpoint=three"), 404, "not-found")


@pytest.mark.parametrize("limit", [1, 3, 7, 8])
async def test_pages_meet_without_gap_while_more_arrive(desk: Desk, limit: int) -> None:
    endpoint = await desk.endpoint(slug="one")
    made = [(await desk.capture(endpoint, received_at=1_000_000 + number // 3)).id for number in range(7)]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": limit, "endpoint": "one"}
    while True:
        page = (await desk.client.get("/requests", params=query)).json()
        seen += [item["id"] for item in page["items"]]
        await desk.capture(endpoint)
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert sorted(seen) == sorted(made)
    assert [made.index(one) // 3 for one in seen] == [2, 1, 1, 1, 0, 0, 0]


async def test_one_in_full(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="one")
    headers = (("x-b", "1"), ("X-A", "\xff\xe9"), ("X-B", "2"), ("x-b", "1"))
    made = await desk.capture(
        endpoint,
        b"\x00\xff",
        headers=headers,
        trailers=headers[1:3],
        received_at=1_700_000_000_000_001,
        gist="binary · 2 B",
    )
    read = (await desk.client.get(f"/requests/{made.id}")).json()
    assert read == {
        "id": made.id,
        "endpoint": "one",
        "received_at": "2023-11-14T22:13:20.000001Z",
        "method": "POST",
        "target": "/catch/sample/orders?x=1",
        "http_version": "1.1",
        "headers": [["x-b", "1"], ["X-A", "ÿé"], ["X-B", "2"], ["x-b", "1"]],
        "trailers": [["X-A", "ÿé"], ["X-B", "2"]],
        "size": 2,
        "sha256": made.sha256,
        "damaged": False,
        "content_type": "application/json",
        "source": {"address": "127.0.0.1", "port": 50_000},
        "scheme": "http",
        "complete": True,
        "response": {"status": 200, "ms": None},
        "delivery": "none",
        "read": False,
        "starred": False,
        "note": None,
        "provider": None,
        "event": None,
        "gist": "binary · 2 B",
        "delivery_id": None,
        "deliveries": [],
        "starred_by": None,
        "noted_by": None,
    }


async def test_unknown_requests(desk: Desk) -> None:
    for path in ("/requests/nope", "/requests/nope/body", "/deliveries?request=nope"):
        problem(await desk.client.get(path), 404, "not-found")
    problem(await desk.client.delete("/requests/nope"), 404, "not-found")


async def test_those_whose_ids_begin_so(desk: Desk) -> None:
    one, two = await desk.endpoint(slug="one"), await desk.endpoint(slug="two")
    ids = [f"019a1b2{rest}-7c8d9e0f1a2b" for rest in ("c-3d4e-7f50-8a6b", "c-3d4e-7f50-9a6b", "d-0000-7000-8000")]
    for identity, endpoint in zip(ids, (one, two, one), strict=True):
        await desk.capture(endpoint, id=identity)

    async def found(**query: Any) -> list[str]:
        return [item["id"] for item in (await desk.client.get("/requests", params=query)).json()["items"]]

    assert await found(id="019a1b2c") == [ids[1], ids[0]]
    assert await found(id="019A1B2C3d4e7f50-8") == [ids[0]]
    assert await found(id="019a1b2c", endpoint="two") == [ids[1]]
    assert await found(id=ids[2]) == [ids[2]]
    assert await found(id="ffffffff") == []
    for wrong in ("019a1b2", "019a1b2g", "%", "", ids[0] + "0"):
        assert fields(await desk.client.get("/requests", params={"id": wrong}), 400, "invalid-parameter") == ["id"]
    assert await found(id="019a1b2c", q="method:POST") == [ids[1], ids[0]]
    assert await found(id="019a1b2c", q="method:POST", endpoint="two") == [ids[1]]
    assert await found(id="019a1b2c", q="method:GET") == []
    secret = await desk.capture(one, b'{"password": "hunter2"}')
    assert await found(id=secret.id, q="hunter2") == [secret.id]
    assert await found(id=secret.id, q="hunter2", redacted="true") == []


async def test_delete_one(desk: Desk) -> None:
    endpoint = await desk.endpoint()
    made = [await desk.capture(endpoint) for _ in range(3)]
    assert (await desk.client.delete(f"/requests/{made[1].id}")).status_code == 204
    problem(await desk.client.get(f"/requests/{made[1].id}"), 404, "not-found")
    left = (await desk.client.get("/requests")).json()["items"]
    assert [item["id"] for item in left] == [made[2].id, made[0].id]


async def test_delete_all_of_an_endpoint(desk: Desk) -> None:
    one, two = await desk.endpoint(slug="one"), await desk.endpoint(slug="two")
    for _ in range(3):
        await desk.capture(one)
    kept = await desk.capture(two)
    assert (await desk.client.delete("/endpoints/one/requests")).status_code == 204
    left = (await desk.client.get("/requests")).json()["items"]
    assert [item["id"] for item in left] == [kept.id]
    assert (await desk.client.get("/endpoints/one")).json()["request_count"] == 0
    problem(await desk.client.delete("/endpoints/none/requests"), 404, "not-found")


async def test_delete_all_but_what_is_marked(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="one")
    made = [await desk.capture(endpoint) for _ in range(4)]
    await desk.store.captures.star([made[0].id])
    await desk.store.captures.set_note(made[2].id, "mine")
    for wrong in ("", "starred,", "read", "starred noted"):
        told = problem(await desk.client.delete(f"/endpoints/one/requests?keep={wrong}"), 400, "invalid-parameter")
        assert "starred or noted" in told["detail"]
    assert len((await desk.client.get("/requests")).json()["items"]) == 4
    for keep, left in (("starred,noted", [2, 0]), ("noted", [2])):
        assert (await desk.client.delete("/endpoints/one/requests", params={"keep": keep})).status_code == 204
        items = (await desk.client.get("/requests")).json()["items"]
        assert [item["id"] for item in items] == [made[number].id for number in left]


async def test_the_plan_and_totals_in_the_status(desk: Desk) -> None:
    one, two = await desk.endpoint(), await desk.endpoint()
    made = [await desk.capture(endpoint) for endpoint in (one, one, two)]
    await desk.store.captures.mark_read([made[0].id])
    await desk.store.account.set_plan(Plan.PRO)
    desk.troubles.storage = "The disk is full."
    desk.troubles.damage = "The database is damaged."
    status = (await desk.client.get("/status")).json()
    assert status.pop("database_bytes") > 0
    assert status.pop("pid") > 0
    assert status.pop("stored")["bytes"] == sum(
        desk.store.captures.counts(endpoint.id).stored_bytes for endpoint in (one, two)
    )
    assert status == {
        "version": "1.2.3",
        "store": desk.store.place,
        "captures": True,
        "capture_url": "http://127.0.0.1:8787",
        "base_url": "https://hooks.example",
        "tunnel": None,
        "plan": "pro",
        "endpoints": {"held": 2, "limit": None},
        "counts": {"requests": 3, "unread": 2, "refused": 0},
        "uptime_seconds": 1.5,
        "storage": "The disk is full.",
        "retention": {"state": "running", "reason": None, "resumes_in_seconds": None},
        "warnings": ["The database is damaged."],
    }
    desk.troubles.storage = None
    await desk.store.account.set_plan(Plan.FREE)
    status = (await desk.client.get("/status")).json()
    assert (status["storage"], status["endpoints"]["limit"]) == ("ok", 10)


async def found(desk: Desk, **query: Any) -> list[str]:
    """The last letters of the targets that a search finds."""
    page = (await desk.client.get("/requests", params=query)).json()
    return [item["target"][-1] for item in page["items"]]


async def test_a_search_says_what_it_left_unexamined(desk: Desk) -> None:
    """A body of some hundred bytes that unpacks to a hundred million may hold the word."""
    endpoint = await desk.endpoint(slug="one")
    bomb = zeros_brotli(128 * 1024 * 1024)
    for letter in "ab":
        await desk.capture(endpoint, bomb, target=f"/catch/one/{letter}", headers=(("Content-Encoding", "br"),))
    page = (await desk.client.get("/requests", params={"q": "paid"})).json()
    assert (page["items"], page["unexamined"]) == ([], 2)
    page = (await desk.client.get("/requests", params={"q": "path:/a"})).json()
    assert (len(page["items"]), page["unexamined"]) == (1, 0)
    assert (await desk.client.get("/requests")).json()["unexamined"] == 0


async def test_a_search_over_all_endpoints_or_one(desk: Desk) -> None:
    one, two = await desk.endpoint(slug="one"), await desk.endpoint(slug="two")
    await desk.capture(one, b'{"type": "paid"}', target="/catch/one/a")
    await desk.capture(two, b'{"type": "paid"}', target="/catch/two/b", method="PUT")
    await desk.capture(one, b'{"type": "draft"}', target="/catch/one/c")
    assert await found(desk, q="PAID") == ["b", "a"]
    assert await found(desk, q="paid", endpoint="one") == ["a"]
    assert await found(desk, q="json:type=paid -method:PUT") == ["a"]
    assert await found(desk, q="  ") == ["c", "b", "a"]
    assert await found(desk, q="nowhere") == []


async def test_pages_of_a_search(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="one")
    made = [(await desk.capture(endpoint, b"even" if number % 2 else b"odd")).id for number in range(10)]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2, "q": "even"}
    while True:
        page = (await desk.client.get("/requests", params=query)).json()
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert seen == made[1::2][::-1]


async def test_a_wrong_search_says_what_is_wrong_and_where(desk: Desk) -> None:
    answer = await desk.client.get("/requests", params={"q": "paid metod:POST"})
    told = problem(answer, 400, "invalid-query")
    assert "Did you mean method:?" in told["detail"]
    assert told["errors"][0]["field"] == "q"
    assert (told["span"], told["suggestion"]) == ([5, 11], "method:")
    told = problem(await desk.client.get("/requests", params={"q": '"open'}), 400, "invalid-query")
    assert told["span"] == [0, 5]
    assert "suggestion" not in told


@pytest.mark.parametrize("query", ["", "method:POST"])
@pytest.mark.parametrize("slug", ["", "one"])
async def test_requests_between_two_times_or_requests(desk: Desk, query: str, slug: str) -> None:
    endpoint = await desk.endpoint(slug="one")
    made = [await desk.capture(endpoint) for _ in range(9)]
    times = [rfc3339(capture.received_at) for capture in made]

    async def listed(**between: str) -> list[int]:
        parameters = {"q": query, "limit": "2", **({"endpoint": slug} if slug else {}), **between}
        found: list[str] = []
        while True:
            page = (await desk.client.get("/requests", params=parameters)).json()
            found += [item["id"] for item in page["items"]]
            if page["next"] is None:
                break
            parameters["cursor"] = page["next"]
        return [[capture.id for capture in made].index(one) for one in found]

    assert await listed(after=made[2].id, before=made[6].id) == [5, 4, 3]
    assert await listed(after=times[2], before=times[6]) == [5, 4, 3, 2]
    assert await listed(after=made[6].id) == [8, 7]
    assert await listed(before=times[1]) == [0]
    assert await listed(after=made[8].id) == []
    assert await listed(before="1960-01-01T00:00:00Z") == []
    assert await listed(after="ffffffff-ffff-ffff-ffff-ffffffffffff") == []
    assert await listed(after="9999-01-01T00:00:00+01:00") == []


@pytest.mark.parametrize("name", ["after", "before"])
@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-20T09:00:00", "0" * 37])
async def test_wrong_times(desk: Desk, name: str, text: str) -> None:
    assert fields(await desk.client.get("/requests", params={name: text}), 400, "invalid-parameter") == [name]
