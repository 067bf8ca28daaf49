"""The local API's listener: loopback only, its own port, started and stopped by the application."""

from __future__ import annotations

import asyncio
import errno
from http import HTTPStatus

from aiohttp import web

from app.core.errors import HooklineError, PortInUseError
from app.server.api.account import AccountCalls
from app.server.api.auth import guard
from app.server.api.backups import BackupCalls
from app.server.api.comparison import ComparisonCalls
from app.server.api.deliveries import DeliveryCalls
from app.server.api.endpoints import EndpointCalls
from app.server.api.openapi import documented
from app.server.api.problems import Problem, problems, router_problem
from app.server.api.replays import ReplayCalls
from app.server.api.requests import RequestCalls
from app.server.api.routes import register
from app.server.api.services import ApiServices
from app.server.api.settings import SettingsCalls
from app.server.api.status import StateCalls
from app.server.api.targets import TargetCalls
from app.server.capture.head import parser_reason
from app.server.listening import find_holder, stop_listening

SERVER_NAME = "Hookline"
"""Sent instead of the versions that aiohttp names."""


class ApiProtocol(web.RequestHandler):
    """aiohttp's request handler, but its own errors are problems as well: no plain text, no traceback."""

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


async def name_server(_: web.BaseRequest, response: web.StreamResponse) -> None:
    """Signal handler that sets the Server header of all other responses."""
    response.headers["Server"] = SERVER_NAME


CALLS = (
    StateCalls,
    AccountCalls,
    SettingsCalls,
    EndpointCalls,
    TargetCalls,
    RequestCalls,
    DeliveryCalls,
    ReplayCalls,
    ComparisonCalls,
    BackupCalls,
)
"""All classes with handlers, in the order of the documentation."""

BODY_MAX = 2 * 1024 * 1024
_STOP_S = 1.0
_BACKLOG = 128


class ApiServer:
    """Serves `/api/v1` to callers with `token`."""

    def __init__(self, services: ApiServices, token: str) -> None:
        self._services = services
        self._token = token
        self.routes = documented(route for calls in CALLS for route in calls(services).routes())
        """All calls, in the order of the documentation."""
        self._running: tuple[web.AppRunner, asyncio.Server] | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port it listens on; RuntimeError before `start`."""
        if self._running is None:
            raise RuntimeError("the local API is not being served")
        host, port = self._running[1].sockets[0].getsockname()[:2]
        return host, port

    async def start(self, host: str, port: int) -> None:
        """Listen (port 0: any free one). PortInUseError when it is in use; then nothing was started."""
        runner = web.AppRunner(self._application(), shutdown_timeout=_STOP_S)
        await runner.setup()
        manager, loop = runner.server, asyncio.get_running_loop()
        assert manager is not None
        try:
            server = await loop.create_server(lambda: ApiProtocol(manager, loop), host, port, backlog=_BACKLOG)
        except OSError as error:
            await runner.cleanup()
            if error.errno == errno.EADDRINUSE:
                holder = await asyncio.to_thread(find_holder, port)
                raise PortInUseError(host, port, holder, "--api-port") from error
            raise HooklineError(
                f"The local API cannot listen on {host}, port {port}: {error.strerror or error}."
                " Choose another port with --api-port."
            ) from error
        self._running = runner, server

    async def stop(self) -> None:
        """Stop listening; running calls get a second. Idempotent."""
        running, self._running = self._running, None
        if running is not None:
            runner, server = running
            await stop_listening(server)
            await runner.cleanup()

    def _application(self) -> web.Application:
        app = web.Application(middlewares=[problems, guard(self._token)], client_max_size=BODY_MAX)
        app.on_response_prepare.append(name_server)
        register(app, self.routes)
        return app
