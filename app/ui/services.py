"""What the running program provides to the window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from app.core.events import Bus
from app.core.model import Endpoint, Mark, SentTest
from app.core.providers import ProviderMark
from app.core.rules import create_refusal
from app.core.settings import Settings
from app.core.team import NOT_ALLOWED, Role, StoreChoice
from app.core.tunnel import url_mark

if TYPE_CHECKING:
    from app.db.sqlite.restore import RestoreStaging
    from app.db.store import Store
    from app.server.refused import RefusedLog
    from app.server.replay_service import ReplayService
    from app.server.tunnel.service import TunnelService
    from app.system.about import About
    from app.system.autostart import Autostart


class DeleteControl(Protocol):
    """Deletes as `Trash` does. In the main window each deletion can be undone for ten seconds."""

    async def delete(self, ids: Sequence[str]) -> object: ...
    async def clear(self, endpoint_id: int, keep: Collection[Mark] = ()) -> object: ...
    async def delete_endpoint(self, endpoint_id: int) -> object: ...


@dataclass(frozen=True)
class Services:
    """All that the window may call.

    `capture_url` gives an endpoint's public URL. `providers` names services by id, `provider_marks` has their marks.
    `restart_restored` closes Hookline and starts it with the staged backup.
    `store_address` is that of a team's store, None if it has a password. `check_team_store` is given an address and a
    password; it raises StoreAddressError when they cannot be used. `reopen` closes the store and opens the chosen one,
    or (None) the same with other settings.
    `listening` is the capture port's `host:port`, None while it is not accepting. `overridden` has the saved values of
    the settings that have another one until Hookline is closed. `change_settings` applies and saves some, by name; it
    raises InvalidFieldsError or PortInUseError and then changes nothing. `send_test` posts a small request to the
    endpoint's capture URL, and raises a HooklineError unless it arrived and its response came back.
    """

    store: Store
    store_address: str | None
    check_team_store: Callable[[str, str], Awaitable[None]]
    reopen: Callable[[StoreChoice | None], None]
    deletes: DeleteControl
    replays: ReplayService
    tunnels: TunnelService
    restores: RestoreStaging
    restart_restored: Callable[[], None]
    refused: RefusedLog
    bus: Bus
    capture_url: Callable[[Endpoint], str]
    providers: Mapping[str, str]
    provider_marks: Mapping[str, ProviderMark]
    own_bases: Callable[[], Sequence[str]]
    listening: Callable[[], str | None]
    settings: Callable[[], Settings]
    overridden: Callable[[], Mapping[str, Any]]
    change_settings: Callable[[Mapping[str, Any]], Coroutine[Any, Any, None]]
    send_test: Callable[[Endpoint], Awaitable[SentTest]]
    about: About
    autostart: Callable[[], Autostart]
    data_folder: Path
    version: str

    @property
    def read_only(self) -> str | None:
        """Why nothing in the store can be changed; None if it can."""
        return None if self.store.role is Role.MEMBER else NOT_ALLOWED[self.store.role].replace("'", "’")

    def no_endpoint(self) -> str | None:
        """Why no endpoint can be created now; None when one can."""
        return self.read_only or create_refusal(self.store.account.plan, len(self.store.endpoints.all()))

    @property
    def url_mark(self) -> str:
        """Why capture URLs may not work now, in a few words; empty if they do."""
        return url_mark(self.tunnels.url_state)

    @property
    def is_elsewhere(self) -> bool:
        """Whether nodes of a team capture, and this machine does not."""
        return self.store.file is None and self.listening() is None
