"""What tests of several folders need: settings, a port nobody has, and a way to wait."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from app.current_settings import CurrentSettings


def current_settings(**values: Any) -> CurrentSettings:
    """The usual settings, but for these values; nothing is saved."""
    current = CurrentSettings(Path(), {})
    current.override(**values)
    return current


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


async def until(predicate: Callable[[], object], timeout: float = 45.0) -> None:
    """Return as soon as `predicate()` is true, which nothing announces; AssertionError after `timeout` seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout
    while not predicate():
        assert loop.time() < end, f"still not so after {timeout:g} s"
        await asyncio.sleep(0.005)


def while_read(
    owner: Any, name: str, happens: Callable[[], Awaitable[object]], **given: object
) -> Callable[[], object]:
    """The next time that `owner` reads by its method `name`, with these arguments at least, what it returns is from
    before `happens`; returns what is true from then on."""
    read, done = getattr(owner, name), asyncio.Event()

    async def late(*arguments: Any, **named: Any) -> Any:
        found = await read(*arguments, **named)
        if not done.is_set() and given.items() <= named.items():
            done.set()
            await happens()
        return found

    setattr(owner, name, late)
    return done.is_set
