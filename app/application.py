"""The program without its window: builds every part, passes each what it needs, starts and stops them in order.

A start: lock the data folder, read the settings, open the store (`open`); then open the capture port and the API port,
resume forwarding and write `runtime.json` for the command line (`listen`). A stop is the reverse: no new requests,
current ones are finished, forwarding pauses, the store is drained and closed (`close`). The window, `serve` and single
commands all use this object.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from app import __version__
from app.core.errors import DataFolderError, HooklineError, InvalidFieldsError, StoreAddressError
from app.core.events import Bus, SettingsChanged, StorageTrouble
from app.core.files import resource
from app.core.providers import Catalogue, ProviderMatch, load_catalogue
from app.core.record import Headers
from app.core.rules import FieldError
from app.core.settings import Settings, check, says_password
from app.core.team import Role, may_only_capture
from app.core.tunnel_program import ProgramSpec
from app.core.tunnel_program import read_folder as read_tunnel_programs
from app.current_settings import CurrentSettings
from app.data_folder.database_files import require_database
from app.data_folder.folder_lock import FolderLock, lock_folder
from app.data_folder.private_files import (
    RUNTIME_NAME,
    Runtime,
    load_or_create_token,
    load_tunnel_options,
    remove_runtime,
    save_tunnel_options,
    write_runtime,
)
from app.db.sqlite.restore import discard_staged
from app.db.sqlite.store import Store as SqliteStore
from app.db.store import Store
from app.server.addresses import LOOPBACK, Addresses, ProbeKey
from app.server.api import server as api_server
from app.server.api.event_log import EventLog
from app.server.api.server import ApiServer, ApiServices
from app.server.capture import CaptureServer, Handler, Limits, limits
from app.server.forward import Forwarder
from app.server.listening import KeptDescriptors, keep_descriptors, raise_file_limit, report_failed_accepts
from app.server.node_counts import NodeCounts
from app.server.refused import RefusedLog
from app.server.replay_service import ReplayService
from app.server.target_responses import TargetResponses
from app.server.tunnel.service import OptionsFile, TunnelService
from app.system import installation
from app.troubles import Troubles

TUNNEL_FOLDER = "tunnels"
"""In the data folder: what tunnel programs keep, such as the keys of SSH servers."""


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as server:
        return int(server.getsockname()[1])


class Application:
    """All parts of one running Hookline.

    `overrides` are settings of this run only (from the command line); `window` says whether it has one, and `captures`
    whether it may capture. `password` is that of the team's store, if the user typed one.
    """

    store: Store
    folder_lock: FolderLock
    token: str

    def __init__(
        self,
        folder: Path,
        overrides: Mapping[str, Any] | None = None,
        *,
        window: bool = False,
        captures: bool = True,
        password: str = "",
        fsync: bool = True,
    ) -> None:
        self.folder = folder
        self._window, self._may_capture, self._password, self._fsync = window, captures, password, fsync
        self._captures = captures
        """Whether it does, on the store that is open."""
        self.bus = Bus()
        self.refused = RefusedLog(self.bus.publish)
        self._target_responses = TargetResponses()
        self.current_settings = CurrentSettings(folder, overrides or {})
        self.addresses = Addresses(self.current_settings)
        self._probe_key = ProbeKey()
        self.troubles = Troubles(self.bus)
        self._counts = NodeCounts(self.bus)
        self._capture: CaptureServer | None = None
        self._kept: dict[str, KeptDescriptors | None] = {}
        """The descriptors kept for the ports `capture` and `api`."""
        self._api: ApiServer | None = None
        self._forwarder: Forwarder | None = None
        self.replays: ReplayService
        self._events: EventLog
        self.tunnels: TunnelService
        self._changing_settings = asyncio.Lock()
        self._retiring: set[asyncio.Task[None]] = set()
        self._opened = False
        self._started_at = time.monotonic()
        self.bus.subscribe(StorageTrouble, self._storage_changed)

    @cached_property
    def _tunnel_programs(self) -> Mapping[str, ProgramSpec]:
        """Read when they are asked for: that takes a tenth of the processor time of a start."""
        return read_tunnel_programs(resource("tunnels"))

    @cached_property
    def catalogue(self) -> Catalogue:
        """The providers: read with the first request, or by `prepare`."""
        return load_catalogue(resource("providers"))

    def prepare(self) -> None:
        """Read what the first request would wait for; on any thread."""
        from app.core.bodies import gist_formats  # noqa: F401 - start-up time: a window needs it no earlier

        self._identify((), "", b"")  # reads the catalogue

    def _identify(self, headers: Headers, content_type: str, body: bytes) -> ProviderMatch | None:
        return self.catalogue.identify(headers, content_type, body)

    @property
    def settings(self) -> Settings:
        """Those that apply now."""
        return self.current_settings.now

    async def open(self, *, new_database: bool = False) -> None:
        """Lock the folder and open the store; DataFolderError leaves everything unchanged.

        MissingDatabaseError when the database existed before, unless a `new_database` is requested.
        """
        self.folder_lock = lock_folder(self.folder, installation.portable_reason(self.folder))
        store: Store | None = None
        try:
            discard_staged(self.folder)
            self.current_settings.load()
            address = self.current_settings.store
            if address is None and not new_database:
                require_database(self.folder)
            self.token = load_or_create_token(self.folder)
            store = self.store = await (self._open_file() if address is None else self._open_team_store(address))
            if self._window and store.role is Role.CAPTURE:
                raise StoreAddressError(may_only_capture(store.place))
            self._captures &= store.role is not Role.READER
            if store.file is not None:
                self.current_settings.add_storage_limit(self.store.limits.use().used)
            self._set_limits(self.settings)
            self.tunnels = self.addresses.tunnel = self._tunnel_service()
            await self.tunnels.load()
        except BaseException:
            try:
                if store is not None:
                    await store.close()
            finally:
                self.folder_lock.release(unchecked=self.folder_lock.was_unclean)
            raise
        self.replays = ReplayService(self.store, self.bus, self.addresses)
        self._events = EventLog(self.bus, self.store.captures)
        self._opened = True

    async def _open_file(self) -> Store:
        self._captures, self.addresses.nodes = self._may_capture, None
        return await SqliteStore.open(
            self.folder,
            self.bus.publish,
            self.addresses.own_bases,
            identify=self._identify,
            disk_reserve=lambda: self.settings.disk_reserve,
            fsync=self._fsync,
        )

    async def _open_team_store(self, address: str) -> Store:
        self._captures = self._may_capture and (not self._window or self.settings.window_captures)
        from app.db.postgres.database import with_password  # start-up time: few use one
        from app.db.postgres.store import Store as TeamStore  # as above

        store = await TeamStore.open(
            with_password(address, self._password),
            self.bus.publish,
            self.addresses.own_bases,
            identify=self._identify,
            works=self._captures,
            base_url=self.addresses.announced,
        )
        self.addresses.nodes = store.nodes
        return store

    async def listen(self) -> None:
        """Open both ports and start the background work. PortInUseError starts nothing; call again once it is
        resolved."""
        report_failed_accepts()
        if not self._kept:
            raise_file_limit()
            self._kept["capture"] = keep_descriptors(limits.kept_descriptors(Limits().connections))
            self._kept["api"] = keep_descriptors(api_server.kept_descriptors())
        if self._capture is None and self._captures:
            self._capture = await self._start_capture(self.settings)
            self.addresses.listening = self._capture.address
        await self.listen_api(self.settings.api_port, self.settings.api_host)
        self._record_free_ports()
        self._forwarder = Forwarder(self.store, self.bus, self._target_responses)
        await self._forwarder.start()
        self.store.retention.start()
        file = self.store.file
        if file is not None:
            file.keep_reserve()
            file.backups.clean_up()
            if self.folder_lock.was_unclean:
                file.integrity.start()
        self._write_runtime()
        await self._start_tunnel()

    async def _start_tunnel(self) -> None:
        """Start the tunnel that starts with Hookline; that it cannot be started is no reason not to start."""
        program = self.settings.tunnel_program
        if self.settings.tunnel_autostart and program is not None and self._captures:
            try:
                await self.tunnels.start(program, persistent=True)
            except HooklineError as error:
                self.tunnels.could_not_start(program, str(error))

    def _record_free_ports(self) -> None:
        """Record the ports that port 0 took, or would take: 0 itself is no valid setting, and no other could be saved
        with it."""
        for name, server in (("port", self._capture), ("api_port", self._api)):
            if getattr(self.settings, name) == 0:
                port = server.address[1] if server is not None else _free_port()
                self.current_settings.override(**{name: port})

    async def listen_api(self, port: int, host: str = LOOPBACK) -> str:
        """Serve only the local API (0: any free port); returns its address. With a window, callers wait until
        `serve_api`."""
        if self._api is None:
            api = self._api_server()
            await api.listen(host, port)
            self._api, self.addresses.api = api, api.address
            if not self._window:
                await api.serve()
        return self.addresses.api_url

    async def serve_api(self) -> None:
        """Answer the callers of the local API, once the window is shown."""
        if self._api is not None:
            await self._api.serve()

    async def close(self) -> None:
        """Stop everything in order; may be called twice, and after a failed start."""
        tunnel = asyncio.create_task(self._close_tunnel(), name="end of the tunnel")
        self.addresses.listening = None
        if self._capture is not None:
            await self._capture.stop()
        if self._opened:
            self.store.begin_shutdown()
        if self._forwarder is not None:
            await self._forwarder.stop()
        if self._opened:
            await self.replays.stop()
        if self._api is not None:
            await self._api.stop()
        await asyncio.gather(tunnel, *self._retiring)
        if self._opened:
            self._events.close()
        self._capture = self._forwarder = self._api = self.addresses.api = None
        for kept in self._kept.values():
            if kept is not None:
                kept.close()
        self._kept.clear()
        if self._opened:
            self._opened = False
            await self.store.close()
            remove_runtime(self.folder)
            file = self.store.file
            sound = file is None or file.integrity.sound
            self.folder_lock.release(unchecked=self.folder_lock.was_unclean and not sound)

    async def _close_tunnel(self) -> None:
        if self._opened:
            await self.tunnels.close()

    def uptime_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._started_at

    # -- settings -------------------------------------------------------------------------------------------------

    async def change_settings(self, changes: Mapping[str, Any]) -> None:
        """Apply and save these, by name; all others stay. On InvalidFieldsError or PortInUseError nothing changes."""
        async with self._changing_settings:  # window and API may change some at once
            await self._apply(replace(self.settings, **changes), changes)

    async def _apply(self, new: Settings, changes: Mapping[str, Any]) -> None:
        if errors := [*check(new), *self._tunnel_errors(new)]:
            raise InvalidFieldsError(errors)
        old, old_capture, old_api = self.settings, self._capture, self._api
        capture, api = old_capture, old_api
        if old_capture is not None and (new.port, new.host) != (old.port, old.host):
            capture = await self._start_capture(new)
        try:
            # The API of a single command has a port of its own, and keeps it.
            if old_api is not None and self._forwarder is not None and new.api_port != old.api_port:
                api = self._api_server()
                await api.start(new.api_host, new.api_port)
            await self.current_settings.save(changes)
        except BaseException:
            if capture is not None and capture is not old_capture:
                await capture.stop()
            if api is not None and api is not old_api:
                await api.stop()
            raise
        self._capture, self._api = capture, api
        self.addresses.listening = capture.address if capture is not None else None
        self.addresses.api = api.address if api is not None else None
        if api is not None and self._forwarder is not None:
            self._write_runtime()
        self._set_limits(new)
        self.bus.publish(SettingsChanged(settings=new))
        if old_capture is not None and old_capture is not capture:
            await old_capture.stop()
            await self.tunnels.port_changed()
        if old_api is not None and old_api is not api:  # the call that changed it has yet to get its response
            task = asyncio.create_task(old_api.stop(), name="old API listener")
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)

    def _set_limits(self, settings: Settings) -> None:
        if self.store.file is not None:  # the disk of a server is not this program's to fill
            self.store.limits.set_limit(settings.storage_limit, settings.when_full)
        self.store.limits.set_response_limit(settings.response_limit)

    def _tunnel_errors(self, new: Settings) -> list[FieldError]:
        if new.tunnel_program is None or new.tunnel_program in self._tunnel_programs:
            return []
        names = ", ".join(self._tunnel_programs)
        text = f"There is no tunnel program {new.tunnel_program!r}. There are {names}."
        return [FieldError(field="tunnel_program", message=text)]

    # -- building -------------------------------------------------------------------------------------------------

    async def _start_capture(self, settings: Settings) -> CaptureServer:
        handler = Handler(
            self.store,
            self.refused,
            self.current_settings,
            self.addresses,
            target_responses=self._target_responses,
            identify=self._identify,
            probe_key=self._probe_key,
        )
        server = CaptureServer(handler, self._kept.get("capture"))
        await server.start(settings.host, settings.port)
        return server

    def _api_server(self) -> ApiServer:
        services = ApiServices(
            store=self.store,
            events=self._events,
            replays=self.replays,
            tunnels=self.tunnels,
            refused=self.refused,
            version=__version__,
            addresses=self.addresses,
            troubles=self.troubles,
            counts=self._counts,
            uptime_s=self.uptime_s,
            settings=self.current_settings,
            change_settings=self.change_settings,
        )
        return ApiServer(services, self.token, self._kept.get("api"))

    def _tunnel_service(self) -> TunnelService:
        return TunnelService(
            lambda: self._tunnel_programs,
            self.store,
            OptionsFile(partial(load_tunnel_options, self.folder), partial(save_tunnel_options, self.folder)),
            self.bus,
            probe_key=self._probe_key,
            addresses=self.addresses,
            folder=self.folder / TUNNEL_FOLDER,
        )

    def _write_runtime(self) -> None:
        store = self.current_settings.store
        running = Runtime(
            pid=os.getpid(),
            capture_url=self.addresses.listening_url,
            api_url=self.addresses.api_url,
            window=self._window,
            store=None if store is None or says_password(store) else store,
        )
        trouble = None
        try:
            write_runtime(self.folder, running)
        except DataFolderError as error:
            trouble = str(error)
        self.troubles.report_file(trouble, f"{self.folder / RUNTIME_NAME} is written again.")

    def _storage_changed(self, event: StorageTrouble) -> None:
        """What could not be written for want of room can be now."""
        if event.reason is None and self.troubles.file is not None and self._api is not None:
            self._write_runtime()
