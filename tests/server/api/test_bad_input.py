"""What every call of the table does with callers it does not know, IDs that do not exist, and bodies that are wrong."""

from __future__ import annotations

import re

import httpx
import pytest

from app.server.api.routes import Route
from app.server.api.web_application import BODY_MAX
from tests.server.api.conftest import TOKEN, Desk, fields, problem

JSON = ("/status", "/endpoints", "/endpoints/orders", "/requests", "/openapi.json", "/settings", "/tunnel/programs")
UNKNOWN = {"slug": "unknown", "number": "1"}
UNKNOWN_ID = "0199c2a4-6f3b-7d10-8a51-2f0c9be41d77"


def path(route: Route) -> str:
    """A path of the call, with values that name nothing."""
    return re.sub(r"\{(\w+)\}", lambda found: UNKNOWN.get(found[1], UNKNOWN_ID), route.path)


async def call(desk: Desk, route: Route, **options: object) -> httpx.Response:
    return await desk.client.request(route.method, path(route), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "status", "kind"),
    [
        ({"Authorization": ""}, 401, "unauthorized"),
        ({"Authorization": f"Bearer {TOKEN}x"}, 401, "unauthorized"),
        ({"Host": "hooks.example"}, 403, "forbidden-host"),
        ({"Origin": "https://hooks.example"}, 403, "forbidden-origin"),
        ({"Origin": "null"}, 403, "forbidden-origin"),
    ],
)
async def test_strangers_are_refused_everywhere(desk: Desk, headers: dict[str, str], status: int, kind: str) -> None:
    for route in desk.routes:
        problem(await call(desk, route, headers=headers, content=b"{"), status, kind)


async def test_every_response_ends_with_a_newline(desk: Desk) -> None:
    """A terminal's prompt begins on a line of its own."""
    await desk.endpoint(slug="orders")
    calls = [await call(desk, route, headers={"Authorization": ""}) for route in desk.routes]
    calls += [await desk.client.get(route.path) for route in desk.routes if route.path in JSON]
    calls.append(await desk.client.post("/endpoints", json={"name": "New"}))
    assert len(calls) > 2 * len(JSON)
    assert [one.request.url.path for one in calls if not one.content.endswith(b"}\n")] == []


async def test_unknown_ids_are_not_found_everywhere(desk: Desk) -> None:
    found = [route for route in desk.routes if "{" in route.path]
    assert len(found) > 10
    for route in found:
        body = dict(route.body.example) if route.body is not None else None
        told = problem(await call(desk, route, json=body), 404, "not-found")
        assert "unknown" in told["detail"] or UNKNOWN_ID in told["detail"], route.path


async def test_unknown_parameters_are_named_everywhere(desk: Desk) -> None:
    for route in desk.routes:
        response = await call(desk, route, params={"unheard": "1"})
        assert fields(response, 400, "invalid-parameter") == ["unheard"], route.path


async def test_wrong_bodies_are_refused_everywhere(desk: Desk) -> None:
    with_body = [route for route in desk.routes if route.body is not None]
    assert len(with_body) > 5
    for route in with_body:
        assert fields(await call(desk, route, json={**route.body.example, "unheard": 1})) == ["unheard"]
        for content in (b"[]", b"null", b'"{}"', b"1"):
            problem(await call(desk, route, content=content), 422, "invalid-fields")
        for content in (b"{", b"\xff", b"{'a': 1}"):
            problem(await call(desk, route, content=content), 400, "invalid-json")
        problem(await call(desk, route, content=b" " * (BODY_MAX + 1)), 413, "body-too-large")


@pytest.mark.parametrize(
    ("q", "span"), [("status:abc", [7, 10]), ("a status:9xx b", [9, 12]), ('say "hello', [4, 10]), ("a OR", [2, 4])]
)
async def test_a_wrong_search_is_told_with_its_place(desk: Desk, q: str, span: list[int]) -> None:
    told = problem(await desk.client.get("/requests", params={"q": q}), 400, "invalid-query")
    assert (told["span"], [error["field"] for error in told["errors"]]) == (span, ["q"])
    await desk.endpoint(slug="orders", forward_url="http://127.0.0.1:9/")
    for where in ("/replays", "/endpoints/orders/replay"):
        told = problem(await desk.client.post(where, json={"q": q}), 400, "invalid-query")
        assert told["span"] == span
