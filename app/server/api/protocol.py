"""One caller's connection: errors that aiohttp raises outside the handlers are problems as well."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from aiohttp import web

from app.server.api.problems import Problem, router_problem
from app.server.capture.head import parser_words

SERVER_NAME = "Hookline"
"""Instead of the versions that aiohttp names."""


class ApiProtocol(web.RequestHandler):
    """aiohttp's, with other errors: no plain text, no traceback for what a caller sent."""

    def __init__(self, manager: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(manager, loop=loop, access_log=None)  # type: ignore[arg-type]  # as web.AppRunner hands it on

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if status == HTTPStatus.BAD_REQUEST and isinstance(exc, Exception):
            problem = Problem(400, "bad-request", f"Malformed HTTP: {parser_words(exc)}.")
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


async def name_server(_: web.BaseRequest, response: web.StreamResponse) -> None:
    """Signal handler that puts our name into all other responses."""
    response.headers["Server"] = SERVER_NAME
