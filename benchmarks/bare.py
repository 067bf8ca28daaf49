"""The yardstick: the least an aiohttp server can do with a request, on plain asyncio, keeping nothing."""

from __future__ import annotations

import asyncio

from aiohttp import web


async def answer(request: web.Request) -> web.Response:
    """Read the body and answer with a little JSON."""
    await request.read()
    return web.json_response({"status": "captured"})


async def serve() -> None:
    """Serve on a free port of 127.0.0.1 until killed; prints `listening on URL`."""
    app = web.Application()
    app.router.add_post("/catch/bare", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f"listening on http://127.0.0.1:{runner.addresses[0][1]}/catch/bare", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
