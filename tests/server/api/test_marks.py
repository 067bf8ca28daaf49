"""Marks on captured requests through the local API: read, starred, a note."""

from __future__ import annotations

from typing import Any

from app.core.events import Bus, RequestsUpdated
from tests.server.api.conftest import Desk, fields, problem

UNKNOWN = "01938f7e-0000-7000-8000-000000000000"


async def test_patch_changes_what_is_given_and_nothing_else(desk: Desk) -> None:
    capture = await desk.capture(await desk.endpoint(slug="one"))
    path = f"/requests/{capture.id}"
    now = (await desk.client.get(path)).json()
    assert (now["read"], now["starred"], now["note"]) == (False, False, None)
    steps: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"starred": True}, {"starred": True}),
        ({"note": "  charged twice\n\u00e9 \U0001f600 "}, {"note": "charged twice\n\u00e9 \U0001f600"}),
        ({"read": True}, {"read": True}),
        ({"read": True, "starred": False, "note": "new"}, {"starred": False, "note": "new"}),
        ({"note": None}, {"note": None}),
        ({"note": "again", "read": False}, {"note": "again", "read": False}),
        ({"note": " \t"}, {"note": None}),
    ]
    for patch, change in steps:
        response = await desk.client.patch(path, json=patch)
        assert response.status_code == 200, response.text
        now = {**now, **change}
        assert response.json() == {**now, "damaged": None}  # which compares no body
        assert (await desk.client.get(path)).json() == now
    summary = (await desk.client.get("/requests")).json()["items"][0]
    assert summary == {name: now[name] for name in summary}


async def test_marks_are_told_and_counted(desk: Desk, bus: Bus) -> None:
    told: list[RequestsUpdated] = []
    bus.subscribe(RequestsUpdated, told.append)
    endpoint = await desk.endpoint(slug="one")
    capture = await desk.capture(endpoint)
    await desk.client.patch(f"/requests/{capture.id}", json={"read": True, "starred": True, "note": "n"})
    assert {event.endpoint_ids for event in told} == {(endpoint.id,)}
    assert [event.changes[capture.id] for event in told] == [
        {"note": "n", "noted_by": None},
        {"starred": True, "starred_by": None},
        {"read": True},
    ]
    assert (await desk.client.get("/endpoints/one")).json()["unread_count"] == 0


async def test_wrong_patches_change_nothing(desk: Desk) -> None:
    path = f"/requests/{(await desk.capture(await desk.endpoint())).id}"
    await desk.client.patch(path, json={"note": "before"})
    before = (await desk.client.get(path)).json()
    for patch, named in (
        ({"note": "n" * 2001}, ["note"]),
        ({"note": "nul \0"}, ["note"]),
        ({"note": 7}, ["note"]),
        ({"read": None}, ["read"]),
        ({"starred": "yes"}, ["starred"]),
        ({"method": "PUT"}, ["method"]),
        ({"id": "x"}, ["id"]),
    ):
        assert fields(await desk.client.patch(path, json={"read": True, "starred": True, **patch})) == named, patch
        assert (await desk.client.get(path)).json() == before, patch


async def test_half_a_surrogate_pair_is_no_text(desk: Desk) -> None:
    path = f"/requests/{(await desk.capture(await desk.endpoint())).id}"
    response = await desk.client.patch(path, content=b'{"note": "half \\ud83d"}')
    assert response.status_code in (400, 422)
    assert (await desk.client.get(path)).json()["note"] is None


async def test_the_longest_note_is_taken(desk: Desk) -> None:
    path = f"/requests/{(await desk.capture(await desk.endpoint())).id}"
    longest = "\U0001f600" * 2000
    assert (await desk.client.patch(path, json={"note": f" {longest} "})).json()["note"] == longest


async def test_what_is_not_stored_takes_no_marks(desk: Desk) -> None:
    capture = await desk.capture(await desk.endpoint(slug="one"))
    problem(await desk.client.patch(f"/requests/{UNKNOWN}", json={"starred": True}), 404, "not-found")
    problem(await desk.client.patch("/requests/nothing", json={"note": "x"}), 404, "not-found")
    await desk.client.delete(f"/requests/{capture.id}")
    problem(await desk.client.patch(f"/requests/{capture.id}", json={"read": True}), 404, "not-found")
    problem(await desk.client.patch(f"/requests/{capture.id}", content=b"{"), 400, "invalid-json")
    problem(await desk.client.patch(f"/requests/{capture.id}?x=1", json={}), 400, "invalid-parameter")


async def test_the_marked_are_found(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="one")
    plain, starred, noted = [(await desk.capture(endpoint)).id for _ in range(3)]
    await desk.client.patch(f"/requests/{starred}", json={"starred": True})
    await desk.client.patch(f"/requests/{noted}", json={"note": "n"})
    for text, found in (("is:starred", [starred]), ("is:noted", [noted]), ("-is:starred -is:noted", [plain])):
        for query in ({"q": text}, {"q": text, "endpoint": "one"}):
            page = (await desk.client.get("/requests", params=query)).json()
            assert [item["id"] for item in page["items"]] == found


async def test_all_of_an_endpoint_are_marked_as_read(desk: Desk) -> None:
    one, other = await desk.endpoint(slug="one"), await desk.endpoint(slug="other")
    for endpoint in (one, one, other):
        await desk.capture(endpoint)
    response = await desk.client.post("/endpoints/one/read")
    assert (response.status_code, response.content) == (204, b"")
    unread = {item["slug"]: item["unread_count"] for item in (await desk.client.get("/endpoints")).json()["items"]}
    assert unread == {"one": 0, "other": 1}
    problem(await desk.client.post("/endpoints/unknown/read"), 404, "not-found")
