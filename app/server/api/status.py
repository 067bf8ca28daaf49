"""Calls about the program itself: its status, plan, settings, retention and backups, and the requests it refused."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import msgspec
from aiohttp import web
from msgspec import UNSET

from app.core.backup import Backup
from app.core.errors import InvalidFieldsError, StorageUnavailableError
from app.core.model import Plan
from app.core.record import Record
from app.core.rules import FREE_ENDPOINTS, FieldError
from app.core.settings import Settings
from app.core.tunnel import DOWN
from app.server.api.parameters import is_number, newest_page, paging
from app.server.api.problems import Problem
from app.server.api.routes import ATTACHMENT, Calls, Page, Returns, attachment_headers, can_fail, route, takes
from app.server.api.serializers import made, patch_of, refusal_out, retention_out, stored_out
from app.server.api.server import ApiServices
from hookline import records

if TYPE_CHECKING:
    from app.db.sqlite.backups import Backups

T = TypeVar("T")


class StateCalls(Calls):
    """Handlers of `/status`, `/nodes`, `/retention/resume` and `/refused`."""

    @route("GET", "/status", "Read the status")
    async def status(self, request: web.Request) -> records.Status:
        """The program's status; works without a usable database too."""
        services, store = self._services, self._store
        endpoints = store.endpoints.all()
        counts = [store.captures.counts(endpoint.id) for endpoint in endpoints]
        plan, problem = store.account.plan, store.retention.problem
        size = await _if_available(store.retention.size())
        troubles = await _if_available(store.deliveries.target_troubles()) or ()
        tunnel = services.tunnels.tunnel
        if problem is not None and size is not None:
            problem = msgspec.structs.replace(problem, expired=size.expired)
        return made(
            records.Status,
            None,
            version=services.version,
            store=store.place,
            captures=services.addresses.listening is not None or store.nodes.others.capturing > 0,
            capture_url=services.addresses.listening_url,
            base_url=services.addresses.base_url(),
            tunnel=services.tunnels.url_state,
            plan=plan,
            endpoints=endpoint_usage(services, plan),
            counts=records.Totals(
                requests=sum(count.total for count in counts),
                unread=sum(count.unread for count in counts),
                refused=services.refused.total,
            ),
            database_bytes=None if size is None else size.file_bytes,
            stored=stored_out(store.limits.use(), store.limits.use_of_responses()),
            uptime_seconds=round(services.uptime_s(), 3),
            pid=os.getpid(),
            storage=services.troubles.storage or "ok",
            warnings=(
                *services.troubles.warnings,
                *filter(None, (store.slow_search,)),
                *((tunnel.sentence,) if tunnel.state in DOWN else ()),
                *(f"{trouble.text} {trouble.advice}" for trouble in troubles),
            ),
            retention=retention_out(problem),
        )

    @route("GET", "/nodes", "List the nodes")
    async def nodes(self, request: web.Request) -> Page[records.Node]:
        """The programs that run on the store: several on a team's, otherwise the one that is called."""
        nodes = await self._store.nodes.all()
        return Page(tuple(made(records.Node, node) for node in nodes), None)

    @route("POST", "/retention/resume", "Resume retention")
    async def resume(self, request: web.Request) -> records.Retention:
        """Accepts the clock, so that requests are deleted by age again; harmless when they are anyway."""
        await self._store.retention.resume()
        return retention_out(self._store.retention.problem)

    @route("GET", "/refused", "List refused requests", paging(int))
    async def refused(self, request: web.Request) -> Page[records.Refusal]:
        """Refused requests, newest first."""
        page, following = newest_page(request, self._services.refused.newest(), int)
        return Page(tuple(refusal_out(row, self._store.endpoints) for row in page), following)

    @route("GET", "/refused/{id}/raw", "Download a refused request", returns=ATTACHMENT)
    async def raw(self, request: web.Request) -> web.Response:
        """A refused request as received, at most 64 KiB."""
        text = request.match_info["id"]
        number = int(text) if is_number(text) else 0
        data = self._services.refused.raw(number)
        if data is None:
            raise Problem("not-found", f"No refused request has the ID {text!r}.")
        return web.Response(body=data, headers=attachment_headers(f"refused-{number}.bin"))


async def _if_available(reading: Awaitable[T]) -> T | None:
    """None while the store cannot be read."""
    try:
        return await reading
    except StorageUnavailableError:
        return None


class AccountPatch(Record, frozen=True):
    """The body of `PATCH /account`."""

    plan: Plan


