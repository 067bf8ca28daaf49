"""Calls about the tunnel: how it is, start, stop, probe; its programs with their options; its URLs."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from aiohttp import web

from app.core.errors import InvalidFieldsError, NotFoundError
from app.core.record import Record
from app.core.rules import FieldError
from app.core.tunnel import URLS_KEPT, OutdatedUrl, Tunnel
from app.core.tunnel_program import FoundProgram, install_text
from app.server.api.parameters import cursor_of, cursor_text, limit_of, paging
from app.server.api.problems import Problem
from app.server.api.routes import Calls, Page, can_fail, endpoint_named, route, takes
from app.server.api.serializers import made
from hookline import records

# That they are texts is checked by `configure`, which names those that are not.
OPTIONS = Annotated[dict[str, Any], msgspec.Meta(extra_json_schema={"additionalProperties": {"type": "string"}})]


class TunnelStartIn(Record, frozen=True):
    """The body of `POST /tunnel/start`: the id of a program, as `GET /tunnel/programs` has it."""

    program: str


class TunnelUpdatedIn(Record, frozen=True):
    """The body of `POST /tunnel/updated`: the slug of an endpoint."""

    endpoint: str


class TunnelCalls(Calls):
    """Handlers of `/tunnel`."""

    @route("GET", "/tunnel", "Read the tunnel")
    async def read(self, request: web.Request) -> records.Tunnel:
        """How the tunnel is."""
        return self._out(self._services.tunnels.tunnel)

    @route("GET", "/tunnel/programs", "List tunnel programs")
    async def programs(self, request: web.Request) -> Page[records.TunnelProgram]:
        """All programs that Hookline can run as a tunnel, with the options that are saved, except secrets."""
        found = await self._services.tunnels.programs()
        return Page(tuple(map(_program_out, found)), None)

    @route("PUT", "/tunnel/programs/{id}/options", "Set a program's options")
    @takes(OPTIONS, {"domain": "example.ngrok-free.dev"})
    async def configure(self, request: web.Request, given: dict[str, Any]) -> records.TunnelProgram:
        """Saves options of a program, texts by name; an empty text removes one, the others stay. They apply from its
        next start on. Secrets can be written, never read."""
        values = {name: value for name, value in given.items() if isinstance(value, str)}
        if wrong := [FieldError(field=name, message=f"{name} must be a text.") for name in given if name not in values]:
            raise InvalidFieldsError(wrong)
        program_id = request.match_info["id"]
        await self._services.tunnels.configure(program_id, values)
        found = await self._services.tunnels.programs()
        return next(_program_out(one) for one in found if one.program.id == program_id)

    @route("POST", "/tunnel/start", "Start the tunnel", status=202)
    @takes(TunnelStartIn, {"program": "cloudflared-quick"})
    @can_fail("not-running", "not-found")
    async def start(self, request: web.Request, given: TunnelStartIn) -> records.Tunnel:
        """Starts a program as the tunnel, after stopping another: 202. 404 if it is not installed, 409 while Hookline
        does not capture."""
        if self._services.addresses.listening_url is None:
            text = "Hookline is not running, so a tunnel would lead nowhere. Start it with hookline, or hookline serve."
            raise Problem("not-running", text)
        return self._out(await self._services.tunnels.start(given.program))

    @route("POST", "/tunnel/stop", "Stop the tunnel")
    async def stop(self, request: web.Request) -> records.Tunnel:
        """Ends the tunnel's program; harmless when there is none."""
        return self._out(await self._services.tunnels.stop())

    @route("POST", "/tunnel/probe", "Check the tunnel")
    @can_fail("tunnel-down")
    async def probe(self, request: web.Request) -> records.Probe:
        """Checks that the public URL reaches this Hookline; 409 unless the tunnel has one."""
        try:
            return made(records.Probe, await self._services.tunnels.probe())
        except NotFoundError as error:
            raise Problem("tunnel-down", str(error)) from None

    @route("GET", "/tunnel/history", "List the tunnel's URLs", paging(int))
    async def history(self, request: web.Request) -> Page[records.TunnelUrl]:
        """The public URLs that the tunnel had, newest first; the last 1,000 are kept."""
        limit, begin = limit_of(request), cursor_of(request, int) or 0
        rows = await self._services.tunnels.history(URLS_KEPT)
        page = rows[max(begin, 0) :][:limit]
        end = max(begin, 0) + len(page)
        following = cursor_text(end) if end < len(rows) else None
        return Page(tuple(made(records.TunnelUrl, url) for url in page), following)

    @route("POST", "/tunnel/updated", "Say that a provider has the new URL")
    @takes(TunnelUpdatedIn, {"endpoint": "orders"})
    @can_fail("not-found")
    async def updated(self, request: web.Request, given: TunnelUpdatedIn) -> records.Tunnel:
        """The provider has the endpoint's new capture URL, so that the old one is no longer outdated."""
        endpoint = endpoint_named(self._store.endpoints, given.endpoint)
        await self._services.tunnels.updated(endpoint.id)
        return self._out(self._services.tunnels.tunnel)

    def _out(self, tunnel: Tunnel) -> records.Tunnel:
        return made(
            records.Tunnel,
            tunnel,
            probe=None if tunnel.probe is None else made(records.Probe, tunnel.probe),
            outdated=tuple(filter(None, map(self._outdated_out, tunnel.outdated))),
        )

    def _outdated_out(self, outdated: OutdatedUrl) -> records.OutdatedUrl | None:
        endpoint = self._store.endpoints.by_id(outdated.endpoint_id)
        if endpoint is None:
            return None
        new_url = self._services.addresses.capture_url(endpoint) if self._services.tunnels.base else None
        return made(records.OutdatedUrl, outdated, endpoint=endpoint.slug, new_url=new_url)


def _program_out(found: FoundProgram) -> records.TunnelProgram:
    program = found.program
    return made(
        records.TunnelProgram,
        program,
        path=found.path,
        install=install_text(program),
        fixed_url=program.keeps_url(found.values),
        options=tuple(
            made(
                records.TunnelOption,
                option,
                value=found.values.get(option.name),
                is_set=option.name in found.values or option.name in found.secrets_set,
            )
            for option in program.options
        ),
    )
