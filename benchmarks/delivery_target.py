"""The target of deliveries: an aiohttp server that reads each request, answers `ok`, and tells how fast they came.

`python -m benchmarks.delivery_target` prints `listening on URL`. GET `URL/count` answers how many arrived since DELETE
`URL/count`, and the seconds between the first and the last of them.
"""

from __future__ import annotations

import asyncio
import time

from aiohttp import web


class Target:
    """Counts what arrives."""

    def __init__(self) -> None:
        self._arrived = 0
        self._first = self._last = 0.0

    async def receive(self, request: web.Request) -> web.Response:
        """Read the whole request."""
        await request.read()
        self._last = time.perf_counter()
        if not self._arrived:
            self._first = self._last
        self._arrived += 1
        return web.Response(text="ok")

    async def count(self, _: web.Request) -> web.Response:
        """What arrived, and in which time."""
        told = {"arrived": self._arrived, "seconds": self._last - self._first}
        return web.json_response(told)

    async def forget(self, _: web.Request) -> web.Response:
        """Count from zero."""
        self._arrived = 0
        return web.Response()


async def serve() -> None:
    """Serve on a free port of 127.0.0.1 until killed."""
    target = Target()
    app = web.Application()
    app.router.add_get("/count", target.count)
    app.router.add_delete("/count", target.forget)
    app.router.add_post("/hook", target.receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
