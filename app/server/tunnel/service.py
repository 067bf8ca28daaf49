"""The one tunnel: starts its program, watches it, starts it again, and remembers its URLs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from app.core.clock import now_us
from app.core.errors import HooklineError, NotFoundError, StorageUnavailableError
from app.core.events import Bus, EndpointRemoved, EndpointSaved, Event, TunnelChanged
from app.core.own_urls import CAPTURE_PATH
from app.core.store import EndpointRepository, TunnelRepository
from app.core.tunnel.options import saved_after, shown_values, values_to_run
from app.core.tunnel.program import AddressHeader, FoundProgram
from app.core.tunnel.spec import ProgramSpec
from app.core.tunnel.tunnel import (
    CONNECTED,
    DOWN,
    OutdatedUrl,
    Probe,
    Tunnel,
    TunnelCopy,
    TunnelState,
    TunnelUrl,
    connected_state,
)
from app.server.probe_key import ProbeKey
from app.server.tunnel.launch import Launch, installed_path
from app.server.tunnel.session import Session, Timing


class CopiedUrls:
    """As stored, and in memory. `base` is the tunnel's public URL. Raises StorageUnavailableError."""

    def __init__(self, repository: TunnelRepository, endpoints: EndpointRepository) -> None:
        self._repository, self._endpoints = repository, endpoints
        self._copies: list[TunnelCopy] = []

    async def load(self) -> None:
        self._copies = await self._repository.copies()

    async def copied(self, endpoint_id: int, base: str) -> None:
        """The user copied the endpoint's capture URL."""
        at = now_us()
        await self._repository.copied(endpoint_id, base, at)
        kept = [one for one in self._copies if (one.endpoint_id, one.base) != (endpoint_id, base)]
        self._copies = [*kept, TunnelCopy(endpoint_id=endpoint_id, base=base, copied_at=at)]

    async def updated(self, endpoint_id: int, base: str) -> None:
        """The provider has the endpoint's capture URL, and no older one."""
        at = now_us()
        await self._repository.updated(endpoint_id, base, at)
        self._copies = [one for one in self._copies if one.endpoint_id != endpoint_id]
        self._copies.append(TunnelCopy(endpoint_id=endpoint_id, base=base, copied_at=at))

    def outdated(self, base: str | None) -> tuple[OutdatedUrl, ...]:
        """Of each endpoint the last URL that was copied under another public URL than `base`."""
        found: dict[int, OutdatedUrl] = {}
        for copy in sorted(self._copies, key=lambda one: one.copied_at):
            endpoint = self._endpoints.by_id(copy.endpoint_id)
            if endpoint is not None and copy.base != base:
                url = f"{copy.base}{CAPTURE_PATH}{endpoint.slug}"
                found[endpoint.id] = OutdatedUrl(endpoint_id=endpoint.id, url=url, copied_at=copy.copied_at)
        return tuple(found.values())


log = logging.getLogger(__name__)

ENDING = (TunnelState.OFF, TunnelState.FAILED)
CLOSE_GRACE_S = 1.0
_DEFAULT_TIMING = Timing()
Saved = dict[str, dict[str, str]]


class OptionsFile(NamedTuple):
    """Reads and writes what the user has saved for programs. Both block, and raise DataFolderError."""

    load: Callable[[], Saved]
    save: Callable[[Mapping[str, Mapping[str, str]]], None]


