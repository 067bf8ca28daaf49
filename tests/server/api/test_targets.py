"""Targets through the local API."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from app.core.target import PausedBy, Target
from tests import deliveries
from tests.server.api.conftest import Desk, fields, problem

CLIENT = str(deliveries.CLIENT_CERTIFICATE)
MISSING = "No such file or directory"
DEFAULTS: dict[str, Any] = {
    "url": deliveries.URL,
    "active": True,
    "append_path": True,
    "keep_query": True,
    "set_headers": [],
    "add_headers": [],
    "remove_headers": [],
    "attempt_header": None,
    "rate_limit": None,
    "auto_resume": False,
    "host": "target",
    "timeout_ms": 10_000,
    "verify_tls": True,
    "client_certificate": None,
    "ca_certificate": None,
    "client_key": None,
    "follow_redirects": False,
    "retry": {
        "retries": 4,
        "on": ["connection"],
        "first_delay_ms": 1_000,
        "longest_delay_ms": 30_000,
        "total_ms": 600_000,
    },
    "parallel": None,
    "pause_after": 10,
}
ALL: dict[str, Any] = {
    "url": "https://localhost:8443/x?a=1",
    "active": False,
    "append_path": False,
    "keep_query": False,
    "set_headers": [["X-Env", "dev"], ["X-Env", "two"]],
    "add_headers": [["X-More", ""]],
    "remove_headers": ["Authorization"],
    "attempt_header": "X-Attempt",
    "rate_limit": 2.5,
    "auto_resume": True,
    "host": "sender",
    "timeout_ms": 600_000,
    "verify_tls": False,
    "client_certificate": CLIENT,
    "client_key": CLIENT,
    "ca_certificate": CLIENT,
    "follow_redirects": True,
    "retry": {"retries": 0, "on": ["5xx", "429"], "first_delay_ms": 0, "longest_delay_ms": 0, "total_ms": 0},
    "parallel": 64,
    "pause_after": 0,
}


async def create(desk: Desk, slug: str = "orders", **given: Any) -> dict[str, Any]:
    response = await desk.client.post(f"/endpoints/{slug}/targets", json={"url": deliveries.URL, **given})
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    assert response.headers["location"] == f"/api/v1/endpoints/{slug}/targets/{made['id']}"
    return made


async def test_create_with_a_url_alone(desk: Desk) -> None:
    await desk.endpoint(slug="orders")
    made = await create(desk)
    assert made == {
        **DEFAULTS,
        "id": made["id"],
        "position": 1,
        "paused": None,
        "queued": 0,
        "failures": 0,
        "last_error": None,
        "deleted": 0,
    }


async def test_a_url_may_lack_its_beginning(desk: Desk) -> None:
    await desk.endpoint(slug="orders")
    made = await create(desk, url="localhost:3000/hooks")
    assert made["url"] == "http://localhost:3000/hooks"
    changed = await desk.client.patch(f"/endpoints/orders/targets/{made['id']}", json={"url": ":3001"})
    assert changed.json()["url"] == "http://localhost:3001"
    endpoint = await desk.client.patch("/endpoints/orders", json={"forward_url": "3002"})
    assert endpoint.json()["forward_url"] == "http://localhost:3002"
    replay = await desk.client.post("/endpoints/orders/replay", json={"url": "3003"})
    assert replay.json()["url"] == "http://localhost:3003", replay.text


async def test_create_with_everything_and_read_it_back(desk: Desk) -> None:
    await desk.endpoint(slug="orders", forward_url=deliveries.URL)
    made = await create(desk, **ALL)
    assert made == {
        **ALL,
        "id": made["id"],
        "position": 2,
        "paused": None,
        "queued": 0,
        "failures": 0,
        "last_error": None,
        "deleted": 0,
    }
    assert (await desk.client.get(f"/endpoints/orders/targets/{made['id']}")).json() == made
    listed = (await desk.client.get("/endpoints/orders/targets")).json()
    assert (len(listed["items"]), listed["items"][1], listed["next"]) == (2, made, None)
    endpoint = (await desk.client.get("/endpoints/orders")).json()
    assert endpoint["targets"] == listed["items"]
    assert (await desk.client.get("/endpoints")).json()["items"] == [endpoint]


async def test_wrong_fields_are_named(desk: Desk) -> None:
    await desk.endpoint(slug="orders")
    for body, named in (
        ({}, ["url"]),
        ({"url": 5}, ["url"]),
        ({"url": "ftp://x"}, ["url"]),
        ({"url": deliveries.URL, "colour": 1}, ["colour"]),
        ({"url": deliveries.URL, "id": 7}, ["id"]),
        ({"url": deliveries.URL, "active": "yes"}, ["active"]),
        ({"url": deliveries.URL, "host": "mine"}, ["host"]),
        ({"url": deliveries.URL, "retry": {"retires": 1}}, ["retry.retires"]),
        ({"url": deliveries.URL, "retry": {"retries": "1"}}, ["retry.retries"]),
        ({"url": deliveries.URL, "retry": {"on": ["5xx", "200"]}}, ["retry.on"]),
        (
            {
                "url": "/x",
                "set_headers": [["a b", ""]],
                "add_headers": [["Content-Length", "1"]],
                "remove_headers": ["Host"],
                "timeout_ms": 99,
                "parallel": 0,
                "pause_after": -1,
                "attempt_header": "Host",
                "rate_limit": 0,
                "client_key": "key.pem",
                "retry": {"retries": 51, "first_delay_ms": -1, "longest_delay_ms": 86_400_001, "total_ms": -1},
            },
            [
                *("url", "set_headers", "add_headers", "remove_headers", "attempt_header", "timeout_ms", "client_key"),
                *("retry.retries", "retry.first_delay_ms", "retry.longest_delay_ms", "retry.total_ms"),
                *("parallel", "rate_limit", "pause_after"),
            ],
        ),
    ):
        assert fields(await desk.client.post("/endpoints/orders/targets", json=body)) == named, body
        assert (await desk.client.get("/endpoints/orders/targets")).json()["items"] == [], body


async def test_the_files_of_certificates_are_checked_when_they_are_set(desk: Desk, tmp_path: Path) -> None:
    await desk.endpoint(slug="orders")
    there, gone, text = tmp_path / "there.pem", tmp_path / "gone.pem", tmp_path / "text.pem"
    other = deliveries.OTHER_CLIENT_KEY
    shutil.copy(CLIENT, there)
    text.write_text("hello")
    path = f"/endpoints/orders/targets/{(await create(desk, client_certificate=str(there)))['id']}"
    wrong = [
        (
            {"client_certificate": str(gone)},
            f"The client certificate {gone} cannot be read: No such file or directory.",
        ),
        ({"client_certificate": str(tmp_path)}, f"The client certificate {tmp_path} is not a file."),
        ({"client_certificate": str(text)}, f"The client certificate {text} contains no PEM certificate."),
        ({"client_key": str(text)}, f"The client key {text} contains no PEM private key."),
        ({"client_key": str(other)}, f"The client key {other} does not belong to the certificate {there}."),
        ({"ca_certificate": str(text)}, f"The CA certificate {text} contains no PEM certificate."),
    ]
    for given, message in wrong:
        (field,) = given
        refused = await desk.client.patch(path, json=given)
        assert fields(refused) == [field]
        assert [one["message"] for one in refused.json()["errors"]] == [message]
    both = {"url": deliveries.URL, "client_certificate": str(gone), "ca_certificate": str(gone)}
    refused = await desk.client.post("/endpoints/orders/targets", json=both)
    assert fields(refused) == ["client_certificate", "ca_certificate"]
    there.unlink()
    changed = await desk.client.patch(path, json={"active": False})
    assert (changed.status_code, changed.json()["client_certificate"]) == (200, str(there))
    assert fields(await desk.client.patch(path, json={"client_key": CLIENT})) == ["client_certificate"]


async def test_patch_changes_what_is_given_and_nothing_else(desk: Desk) -> None:
    await desk.endpoint(slug="orders")
    before = await create(desk, **ALL)
    path = f"/endpoints/orders/targets/{before['id']}"
    changed = await desk.client.patch(path, json={"retry": {"retries": 7}, "client_key": None})
    assert changed.json() == {**before, "retry": {**ALL["retry"], "retries": 7}, "client_key": None}
    assert (await desk.client.get(path)).json() == changed.json()
    assert fields(await desk.client.patch(path, json={"timeout_ms": 0, "url": "x"})) == ["url", "timeout_ms"]
    assert fields(await desk.client.patch(path, json={"url": None})) == ["url"]
    assert (await desk.client.get(path)).json() == changed.json()


async def test_two_patches_at_once_change_both(desk: Desk) -> None:
    await desk.endpoint(slug="orders")
    path = f"/endpoints/orders/targets/{(await create(desk))['id']}"
    await asyncio.gather(
        desk.client.patch(path, json={"parallel": 2}),
        desk.client.patch("/endpoints/orders", json={"description": "d"}),
        desk.client.patch(path, json={"url": "http://127.0.0.1:9/b"}),
    )
    found = (await desk.client.get(path)).json()
    assert (found["parallel"], found["url"]) == (2, "http://127.0.0.1:9/b")


async def test_patch_moves_a_target(desk: Desk) -> None:
    await desk.endpoint(slug="orders")
    ids = [(await create(desk, url=f"http://127.0.0.1:9/{number}"))["id"] for number in range(3)]
    moved = await desk.client.patch(f"/endpoints/orders/targets/{ids[2]}", json={"position": 1, "active": False})
    assert (moved.json()["position"], moved.json()["active"]) == (1, False)
    listed = (await desk.client.get("/endpoints/orders/targets")).json()["items"]
    assert [one["id"] for one in listed] == [ids[2], ids[0], ids[1]]
    wrong = await desk.client.patch(f"/endpoints/orders/targets/{ids[0]}", json={"position": 4, "active": False})
    assert fields(wrong) == ["position"]
    assert (await desk.client.get(f"/endpoints/orders/targets/{ids[0]}")).json()["active"] is True
    page = (await desk.client.get("/endpoints/orders/targets?limit=2")).json()
    assert [one["id"] for one in page["items"]] == [ids[2], ids[0]]
    page = (await desk.client.get(f"/endpoints/orders/targets?limit=2&cursor={page['next']}")).json()
    assert ([one["id"] for one in page["items"]], page["next"]) == ([ids[1]], None)


async def test_pause_keeps_deliveries_queued_and_resume_ends_it(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="orders", forward_url=deliveries.URL)
    path = f"/endpoints/orders/targets/{endpoint.targets[0].id}"
    await deliveries.queued(desk.store, endpoint)
    assert (await desk.client.post(f"{path}/pause")).json()["paused"] == "user"
    read = (await desk.client.get(path)).json()
    assert (read["paused"], read["queued"], read["active"]) == ("user", 1, True)
    assert (await desk.client.post(f"{path}/resume")).json()["paused"] is None


async def test_a_target_that_failed_too_often_says_so(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="orders", forward_url=deliveries.URL)
    path = f"/endpoints/orders/targets/{endpoint.targets[0].id}"
    await desk.client.patch(path, json={"pause_after": 1})
    for one in await deliveries.queued(desk.store, endpoint):
        await deliveries.fail(desk.store, one)
    assert (await desk.client.get(path)).json()["paused"] == PausedBy.FAILURES


async def test_delete(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="orders", forward_url=deliveries.URL)
    path = f"/endpoints/orders/targets/{endpoint.targets[0].id}"
    (waiting,) = await deliveries.queued(desk.store, endpoint)
    assert (await desk.client.delete(path)).status_code == 204
    problem(await desk.client.get(path), 404, "not-found")
    assert (await desk.client.get("/endpoints/orders")).json()["forward_url"] is None
    assert (await desk.client.get(f"/deliveries/{waiting.id}")).json()["state"] == "not_sent"


async def test_only_a_target_of_that_endpoint_is_found(desk: Desk) -> None:
    endpoint = await desk.endpoint(slug="orders", forward_url=deliveries.URL)
    await desk.endpoint(slug="other")
    target: Target = endpoint.targets[0]
    for path in (f"/endpoints/other/targets/{target.id}", "/endpoints/orders/targets/x", f"/endpoints/no/targets/{1}"):
        for method, after in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume")):
            body: dict[str, Any] | None = {} if method == "PATCH" else None
            problem(await desk.client.request(method, path + after, json=body), 404, "not-found")
    problem(await desk.client.get("/endpoints/no/targets"), 404, "not-found")
    problem(await desk.client.post("/endpoints/no/targets", json={"url": deliveries.URL}), 404, "not-found")
    assert desk.store.targets.by_id(target.id) == target
