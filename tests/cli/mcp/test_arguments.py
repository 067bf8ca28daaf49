"""Each wrong argument is named in one short sentence, with what is allowed."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from app.cli.client import ApiClient

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer


def _nothing() -> AbstractContextManager[ApiClient]:
    raise AssertionError("a refused call asks Hookline nothing")


@cache
def _server() -> MCPServer:
    """With every tool."""
    from app.cli.mcp_server import build_server

    return build_server(_nothing, replay=True, send=True, create=True, show_secrets=False)


async def refused(tool: str, **arguments: Any) -> str:
    """Why the call is refused."""
    from mcp.server.mcpserver.exceptions import ToolError

    with pytest.raises(ToolError) as raised:
        await _server().call_tool(tool, arguments)
    return str(raised.value)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search_requests", {"limit": 101}, "limit must be a whole number from 1 to 100, not 101."),
        ("search_requests", {"limit": "all"}, 'limit must be a whole number from 1 to 100, not "all".'),
        ("search_requests", {"limit": 1.5}, "limit must be a whole number from 1 to 100, not 1.5."),
        ("search_requests", {"limit": None}, "limit must be a whole number from 1 to 100, not null."),
        ("search_requests", {"query": 7}, "query must be text, not 7."),
        ("search_requests", {"query": 7, "limit": 0}, "query must be text, not 7."),
        ("search_requests", {"endpoint": ["a"]}, 'endpoint must be text or null, not ["a"].'),
        (
            "get_request",
            {"request": "x", "body_offset": -1},
            "body_offset must be a whole number of at least 0, not -1.",
        ),
        (
            "list_deliveries",
            {"state": "lost"},
            'state must be one of queued, delivered, not_sent, failed or null, not "lost".',
        ),
        (
            "send_request",
            {"endpoint": "a", "headers": {"b": 1}},
            "headers must be an object of texts or null, not 1, in 'b'.",
        ),
        ("send_request", {"endpoint": "a", "headers": "x"}, 'headers must be an object of texts or null, not "x".'),
        (
            "create_endpoint",
            {"name": "a", "retention_days": 0},
            "retention_days must be a whole number from 1 to 90, not 0.",
        ),
    ],
)
async def test_a_wrong_argument_is_named_with_what_is_allowed(tool: str, arguments: dict[str, Any], told: str) -> None:
    assert await refused(tool, **arguments) == told


async def test_a_missing_argument_is_described() -> None:
    text = await refused("get_request")
    assert text.startswith("request is missing. It must be text: The request's ID, ")
    assert len(text.splitlines()) == 1


async def test_a_misspelt_name_is_the_reason_for_a_missing_one() -> None:
    assert await refused("get_request", reqest="@last", body_bytes=-1) == (
        "Unknown argument 'reqest'. Did you mean request? The arguments are request, body_bytes, body_offset."
    )


async def test_a_long_value_is_shortened() -> None:
    text = await refused("get_request", request="@last", body_bytes="\U0001f600" * 10_000)
    assert text.startswith("body_bytes must be a whole number from 0 to 65536, not ")
    assert len(text) < 200


async def test_an_unknown_argument_that_is_like_no_other_is_told_with_those_that_exist() -> None:
    assert await refused("get_request", request="@last", colour="red") == (
        "Unknown argument 'colour'. The arguments are request, body_bytes, body_offset."
    )
    assert await refused("status", verbose=True) == "Unknown argument 'verbose'. There are no arguments."


async def test_the_schema_of_each_tool_says_that_it_takes_nothing_else() -> None:
    tools = await _server().list_tools()
    assert len(tools) >= 10
    assert {tool.input_schema["additionalProperties"] for tool in tools} == {False}


async def test_an_unknown_tool_is_told_with_what_was_meant() -> None:
    assert "Did you mean get_request?" in await refused("get_reqest", request="@last")