class TunnelService:
    """The tunnel, and what can be done with it. All of it runs on the loop's thread.

    Each change publishes `TunnelChanged`.

    `address` returns the capture port's host and port, None while it is closed. `folder` is for what programs keep,
    such as the keys of SSH servers.
    """

    def __init__(
        self,
        specs: Callable[[], Mapping[str, ProgramSpec]],
        repository: TunnelRepository,
        endpoints: EndpointRepository,
        options: OptionsFile,
        bus: Bus,
        *,
        probe_key: ProbeKey,
        address: Callable[[], tuple[str, int] | None],
        folder: Path,
        timing: Timing = _DEFAULT_TIMING,
    ) -> None:
        self._specs, self._repository = specs, repository
        self._options, self._bus = options, bus
        self._probe_key, self._address, self._folder, self._timing = probe_key, address, folder, timing
        self._tunnel = Tunnel()
        self._session: Session | None = None
        self._changing, self._saving = asyncio.Lock(), asyncio.Lock()
        self._closed = False
        self._saved: Saved = {}
        self._copied_urls = CopiedUrls(repository, endpoints)
        self._last_url: str | None = None
        self._bases: dict[str, None] = {}
        self._published: tuple[str | None, TunnelState | None] = None, None
        for kind in (EndpointRemoved, EndpointSaved):  # a deleted one may be restored
            bus.subscribe(kind, self._endpoints_changed)

    async def load(self) -> None:
        """Read what earlier runs have stored. Raises DataFolderError or StorageUnavailableError."""
        self._saved = await asyncio.to_thread(self._options.load)
        await self._copied_urls.load()
        newest = await self._repository.history(1)
        if newest:
            self._last_url = newest[0].url
        self._tunnel = msgspec.structs.replace(self._tunnel, outdated=self._copied_urls.outdated(self._last_url))

    # -- what others ask ------------------------------------------------------------------------------------------

    @property
    def tunnel(self) -> Tunnel:
        return self._tunnel

    @property
    def base(self) -> str | None:
        """What capture URLs begin with because of the tunnel: its URL while it is connected, and while it is started
        again if it comes back with the same one."""
        tunnel, session = self._tunnel, self._session
        if tunnel.state in CONNECTED:
            return tunnel.url
        again = tunnel.state is TunnelState.RESTARTING or (tunnel.state is TunnelState.STARTING and tunnel.restarts > 0)
        return tunnel.url if again and session is not None and session.launch.keeps_url else None

    @property
    def url_state(self) -> TunnelState | None:
        """The tunnel's state if capture URLs begin with its URL: they work only while it is up."""
        return None if self.base is None else self._tunnel.state

    @property
    def bases(self) -> Sequence[str]:
        """All URLs that the tunnel had since Hookline started."""
        return tuple(self._bases)

    @property
    def address_header(self) -> AddressHeader | None:
        """The header to believe about clients' addresses; None unless the tunnel is connected and sends one."""
        if self._tunnel.state not in CONNECTED or self._session is None:
            return None
        return self._session.launch.address_header

    async def programs(self) -> list[FoundProgram]:
        found = []
        for spec in self._specs().values():
            program, saved = spec.program, self._saved.get(spec.program.id, {})
            path = await asyncio.to_thread(installed_path, spec, saved)
            values, secrets = shown_values(program, saved)
            found.append(FoundProgram(program=program, path=path, values=values, secrets_set=secrets))
        return found

    async def history(self, limit: int = 50) -> list[TunnelUrl]:
        """The URLs, newest first."""
        return await self._repository.history(limit)

    # -- what the user does ---------------------------------------------------------------------------------------

    async def configure(self, program_id: str, values: Mapping[str, str]) -> None:
        """Save options of a program; they apply from its next start on. An empty text removes one.

        Raises InvalidFieldsError, whose fields are the options' names, and NotFoundError.
        """
        spec = self._spec(program_id)
        async with self._saving:  # all programs' options are one file
            after = saved_after(spec.program, self._saved.get(program_id, {}), values)
            saved = {**self._saved, program_id: after}
            await asyncio.to_thread(self._options.save, saved)
            self._saved = saved

    async def start(self, program_id: str, *, persistent: bool = False) -> Tunnel:
        """Start this program, after stopping another. `persistent`: go on trying even if the first start fails.

        Raises InvalidFieldsError, whose fields are the options' names; NotFoundError for a program that is not in the
        catalogue or not installed.
        """
        spec = self._spec(program_id)
        values = values_to_run(spec, self._saved.get(program_id, {}))
        if self._address() is None:
            raise HooklineError("Hookline is not listening, so a tunnel would lead nowhere. Start Hookline first.")
        launch = await asyncio.to_thread(Launch.find, spec, values, self._folder)
        async with self._changing:
            if self._closed:
                raise HooklineError("Hookline is closing.")
            await self._end_session()
            outdated = self._copied_urls.outdated(self._last_url)
            self._set(Tunnel(state=TunnelState.STARTING, program=program_id, started_at=now_us(), outdated=outdated))
            self._session = Session(self, launch, self._timing, self._probe_key, persistent=persistent)
            self._session.start()
        return self._tunnel

    def could_not_start(self, program_id: str, problem: str) -> None:
        """Show why the tunnel that starts with Hookline did not."""
        self._set(
            Tunnel(
                state=TunnelState.FAILED,
                program=program_id,
                problem=problem,
                outdated=self._copied_urls.outdated(self._last_url),
            )
        )

    async def stop(self) -> Tunnel:
        async with self._changing:
            if self._tunnel.state is not TunnelState.OFF:
                if self._tunnel.state not in ENDING:
                    self.change(state=TunnelState.STOPPING, restart_at=None)
                await self._end_session()
                self.change(state=TunnelState.OFF, url=None, up_since=None, restart_at=None, problem=None, probe=None)
        return self._tunnel

    async def probe(self) -> Probe:
        """Raises NotFoundError while the tunnel has no URL."""
        session = self._session
        if session is None or self._tunnel.state not in CONNECTED:
            raise NotFoundError(f"The tunnel is {self._tunnel.state}, so there is nothing to check.")
        return await session.probe_now()

    async def port_changed(self) -> None:
        """The capture port has another address: the program is started again for it."""
        program = self._tunnel.program
        if program is not None and self._session is not None and self._tunnel.state not in ENDING:
            with contextlib.suppress(HooklineError):
                await self.start(program, persistent=True)

    async def close(self) -> None:
        """End the program for good; what is stored says that it ended."""
        self._closed = True
        if self._session is not None:
            self._session.grace_s = CLOSE_GRACE_S
        await self.stop()

    async def copied(self, endpoint_id: int) -> None:
        """The user copied this endpoint's capture URL."""
        if self.base is not None:
            await self._copied_urls.copied(endpoint_id, self.base)

    async def updated(self, endpoint_id: int) -> None:
        """The provider has the new URL of this endpoint."""
        if self._last_url is not None:
            await self._copied_urls.updated(endpoint_id, self._last_url)
            self.change(outdated=self._copied_urls.outdated(self._last_url))

    # -- what the session reports ---------------------------------------------------------------------------------

    def local_address(self) -> tuple[str, int] | None:
        return self._address()

    def change(self, **fields: object) -> None:
        self._set(msgspec.structs.replace(self._tunnel, **fields))

    async def went_up(self, url: str) -> None:
        """The tunnel has this URL from now on."""
        at = now_us()
        await _stored(self._repository.opened(url, self._tunnel.program or "", at))
        self._last_url = url
        self._bases[url] = None
        outdated = self._copied_urls.outdated(self._last_url)
        state = connected_state(None, new=True)
        self.change(state=state, url=url, up_since=None, restart_at=None, problem=None, probe=None, outdated=outdated)

    def probed(self, probe: Probe, *, new: bool, alarm: bool) -> None:
        """A request through the URL arrived, or did not. `alarm`: it should have, and not for the first time."""
        state = connected_state(probe, new=new)
        up_since = (self._tunnel.up_since or probe.at) if state is TunnelState.UP else None
        problem = probe.problem if alarm or probe.problem is None else self._tunnel.problem
        self.change(state=state, probe=probe, problem=problem, up_since=up_since)

    async def went_down(self) -> None:
        """The tunnel's URL does not work any more."""
        await _stored(self._repository.closed(now_us()))
        self.change(up_since=None)

    # -- within ---------------------------------------------------------------------------------------------------

    def _spec(self, program_id: str) -> ProgramSpec:
        specs = self._specs()
        spec = specs.get(program_id)
        if spec is None:
            raise NotFoundError(f"There is no tunnel program {program_id!r}. There are {', '.join(specs)}.")
        return spec

    async def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.end()

    def _set(self, tunnel: Tunnel) -> None:
        if tunnel == self._tunnel:
            return
        previous, self._tunnel = self._tunnel, tunnel
        if tunnel.state is not previous.state:
            level = logging.WARNING if tunnel.state in DOWN else logging.INFO
            log.log(level, "%s (%s)", tunnel.sentence, tunnel.program)
        published = self.base, self.url_state
        changed, self._published = published != self._published, published
        self._bus.publish(TunnelChanged(tunnel=tunnel, previous=previous, url_changed=changed))

    def _endpoints_changed(self, event: Event) -> None:
        self.change(outdated=self._copied_urls.outdated(self._last_url))


async def _stored(storing: Awaitable[None]) -> None:
    """Without its history a tunnel works too."""
    try:
        await storing
    except StorageUnavailableError as error:
        log.warning("the tunnel's URL is missing in its history: %s", error)