class AccountCalls(Calls):
    """Handlers of `/account`."""

    @route("GET", "/account", "Read the account")
    async def read(self, request: web.Request) -> records.Account:
        """The plan, and the endpoints it allows."""
        plan = self._store.account.plan
        return made(records.Account, None, plan=plan, endpoints=endpoint_usage(self._services, plan))

    @route("PATCH", "/account", "Change the plan")
    @takes(AccountPatch, {"plan": "pro"})
    @can_fail("plan-limit")
    async def change(self, request: web.Request, patch: AccountPatch) -> records.Account:
        """Changes the plan; 409 while more endpoints exist than it allows."""
        await self._store.account.set_plan(patch.plan)
        return await self.read(request)


def endpoint_usage(services: ApiServices, plan: Plan) -> records.EndpointUsage:
    """How many endpoints there are, and how many the plan allows."""
    return records.EndpointUsage(
        held=len(services.store.endpoints.all()), limit=FREE_ENDPOINTS if plan is Plan.FREE else None
    )


# Without the bounds, because `check` reports violations in sentences that name the setting.
_TYPES: dict[str, Any] = get_type_hints(Settings)
_Overridden = Annotated[
    dict[str, int | str | bool | None],
    msgspec.Meta(description="The saved values of the settings that have another one until Hookline is closed."),
]
SettingsOut = msgspec.defstruct(
    "SettingsOut",
    [*((key, _TYPES[key]) for key in Settings.__struct_fields__), ("overridden", _Overridden)],
    namespace={"__doc__": "The settings in force."},
    frozen=True,
)
SettingsPatch = patch_of(Settings, "The body of `PATCH /settings`: absent fields stay.")


class SettingsCalls(Calls):
    """Handlers of `/settings`."""

    @route("GET", "/settings", "Read the settings", returns=Returns(SettingsOut))
    async def read(self, request: web.Request) -> msgspec.Struct:
        """The settings in force."""
        return self._out()

    @route("PATCH", "/settings", "Change settings", returns=Returns(SettingsOut))
    @takes(SettingsPatch, {"base_url": "https://hooks.example", "body_limit": 2**20})
    @can_fail("port-in-use")
    async def change(self, request: web.Request, patch: Any) -> msgspec.Struct:
        """Changes and saves the given settings; all others stay. A value that was used only until Hookline is closed
        is saved if it is given. 409 when a port is in use."""
        given = ((key, getattr(patch, key)) for key in Settings.__struct_fields__)
        await self._services.change_settings({key: value for key, value in given if value is not UNSET})
        return self._out()

    def _out(self) -> msgspec.Struct:
        settings = self._services.settings.now
        values = {key: getattr(settings, key) for key in Settings.__struct_fields__}
        overridden = {key: value for key, value in self._services.settings.overridden.items() if key in values}
        return SettingsOut(**values, overridden=overridden)


class BackupIn(Record, frozen=True):
    """The body of `POST /backup`. `path` is absolute, on the machine that Hookline runs on. An existing file is
    replaced only with `overwrite`."""

    path: str
    overwrite: bool = False


class BackupCalls(Calls):
    """Handlers of `/backup`."""

    @route("POST", "/backup", "Start a backup", status=202)
    @takes(BackupIn, {"path": "/home/me/hookline-backup.db"})
    @can_fail("cannot-back-up")
    async def start(self, request: web.Request, given: BackupIn) -> Backup:
        """Begins to write a backup: 202 with its state. 409 when it cannot be made there, or another one is running."""
        path = Path(given.path)
        if "\0" in given.path or not path.is_absolute() or not path.name:
            message = f"path must be the absolute path of a file, not {given.path!r}."
            raise InvalidFieldsError([FieldError(field="path", message=message)])
        return await self._backups().start(path, overwrite=given.overwrite)

    @route("GET", "/backup", "Read the latest backup")
    @can_fail("not-found")
    async def read(self, request: web.Request) -> Backup:
        """The running backup, else the last one since the program started; 404 without one."""
        latest = self._backups().latest
        if latest is None:
            raise Problem("not-found", "No backup was made since Hookline started.")
        return latest

    @route("POST", "/backup/cancel", "Cancel the backup")
    @can_fail("not-found")
    async def cancel(self, request: web.Request) -> Backup:
        """Ends the running backup and deletes what it wrote; harmless when it has ended. 404 without one."""
        await self._backups().cancel()
        return await self.read(request)

    def _backups(self) -> Backups:
        file = self._store.file
        if file is None:
            raise Problem("cannot-back-up", "A team's store is on a database server: back it up with pg_dump there.")
        return file.backups
