"""Calls about backups of the database: start one, follow it, cancel it."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web

from app.core.backup import Backup
from app.core.errors import InvalidFieldsError
from app.core.rules import FieldError
from app.server.api.inputs import BackupIn
from app.server.api.problems import Problem
from app.server.api.routes import Calls, Returns, can_fail, json_response, route, takes


class BackupCalls(Calls):
    """Handlers of `/backup`."""

    @route("POST", "/backup", "Start a backup", Returns(Backup, 202))
    @takes(BackupIn, {"path": "/home/me/hookline-backup.db"})
    @can_fail("cannot-back-up")
    async def start(self, request: web.Request, given: BackupIn) -> web.Response:
        """Begins to write a backup: 202 with its state. 409 when it cannot be made there, or another one is running."""
        path = Path(given.path)
        if "\0" in given.path or not path.is_absolute() or not path.name:
            message = f"path must be the absolute path of a file, not {given.path!r}."
            raise InvalidFieldsError([FieldError(field="path", message=message)])
        return json_response(await self._services.store.backups.start(path, overwrite=given.overwrite), status=202)

    @route("GET", "/backup", "Read the latest backup", Returns(Backup))
    @can_fail("not-found")
    async def read(self, request: web.Request) -> web.Response:
        """The running backup, else the last one since the program started; 404 without one."""
        latest = self._services.store.backups.latest
        if latest is None:
            raise Problem(404, "not-found", "No backup was made since Hookline started.")
        return json_response(latest)

    @route("POST", "/backup/cancel", "Cancel the backup", Returns(Backup))
    @can_fail("not-found")
    async def cancel(self, request: web.Request) -> web.Response:
        """Ends the running backup and deletes what it wrote; harmless when it has ended. 404 without one."""
        await self._services.store.backups.cancel()
        return await self.read(request)
