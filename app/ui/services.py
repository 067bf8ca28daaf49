"""What the running program provides to the window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from app.core.about import Component, Fact
from app.core.backup import BackupContents, BackupStep
from app.core.deletion import Mark
from app.core.events import Bus
from app.core.model import Endpoint, SentTest
from app.core.providers.provider import ProviderMark
from app.core.replay.spec import Replay, ReplaySpec
from app.core.settings import Settings
from app.core.store import RefusedRepository, Store
from app.core.tunnel.program import FoundProgram
from app.core.tunnel.tunnel import Probe, Tunnel, TunnelState, TunnelUrl


class AboutService(Protocol):
    """Facts about the program. `installation` says how it is run, and from where; capture URLs start with `base_url`.

    `diagnostics` is the text for a bug report, without any secret; `window` are the window's own facts.
    """

    @property
    def installation(self) -> str: ...
    @property
    def base_url(self) -> str: ...
    def versions(self) -> Sequence[Fact]: ...
    async def licences(self) -> Sequence[Component]: ...
    async def diagnostics(self, window: Sequence[Fact]) -> str: ...


class AutostartService(Protocol):
    """The start at sign-in. All calls may block, so they belong on a thread; they raise `HooklineError`s.

    `unavailable` says why it cannot be switched, `replaced` which other command signing in starts now.
    """

    def enabled(self) -> bool: ...
    def set(self, on: bool) -> None: ...
    def unavailable(self) -> str | None: ...
    def replaced(self) -> str | None: ...


class ReplayControl(Protocol):
    """Replays, and what can be done with them. Each change publishes `ReplayChanged`; all calls raise
    StorageUnavailableError.

    `start` raises InvalidFieldsError. `pause`, `resume` and `cancel` raise NotFoundError if the replay is not running.
    """

    async def start(self, spec: ReplaySpec) -> Replay: ...
    async def pause(self, replay_id: str) -> Replay: ...
    async def resume(self, replay_id: str) -> Replay: ...
    async def cancel(self, replay_id: str) -> Replay: ...
    async def get(self, replay_id: str) -> Replay | None: ...
    async def latest(self, limit: int = 50) -> list[Replay]: ...


class DeleteControl(Protocol):
    """Deletes as `TrashRepository` says. In the main window each deletion can be undone for ten seconds."""

    async def delete(self, ids: Sequence[str]) -> object: ...
    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> object: ...
    async def delete_endpoint(self, endpoint_id: int) -> object: ...


class RestoreControl(Protocol):
    """Prepares a backup to take the place of the database. `progress` is the step, the bytes done and all bytes.

    `stage` checks the file, and returns None if that was cancelled; it raises HooklineErrors and then changes nothing.
    """

    progress: tuple[BackupStep, int, int]

    async def stage(self, file: Path) -> BackupContents | None: ...
    def cancel(self) -> None: ...
    async def discard(self) -> None: ...


class TunnelControl(Protocol):
    """The tunnel, and what can be done with it. Each change publishes `TunnelChanged`.

    `configure` saves the options of a program (an empty text removes one); `start` starts that program, after
    stopping another. Both raise InvalidFieldsError, whose fields are the options' names; `start` also NotFoundError for
    a program that is not in the catalogue or not installed. `probe` raises NotFoundError while the tunnel has no
    URL. `url_state` is the tunnel's state if capture URLs begin with its URL. `copied` is told which endpoint's capture
    URL the user copied; `updated` that the provider has the new URL of this endpoint. `history` are the URLs, newest
    first.
    """

    @property
    def tunnel(self) -> Tunnel: ...
    @property
    def url_state(self) -> TunnelState | None: ...
    async def programs(self) -> Sequence[FoundProgram]: ...
    async def configure(self, program_id: str, values: Mapping[str, str]) -> None: ...
    async def start(self, program_id: str) -> Tunnel: ...
    async def stop(self) -> Tunnel: ...
    async def probe(self) -> Probe: ...
    async def copied(self, endpoint_id: int) -> None: ...
    async def updated(self, endpoint_id: int) -> None: ...
    async def history(self, limit: int = 50) -> Sequence[TunnelUrl]: ...


class ApplySettings(Protocol):
    """Applies other settings; saves what changed, and the settings in `keep`."""

    def __call__(self, new: Settings, keep: Collection[str] = ()) -> Awaitable[None]: ...


@dataclass(frozen=True)
class Services:
    """All that the window may call.

    `capture_url` gives an endpoint's public URL. `providers` names services by id, `provider_marks` has their marks.
    `restart_restored` closes Hookline and starts it with the staged backup.
    `listening` is the capture port's `host:port`, None while it is not accepting. `overridden` has the saved values of
    the settings that have another one until Hookline is closed. `apply_settings` raises InvalidFieldsError or
    PortInUseError and then changes nothing. `send_test` posts a small request to the endpoint's
    capture URL, and raises a HooklineError unless it arrived and its response came back.
    """

    store: Store
    deletes: DeleteControl
    replays: ReplayControl
    tunnels: TunnelControl
    restores: RestoreControl
    restart_restored: Callable[[], None]
    refused: RefusedRepository
    bus: Bus
    capture_url: Callable[[Endpoint], str]
    providers: Mapping[str, str]
    provider_marks: Mapping[str, ProviderMark]
    own_bases: Callable[[], Sequence[str]]
    listening: Callable[[], str | None]
    settings: Callable[[], Settings]
    overridden: Callable[[], Mapping[str, Any]]
    apply_settings: ApplySettings
    send_test: Callable[[Endpoint], Awaitable[SentTest]]
    about: AboutService
    autostart: AutostartService
    data_folder: Path
    version: str
