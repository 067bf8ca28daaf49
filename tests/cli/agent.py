"""An agent: the official client of the Model Context Protocol, with a `hookline mcp` of its own.

Its library takes a second to load, which only those processes that run these tests should spend.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.cli.client import connect
from tests.cli.conftest import ROOT, services

if TYPE_CHECKING:
    from mcp import Client


@asynccontextmanager
async def agent(folder: Path, *options: str) -> AsyncIterator[Client]:
    """A client of a `hookline mcp` of its own."""
    from mcp import Client, StdioServerParameters, stdio_client

    arguments = ["-m", "hookline", "mcp", "--data-dir", str(folder), *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=ROOT)
    # Its default is what stderr was when it was loaded: the text that pytest kept of another test.
    async with Client(stdio_client(server, errlog=sys.__stderr__)) as client:
        yield client


@asynccontextmanager
async def reader(folder: Path, **allowed: bool) -> AsyncIterator[Client]:
    """A client of what `hookline mcp` with these options serves, in this process: to start one takes most of a
    second."""
    from mcp import Client

    from app.cli.mcp_server import build_server

    options = dict.fromkeys(("replay", "send", "create", "show_secrets"), False) | allowed
    server = build_server(lambda: connect(folder, services(), create=False), **options)
    async with Client(server) as client:
        yield client


async def result(client: Client, tool: str, **arguments: Any) -> Any:
    """What the tool returned."""
    done = await client.call_tool(tool, arguments)
    assert not done.is_error, done.content
    content = done.structured_content
    assert content is not None
    return content["result"] if set(content) == {"result"} else content


async def error(client: Client, tool: str, **arguments: Any) -> str:
    """Why the tool failed."""
    done = await client.call_tool(tool, arguments)
    assert done.is_error
    return "".join(getattr(one, "text", "") for one in done.content)
