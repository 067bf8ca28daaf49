"""What the local API needs of the running program."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.core.model import Endpoint
from app.core.settings import Settings
from app.core.store import Store
from app.server.api.event_log import EventLog
from app.server.refused import RefusedLog
from app.server.replay import ReplayService
from app.server.tunnel.service import TunnelService

REPLAYS_KEPT = 1_000
"""More replays than are ever kept."""


@dataclass(frozen=True)
class ApiServices:
    """The callables are called for each request, so that changed settings apply at once."""

    store: Store
    events: EventLog
    replays: ReplayService
    tunnels: TunnelService
    refused: RefusedLog
    version: str
    base_url: Callable[[], str]
    """What capture URLs start with: the tunnel's URL, the public base URL, or the capture port's own address."""
    capture_url: Callable[[], str | None]
    """The capture port's own address; None while it is closed."""
    endpoint_url: Callable[[Endpoint], str]
    """The URL to give to senders."""
    storage_trouble: Callable[[], str | None]
    """Why storing fails now, in words; None when it works."""
    warnings: Callable[[], tuple[str, ...]]
    """Other problems, in words."""
    uptime_s: Callable[[], float]
    settings: Callable[[], Settings]
    overridden: Callable[[], Mapping[str, Any]]
    """The saved values of the settings that have another one until Hookline is closed."""
    apply_settings: Callable[[Settings, Collection[str]], Awaitable[None]]
    """Applies other settings, and saves what changed and those named; InvalidFieldsError or PortInUseError changes
    nothing."""
    changing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while an endpoint or target is patched: two patches at once must not undo each other's fields."""
