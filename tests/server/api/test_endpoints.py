"""Endpoints through the local API."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.core.events import Bus, StorageTrouble
from app.db.sqlite import writer
from tests.server.api.conftest import Desk, fields, problem


async def test_create_with_a_name_alone(desk: Desk) -> None:
    response = await desk.client.post("/endpoints", json={"name": "Orders"})
    assert response.status_code == 201
    made = response.json()
    assert response.headers["location"] == f"/api/v1/endpoints/{made['slug']}"
    assert made["url"] == f"https://hooks.example/catch/{made['slug']}"
    assert made.pop("created_at").endswith("Z")
    slug = made.pop("slug")
    assert len(slug) >= 24
    assert made == {
        "url": f"https://hooks.example/catch/{slug}",
        "tunnel": None,
        "position": 1,
        "name": "Orders",
        "description": "",
        "tags": [],
        "retention_days": 7,
        "forward_url": None,
        "active": True,
        "response": {
            "status": 200,
            "headers": [],
            "body": None,
            "delay_ms": 0,
            "from_target": False,
            "wait_ms": 10_000,
        },
        "forward": {"timeout_ms": 10_000},
        "auth": {"kind": "none", "name": "", "secret": ""},
        "targets": [],
        "request_count": 0,
        "unread_count": 0,
        "last_request_at": None,
        "storage_limit": None,
        "when_full": "delete_oldest",
        "stored_bytes": 0,
        "storage_limit_reached": False,
    }


async def test_create_with_everything_and_read_it_back(desk: Desk) -> None:
    given: dict[str, Any] = {
        "name": "All",
        "description": "d",
        "retention_days": 90,
        "storage_limit": 500_000_000,
        "when_full": "stop_capturing",
        "forward_url": "http://127.0.0.1:3000/x",
        "slug": "all-of-it",
        "active": False,
        "response": {
            "status": 202,
            "headers": [["X-A", "1"], ["X-A", "2"]],
            "body": "ok",
            "delay_ms": 5,
            "from_target": True,
            "wait_ms": 100,
        },
        "forward": {"timeout_ms": 500},
        "auth": {"kind": "basic", "name": "u", "secret": "p"},
    }
    made = (await desk.client.post("/endpoints", json=given)).json()
    read = (await desk.client.get("/endpoints/all-of-it")).json()
    assert read == made
    assert {name: read[name] for name in given} == given


async def test_wrong_fields_are_named(desk: Desk) -> None:
    for body, named in (
        ({}, ["name"]),
        ({"name": 5}, ["name"]),
        ({"name": "x", "colour": 1}, ["colour"]),
        ({"name": "x", "response": {"stauts": 200}}, ["response.stauts"]),
        ({"name": "x", "response": {"status": "200"}}, ["response.status"]),
        ({"name": "x", "retention_days": True}, ["retention_days"]),
        ({"name": "x", "description": None}, ["description"]),
        ({"name": "", "retention_days": 91, "slug": "A"}, ["name", "retention_days", "slug"]),
        ({"name": "x", "forward_url": "ftp://x"}, ["forward_url"]),
        ({"name": "x", "response": {"wait_ms": 99}}, ["response.wait_ms"]),
        ({"name": "x", "response": {"wait_ms": 30_001}}, ["response.wait_ms"]),
        ({"name": "x", "response": {"from_target": 1}}, ["response.from_target"]),
        ({"name": "x", "storage_limit": 0}, ["storage_limit"]),
        ({"name": "x", "storage_limit": -1}, ["storage_limit"]),
        ({"name": "x", "storage_limit": 2**20 - 1}, ["storage_limit"]),
        ({"name": "x", "storage_limit": 2**50 + 1}, ["storage_limit"]),
        ({"name": "x", "storage_limit": "1 GB"}, ["storage_limit"]),
        ({"name": "x", "when_full": "explode"}, ["when_full"]),
        ({"name": "x", "auth": {"kind": "magic"}}, ["auth.kind"]),
    ):
        assert fields(await desk.client.post("/endpoints", json=body)) == named, body
        assert (await desk.client.get("/endpoints")).json()["items"] == [], body


async def test_a_body_that_is_no_object(desk: Desk) -> None:
    assert fields(await desk.client.post("/endpoints", json=[1])) == [""]


async def test_a_taken_slug_is_named(desk: Desk) -> None:
    await desk.endpoint(slug="taken")
    assert fields(await desk.client.post("/endpoints", json={"name": "x", "slug": "taken"})) == ["slug"]


async def test_the_free_plan_ends_at_ten_however_many_at_once(desk: Desk) -> None:
    responses = await asyncio.gather(*(desk.client.post("/endpoints", json={"name": f"E{n}"}) for n in range(13)))
    assert sorted(response.status_code for response in responses) == [201] * 10 + [409] * 3
    told = problem(await desk.client.post("/endpoints", json={"name": "x"}), 409, "plan-limit")
    assert "10" in told["detail"]


async def test_list_in_pages_in_the_users_order(desk: Desk) -> None:
    made = [(await desk.endpoint()).slug for _ in range(5)]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = (await desk.client.get("/endpoints", params=query)).json()
        assert len(page["items"]) <= 2
        seen += [item["slug"] for item in page["items"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert seen == made


async def test_a_list_goes_on_behind_the_same_endpoint_when_it_was_moved_or_deleted(desk: Desk) -> None:
    made = [await desk.endpoint(slug=f"slug-{number}") for number in range(5)]
    cursor = (await desk.client.get("/endpoints", params={"limit": 2})).json()["next"]  # behind slug-1
    await desk.store.endpoints.move(made[1].id, 4)
    page = (await desk.client.get("/endpoints", params={"cursor": cursor})).json()
    assert [item["slug"] for item in page["items"]] == ["slug-4"]
    await desk.store.endpoints.delete(made[1].id)
    page = (await desk.client.get("/endpoints", params={"cursor": cursor})).json()
    assert [item["slug"] for item in page["items"]] == ["slug-2", "slug-3", "slug-4"]  # behind its old place


async def test_patch_moves_an_endpoint_in_the_list(desk: Desk) -> None:
    for number in range(3):
        await desk.endpoint(slug=f"slug-{number}")
    changed = await desk.client.patch("/endpoints/slug-2", json={"position": 1, "name": "First"})
    assert (changed.json()["position"], changed.json()["name"]) == (1, "First")
    assert (await desk.client.patch("/endpoints/slug-0", json={"position": 3})).json()["position"] == 3
    listed = (await desk.client.get("/endpoints")).json()["items"]
    assert [(item["position"], item["slug"]) for item in listed] == [(1, "slug-2"), (2, "slug-1"), (3, "slug-0")]
    wrong = await desk.client.patch("/endpoints/slug-2", json={"position": 4, "name": "Not this"})
    assert fields(wrong) == ["position"]
    assert (await desk.client.get("/endpoints/slug-2")).json()["name"] == "First"


async def test_patch_changes_what_is_given_and_nothing_else(desk: Desk) -> None:
    given = {"name": "A", "slug": "abc", "forward_url": "http://127.0.0.1:1/", "response": {"status": 201, "body": "x"}}
    before = (await desk.client.post("/endpoints", json=given)).json()
    steps: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"name": "B"}, {"name": "B"}),
        ({"active": False}, {"active": False}),
        ({"response": {"delay_ms": 7}}, {"response": {**before["response"], "delay_ms": 7}}),
        ({"response": {"body": None}}, {"response": {**before["response"], "delay_ms": 7, "body": None}}),
        ({"forward_url": None}, {"forward_url": None, "targets": []}),
        ({"auth": {"kind": "bearer", "secret": "s"}}, {"auth": {"kind": "bearer", "name": "", "secret": "s"}}),
        ({"slug": "abc"}, {}),
    ]
    for patch, change in steps:
        response = await desk.client.patch("/endpoints/abc", json=patch)
        assert response.status_code == 200, response.text
        before = {**before, **change}
        assert response.json() == before
    assert (await desk.client.get("/endpoints/abc")).json() == before


async def test_patches_at_once_keep_each_others_fields(desk: Desk) -> None:
    await desk.endpoint(slug="abc")
    await asyncio.gather(
        desk.client.patch("/endpoints/abc", json={"name": "N"}),
        desk.client.patch("/endpoints/abc", json={"description": "D"}),
        desk.client.patch("/endpoints/abc", json={"response": {"status": 299}}),
        desk.client.patch("/endpoints/abc", json={"response": {"delay_ms": 3}}),
    )
    now = (await desk.client.get("/endpoints/abc")).json()
    assert (now["name"], now["description"], now["response"]["status"], now["response"]["delay_ms"]) == (
        "N",
        "D",
        299,
        3,
    )


async def test_wrong_patches_change_nothing(desk: Desk) -> None:
    await desk.endpoint(slug="abc")
    before = (await desk.client.get("/endpoints/abc")).json()
    for patch, named in (
        ({"name": None}, ["name"]),
        ({"slug": "other"}, ["slug"]),
        ({"url": "x"}, ["url"]),
        ({"retention_days": 0}, ["retention_days"]),
        ({"response": None}, ["response"]),
        ({"forward": {"timeout_ms": 1}}, ["forward.timeout_ms"]),
    ):
        assert fields(await desk.client.patch("/endpoints/abc", json={"description": "no", **patch})) == named, patch
        assert (await desk.client.get("/endpoints/abc")).json() == before, patch


async def test_delete(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="abc")
    capture = await desk.capture(endpoint)
    assert (await desk.client.delete("/endpoints/abc")).status_code == 204
    problem(await desk.client.get("/endpoints/abc"), 404, "not-found")
    problem(await desk.client.get(f"/requests/{capture.id}"), 404, "not-found")
    for call in (desk.client.delete, desk.client.get):
        problem(await call("/endpoints/abc"), 404, "not-found")
    problem(await desk.client.patch("/endpoints/abc", json={}), 404, "not-found")


async def test_counts_and_the_last_request(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="abc")
    for at in (1_000_000, 1_700_000_000_123_456):
        await desk.capture(endpoint, received_at=at)
    read = (await desk.client.get("/endpoints/abc")).json()
    assert (read["request_count"], read["unread_count"]) == (2, 2)
    assert read["last_request_at"] == "2023-11-14T22:13:20.123456Z"


async def test_what_cannot_be_stored_now_may_be_tried_again(
    desk: Desk, bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BUSY_S", 0.2)
    monkeypatch.setattr(writer, "PROBE_S", 0.05)
    well = asyncio.Event()
    bus.subscribe(StorageTrouble, lambda event: None if event.reason else well.set())
    with closing(sqlite3.connect(tmp_path / "hookline.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        response = await desk.client.post("/endpoints", json={"name": "x"}, timeout=20)
        problem(response, 503, "storage-unavailable")
        assert int(response.headers["retry-after"]) > 0
        other.execute("ROLLBACK")
    await asyncio.wait_for(well.wait(), 20)
    assert (await desk.client.post("/endpoints", json={"name": "x"})).status_code == 201


async def test_the_list_of_a_tag_goes_on_where_its_page_ended(desk: Desk) -> None:
    for number in range(5):
        tags = ["Shop", "x"] if number % 2 == 0 else ["x"]
        await desk.client.post("/endpoints", json={"name": f"e{number}", "tags": tags})
    first = (await desk.client.get("/endpoints", params={"tag": "shop", "limit": "2"})).json()
    assert [(one["name"], one["position"], one["tags"]) for one in first["items"]] == [
        ("e0", 1, ["Shop", "x"]),
        ("e2", 3, ["Shop", "x"]),
    ]
    rest = {"tag": "shop", "cursor": first["next"]}
    await desk.client.delete(f"/endpoints/{first['items'][1]['slug']}")
    last = (await desk.client.get("/endpoints", params=rest)).json()
    assert [one["name"] for one in last["items"]] == ["e4"]
    assert last["next"] is None
    assert (await desk.client.get("/endpoints", params={"tag": "sho"})).json()["items"] == []


async def test_tags_that_break_their_rule_are_refused(desk: Desk) -> None:
    for tags, part in (
        ([str(number) for number in range(11)], "at most 10, not 11"),
        (["a b"], "'a b'"),
        (["é"], "'é'"),
        ([""], "''"),
        (["x" * 33], "1 to 32 letters"),
        (["a", "b", "a"], "'a' is there twice"),
    ):
        found = problem(await desk.client.post("/endpoints", json={"name": "x", "tags": tags}), 422, "invalid-fields")
        assert found["errors"][0]["field"] == "tags", tags
        assert part in found["errors"][0]["message"], tags


async def test_several_are_created_and_deleted_in_one_call(desk: Desk) -> None:
    for slug in ("first-one", "second-one"):
        await desk.client.post("/endpoints", json={"name": "Old", "slug": slug})
    batch = {
        "create": [{"name": "New", "slug": "first-one"}, {"name": "Other"}],
        "delete": ["first-one", "second-one", "first-one"],
    }
    response = await desk.client.patch("/endpoints", json=batch)
    assert response.status_code == 200
    made, other = response.json()["items"]
    assert (made["name"], made["slug"], other["name"]) == ("New", "first-one", "Other")
    assert [one["name"] for one in (await desk.client.get("/endpoints")).json()["items"]] == ["New", "Other"]
    assert (await desk.client.get("/endpoints/second-one")).status_code == 404


async def test_of_several_the_others_are_done_when_one_fails(desk: Desk) -> None:
    await desk.client.post("/endpoints", json={"name": "Old", "slug": "old-one"})
    batch = {"create": [{"name": "New"}, {"name": ""}], "delete": ["old-one"]}
    response = await desk.client.patch("/endpoints", json=batch)
    assert fields(response) == ["create[1].name"]
    assert [one["name"] for one in (await desk.client.get("/endpoints")).json()["items"]] == ["New"]


async def test_several_are_left_alone_when_one_to_delete_is_unknown_or_there_are_too_many(desk: Desk) -> None:
    await desk.client.post("/endpoints", json={"name": "Old", "slug": "old-one"})
    for batch, status in (
        ({"create": [{"name": "New"}], "delete": ["old-one", "unknown"]}, 404),
        ({"create": [{"name": "New"}] * 101, "delete": ["old-one"]}, 422),
    ):
        response = await desk.client.patch("/endpoints", json=batch)
        assert response.status_code == status
        assert [one["name"] for one in (await desk.client.get("/endpoints")).json()["items"]] == ["Old"]
    assert fields(response) == ["create"]


async def test_several_stop_at_the_plans_limit(desk: Desk) -> None:
    response = await desk.client.patch("/endpoints", json={"create": [{"name": "New"}] * 12})
    problem(response, 409, "plan-limit")
    assert len((await desk.client.get("/endpoints")).json()["items"]) == 10
