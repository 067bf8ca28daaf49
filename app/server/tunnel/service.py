"""The one tunnel: starts and stops its program, and saves its options."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.core.clock import now_us
from app.core.errors import HooklineError, NotFoundError
from app.core.events import Bus
from app.core.team import NOT_CAPTURING
from app.core.tunnel import CONNECTED, Probe, Tunnel, TunnelState
from app.core.tunnel_program import FoundProgram, ProgramSpec, saved_after, shown_values, values_to_run
from app.server.addresses import Addresses, ProbeKey
from app.server.tunnel.current_tunnel import CurrentTunnel
from app.server.tunnel.launch import Launch, installed_path
from app.server.tunnel.session import Session, Timing

if TYPE_CHECKING:
    from app.db.store import Store

ENDING = (TunnelState.OFF, TunnelState.FAILED)
CLOSE_GRACE_S = 1.0
_DEFAULT_TIMING = Timing()
Saved = dict[str, dict[str, str]]


class OptionsFile(NamedTuple):
    """Reads and writes what the user has saved for programs. Both block, and raise DataFolderError."""

    load: Callable[[], Saved]
    save: Callable[[Mapping[str, Mapping[str, str]]], None]


class TunnelService(CurrentTunnel):
    """The tunnel, and what can be done with it. All of it runs on the loop's thread.

    Each change publishes `TunnelChanged`.

    `folder` is for what programs keep, such as the keys of SSH servers.
    """

    def __init__(
        self,
        specs: Callable[[], Mapping[str, ProgramSpec]],
        store: Store,
        options: OptionsFile,
        bus: Bus,
        *,
        probe_key: ProbeKey,
        addresses: Addresses,
        folder: Path,
        timing: Timing = _DEFAULT_TIMING,
    ) -> None:
        super().__init__(store.tunnels, store.endpoints, bus)
        self._specs, self._options = specs, options
        self._probe_key, self._addresses, self._folder, self._timing = probe_key, addresses, folder, timing
        self._session: Session | None = None
        self._changing, self._saving = asyncio.Lock(), asyncio.Lock()
        self._closed = False
        self._saved: Saved = {}

    async def load(self) -> None:
        """Read what earlier runs have stored. Raises DataFolderError or StorageUnavailableError."""
        self._saved = await asyncio.to_thread(self._options.load)
        await super().load()

    # -- what others ask ------------------------------------------------------------------------------------------

    async def programs(self) -> list[FoundProgram]:
        found = []
        for spec in self._specs().values():
            program, saved = spec.program, self._saved.get(spec.program.id, {})
            path = await asyncio.to_thread(installed_path, spec, saved)
            values, secrets = shown_values(program, saved)
            found.append(FoundProgram(program=program, path=path, values=values, secrets_set=secrets))
        return found

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
        if self._addresses.is_elsewhere:
            raise HooklineError(f"{NOT_CAPTURING}, so a tunnel would lead nowhere.")
        if self._addresses.listening is None:
            raise HooklineError("Hookline is not listening, so a tunnel would lead nowhere. Start Hookline first.")
        launch = await asyncio.to_thread(Launch.find, spec, values, self._folder)
        async with self._changing:
            if self._closed:
                raise HooklineError("Hookline is closing.")
            await self._end_session()
            self.begin(state=TunnelState.STARTING, program=program_id, started_at=now_us())
            self.launch = launch
            self._session = Session(self, launch, self._addresses, self._timing, self._probe_key, persistent=persistent)
        return self.tunnel

    def could_not_start(self, program_id: str, problem: str) -> None:
        """Show why the tunnel that starts with Hookline did not."""
        self.begin(state=TunnelState.FAILED, program=program_id, problem=problem)

    async def stop(self) -> Tunnel:
        async with self._changing:
            if self.tunnel.state is not TunnelState.OFF:
                if self.tunnel.state not in ENDING:
                    self.change(state=TunnelState.STOPPING, restart_at=None)
                await self._end_session()
                self.change(state=TunnelState.OFF, url=None, up_since=None, restart_at=None, problem=None, probe=None)
        return self.tunnel

    async def probe(self) -> Probe:
        """Raises NotFoundError while the tunnel has no URL."""
        session = self._session
        if session is None or self.tunnel.state not in CONNECTED:
            raise NotFoundError(f"The tunnel is {self.tunnel.state}, so there is nothing to check.")
        return await session.probe_now()

    async def port_changed(self) -> None:
        """The capture port has another address: the program is started again for it."""
        program = self.tunnel.program
        if program is not None and self._session is not None and self.tunnel.state not in ENDING:
            with contextlib.suppress(HooklineError):
                await self.start(program, persistent=True)

    async def close(self) -> None:
        """End the program for good; what is stored says that it ended."""
        self._closed = True
        if self._session is not None:
            self._session.grace_s = CLOSE_GRACE_S
        await self.stop()

    # -- within ---------------------------------------------------------------------------------------------------

    def _spec(self, program_id: str) -> ProgramSpec:
        specs = self._specs()
        spec = specs.get(program_id)
        if spec is None:
            raise NotFoundError(f"There is no tunnel program {program_id!r}. There are {', '.join(specs)}.")
        return spec

    async def _end_session(self) -> None:
        session, self._session, self.launch = self._session, None, None
        if session is not None:
            await session.end()
