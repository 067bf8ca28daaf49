"""The yardstick of deliveries: the least that an HTTP client does to post the same body again and again.

`python -m benchmarks.bare_sender URL --client aiohttp|httpx` stores nothing, and tells nothing.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import httpx

from benchmarks.load import BODY

_HEADERS = {"Content-Type": "application/json"}


async def aiohttp_loop(url: str, requests: int, parallel: int) -> None:
    """With aiohttp."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=parallel)) as session:

        async def post() -> None:
            async with session.post(url, data=BODY, headers=_HEADERS) as response:
                await response.read()

        await _repeat(post, requests, parallel)


async def httpx_loop(url: str, requests: int, parallel: int) -> None:
    """With httpx."""
    async with httpx.AsyncClient(trust_env=False) as client:

        async def post() -> None:
            await client.post(url, content=BODY, headers=_HEADERS)

        await _repeat(post, requests, parallel)


async def _repeat(post: Callable[[], Awaitable[None]], requests: int, parallel: int) -> None:
    left = iter(range(requests))

    async def lane() -> None:
        for _ in left:
            await post()

    await asyncio.gather(*(lane() for _ in range(parallel)))


CLIENTS = {"aiohttp": aiohttp_loop, "httpx": httpx_loop}


def main() -> None:
    """Post."""
    parser = argparse.ArgumentParser(prog="benchmarks.bare_sender", description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--client", choices=CLIENTS, default="aiohttp")
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--parallel", type=int, default=1)
    options = parser.parse_args()
    asyncio.run(CLIENTS[options.client](options.url, options.requests, options.parallel))


if __name__ == "__main__":
    main()
