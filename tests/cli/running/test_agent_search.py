"""With redaction on, no question that an agent can ask tells a character of a secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from app.core.search.field import quoted
from tests.cli.agent import reader, result
from tests.cli.conftest import Program, Run
from tests.cli.sending import send

if TYPE_CHECKING:
    from mcp import Client

pytestmark = pytest.mark.slow

SECRET = "8675309"
DIGITS = "81"
"""The one that the secret begins with, and another one."""
PLACES = {"body": ('"password": "', "json:password"), "header": ("X-Partner: ", "header:x-partner")}
"""The text before the secret, and the filter that looks at it."""


async def answers(client: Client, before: str, name: str, digit: str) -> list[tuple[int, bool, int]]:
    """What each form of asking whether the secret begins so tells."""
    word = quoted(before + digit)
    asked = [word, f"{name}~{digit}", f"-{word}", f"-{name}~{digit}", f"nothing OR {word}", f"-json:pin<{digit}000000"]
    told = [await result(client, "search_requests", query=one, endpoint="partner", limit=1) for one in asked]
    return [(len(one["requests"]), one["more"], one["unexamined"]) for one in told]


async def test_no_search_of_an_agent_tells_a_character_of_a_secret(
    program: Program, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_AUTH_SECRET", SECRET)
    assert run("endpoint", "add", "P", "--slug", "partner", "--auth", "header:X-Partner").code == 0
    body = json.dumps({"pin": int(SECRET), "password": SECRET, "n": 1}).encode()
    async with reader(program.folder) as client:
        nothing = await result(client, "wait_for_request", endpoint="partner", timeout_seconds=1)
        for _ in range(2):
            send(program, f"/catch/partner?code={SECRET}", body, Content_Type="application/json", X_Partner=SECRET)
        for before, name in PLACES.values():
            first, other = [await answers(client, before, name, digit) for digit in DIGITS]
            assert first == other
        for query, is_met in ((SECRET, False), (f"-{SECRET}", True), ("json:n=1 code", True)):
            waited = await result(
                client,
                "wait_for_request",
                query=query,
                after=nothing["position"],
                endpoint="partner",
                timeout_seconds=1,
            )
            assert (waited["request"] is not None) is is_met


async def test_no_list_of_an_agent_shows_what_the_body_is_withheld_for(program: Program, run: Run) -> None:
    assert run("endpoint", "add", "token=hunter2", "--slug", "named").code == 0
    send(program, "/catch/orders", b"\xa1\x68password\x67hunter2", Content_Type="application/cbor")
    send(program, "/catch/orders", b"name\tpassword\nbob\thunter2\n", Content_Type="text/tab-separated-values")
    send(program, "/catch/orders", b"password\thunter2\n", Content_Type="text/tab-separated-values")
    send(program, "/catch/orders", b'{"password": "hunter2", "type": "order.paid"}', Content_Type="application/json")
    async with reader(program.folder) as client:
        found = await result(client, "search_requests", endpoint="orders")
        assert [one["summary"] for one in found["requests"]] == [
            *("order.paid · JSON · password, type", "TSV · 17 B", "TSV · 26 B", "cbor · 18 B")
        ]
        waited = await result(client, "wait_for_request", endpoint="orders", after=found["requests"][-1]["id"])
        assert waited["request"]["summary"] == "TSV · 26 B"
        for sought, count in (("hunter", 0), ("token", 1)):
            assert len((await result(client, "list_endpoints", name=sought))["endpoints"]) == count
