"""A target as a process of its own that fails as the path of each request says, and logs what it received.

`python faulty_target.py LOG`: prints its port. The path is `/NAME/PLAN`: the n-th letter of PLAN is what happens to the
n-th request of NAME, and after the last letter every request succeeds; a `*` after the last letter repeats it for ever.
"""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import struct
import sys
from collections import Counter
from typing import Any

from aiohttp import web

ERROR, BUSY, BUSY_FOR_A_SECOND, HANG, RESET, CLOSE, SLOW, LONG, OK = "euUhrcsl."
"""Status 500; 503 with `Retry-After: 0` or `1`; no response; a reset; a close without a response; a response in pieces;
one with a body of `LONG_SIZE` bytes; a response at once."""
LONG_SIZE = 900_000
SLOW_S = 0.05


def behaviour(plan: str, number: int) -> str:
    """What happens to the `number`-th request, from 1."""
    letters = plan.removesuffix("*")
    if number <= len(letters):
        return letters[number - 1]
    return letters[-1] if plan.endswith("*") else OK


class FaultyTarget:
    """Counts requests by name, and logs a line of JSON for each before anything is sent back."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._seen: Counter[str] = Counter()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        _, name, plan = request.path.split("/")
        body = await request.read()
        self._seen[name] += 1
        does = behaviour(plan, self._seen[name])
        entry = {"name": name, "number": self._seen[name], "does": does, "body": base64.b64encode(body).decode()}
        self._log.write(json.dumps(entry) + "\n")
        self._log.flush()
        return await self._respond(request, does)

    async def _respond(self, request: web.Request, does: str) -> web.StreamResponse:
        assert request.transport is not None
        if does == HANG:
            await asyncio.sleep(60)
        if does == RESET:
            connection = request.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        if does in (RESET, CLOSE):
            request.transport.abort() if does == RESET else request.transport.close()
            return web.Response()
        if does == SLOW:
            return await self._respond_slowly(request)
        if does == ERROR:
            return web.Response(status=500, text="no")
        if does in (BUSY, BUSY_FOR_A_SECOND):
            return web.Response(status=503, headers={"Retry-After": str(int(does == BUSY_FOR_A_SECOND))})
        return web.Response(body=b"y" * LONG_SIZE if does == LONG else b"yes")

    async def _respond_slowly(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "2"})
        await response.prepare(request)
        for piece in (b"y", b"s"):
            await asyncio.sleep(SLOW_S / 2)
            await response.write(piece)
        return response


async def main(log: Any) -> None:
    server = web.Server(FaultyTarget(log).handle)  # type: ignore[arg-type]
    runner = web.ServerRunner(server, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with open(sys.argv[1], "a", encoding="utf-8") as file:
        asyncio.run(main(file))
