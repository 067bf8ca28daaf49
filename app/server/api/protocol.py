"""The API's side of a connection: aiohttp's, but every error is a problem, and handlers learn when a caller leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus

from aiohttp import web

from app.server.api.problems import Problem, router_problem
from app.server.capture.head import parser_reason

SERVER_NAME = "Hookline"
"""Sent instead of the versions that aiohttp names."""


class ApiProtocol(web.RequestHandler):
    """aiohttp's request handler, but its own errors are problems as well: no plain text, no traceback."""

    def __init__(self, manager: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(manager, loop=loop, access_log=None)  # type: ignore[arg-type]  # as web.AppRunner hands it on
        self.on_lost: Callable[[], None] | None = None
        """Called when the caller has left, for a handler that waits without writing."""

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self.on_lost is not None:
            self.on_lost()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status == HTTPStatus.BAD_REQUEST and isinstance(exc, Exception):
            problem = Problem(400, "bad-request", f"Malformed HTTP: {parser_reason(exc)}.")
        else:
            self.logger.error("a call of the API failed", exc_info=exc)
            problem = Problem(500, "internal", "Hookline could not do this because of an internal error; see its log.")
        if request.writer.output_size > 0:
            raise ConnectionError("the response has begun already")
        response = problem.response()
        response.headers["Server"] = SERVER_NAME
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        if isinstance(resp, web.HTTPException):  # raised where no middleware is, such as for an unknown Expect
            resp = router_problem(request, resp).response()
        return await super().finish_response(request, resp, start_time)
