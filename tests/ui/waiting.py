"""Waiting inside a window test; see the `run` fixture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(predicate: Callable[[], object], timeout: float = 20.0) -> None:
    """Return as soon as `predicate()` is true; AssertionError after `timeout` seconds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout
    while not predicate():
        assert loop.time() < end, f"still not so after {timeout:g} s"
        await asyncio.sleep(0.005)


async def settle(rounds: int = 3) -> None:
    """Let Qt deliver what it has posted, and the loop run what that started, a few times over."""
    for _ in range(rounds):
        await asyncio.sleep(0.001)
