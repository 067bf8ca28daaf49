"""What the local API needs of the running program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.server.addresses import Addresses
from app.server.api.event_log import EventLog
from app.server.node_counts import NodeCounts
from app.server.refused import RefusedLog
from app.server.replay_service import ReplayService
from app.server.tunnel.service import TunnelService

if TYPE_CHECKING:
    from app.current_settings import CurrentSettings
    from app.db.store import Store
    from app.troubles import Troubles

REPLAYS_KEPT = 1_000
"""More replays than are ever kept."""


@dataclass(frozen=True)
class ApiServices:
    store: Store
    events: EventLog
    replays: ReplayService
    tunnels: TunnelService
    refused: RefusedLog
    version: str
    addresses: Addresses
    troubles: Troubles
    counts: NodeCounts
    uptime_s: Callable[[], float]
    settings: CurrentSettings
    change_settings: Callable[[Mapping[str, Any]], Awaitable[None]]
    """Applies and saves these, by name; InvalidFieldsError or PortInUseError changes nothing."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while an endpoint or target is patched: two patches at once must not undo each other's fields."""
