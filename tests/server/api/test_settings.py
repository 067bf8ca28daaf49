"""Settings and storage limits through the local API."""

from __future__ import annotations

from contextlib import suppress

from app.core.errors import StorageLimitError
from app.core.settings import Settings
from tests.server.api.conftest import Desk, fields, problem


async def test_every_setting_is_read(desk: Desk) -> None:
    read = (await desk.client.get("/settings")).json()
    assert read == {**{key: getattr(Settings(), key) for key in Settings.__struct_fields__}, "overridden": {}}
    assert {"storage_limit", "when_full", "body_limit", "port", "theme", "on_close"} <= read.keys()


async def test_what_is_given_is_changed_and_all_else_stays(desk: Desk) -> None:
    changed = await desk.client.patch("/settings", json={"storage_limit": 2**30, "when_full": "stop_capturing"})
    assert changed.status_code == 200
    assert changed.json() == {
        **{key: getattr(Settings(), key) for key in Settings.__struct_fields__},
        "storage_limit": 2**30,
        "when_full": "stop_capturing",
        "overridden": {},
    }
    assert (await desk.client.get("/settings")).json() == changed.json()
    assert desk.settings.now.theme == "system"
    assert (await desk.client.patch("/settings", json={"storage_limit": None})).json()["storage_limit"] is None


async def test_values_of_this_run_are_told_and_saved_when_given(desk: Desk) -> None:
    desk.settings.override(port=9000)
    read = (await desk.client.get("/settings")).json()
    assert (read["port"], read["overridden"]) == (9000, {"port": 8787})
    assert (await desk.client.patch("/settings", json={"port": 9000})).status_code == 200
    assert desk.kept == ["port"]
    assert (await desk.client.patch("/settings", json={"overridden": {}})).status_code == 422


async def test_what_breaks_a_rule_is_named_and_changes_nothing(desk: Desk) -> None:
    for body, named in (
        ({"storage_limit": 0}, ["storage_limit"]),
        ({"storage_limit": -1}, ["storage_limit"]),
        ({"storage_limit": 2**24 - 1}, ["storage_limit"]),
        ({"storage_limit": 2**60}, ["storage_limit"]),
        ({"storage_limit": "20 GiB"}, ["storage_limit"]),
        ({"storage_limit": True}, ["storage_limit"]),
        ({"when_full": "explode"}, ["when_full"]),
        ({"port": 0, "body_limit": 1}, ["port", "body_limit"]),
        ({"host": "300.1.1.1"}, ["host"]),
        ({"theme": "pink"}, ["theme"]),
        ({"on_close": "stay"}, ["on_close"]),
        ({"colour": "red"}, ["colour"]),
    ):
        assert fields(await desk.client.patch("/settings", json=body)) == named, body
        assert desk.settings.now == Settings(), body


async def test_a_port_that_is_taken_is_a_conflict(desk: Desk) -> None:
    told = problem(await desk.client.patch("/settings", json={"port": desk.taken_port}), 409, "port-in-use")
    assert str(desk.taken_port) in told["detail"]


async def test_a_limit_out_of_bounds_is_told_as_people_write_sizes(desk: Desk) -> None:
    told = problem(await desk.client.patch("/settings", json={"storage_limit": 5}), 422, "invalid-fields")
    assert told["detail"] == "Storage limit must be 16 MiB to 1024 TiB, not 5 B."


async def test_the_status_and_the_endpoint_say_that_a_limit_is_reached(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="orders", storage_limit=2**20, when_full="stop_capturing")
    while not desk.store.limits.use_of(endpoint.id).reached:
        with suppress(StorageLimitError):
            await desk.capture(endpoint, bytes(100_000))
    read = (await desk.client.get("/endpoints/orders")).json()
    assert read["storage_limit_reached"]
    assert 900_000 < read["stored_bytes"] <= 2**20
    stored = (await desk.client.get("/status")).json()["stored"]
    assert stored == {
        "bytes": read["stored_bytes"],
        "limit": None,
        "when_full": "delete_oldest",
        "limit_reached": False,
        "capturing_stopped": False,
        "response_bytes": 0,
        "response_limit": 0,
    }
    desk.store.limits.set_limit(900_000, "stop_capturing")
    stored = (await desk.client.get("/status")).json()["stored"]
    assert (stored["limit_reached"], stored["capturing_stopped"]) == (True, True)
    changed = await desk.client.patch("/endpoints/orders", json={"storage_limit": None})
    assert (changed.json()["storage_limit"], changed.json()["storage_limit_reached"]) == (None, False)
