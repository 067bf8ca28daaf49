"""Facts about the running program: how it is installed, its components, and the text of a bug report, without
secrets."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from sqlite3 import sqlite_version
from typing import TYPE_CHECKING

from app import __version__
from app.core.files import Component
from app.core.own_urls import ALL_ADDRESSES
from app.core.text import Fact, clock_text, duration_text, report_text, size_text, use_text
from app.system import installation

if TYPE_CHECKING:
    from app.current_settings import CurrentSettings
    from app.db.store import Store
    from app.server.addresses import Addresses
    from app.server.refused import RefusedLog
    from app.troubles import Troubles

DESKTOP = ("XDG_CURRENT_DESKTOP", "XDG_SESSION_DESKTOP", "DESKTOP_SESSION")


@dataclass(kw_only=True)
class About:
    """What the About dialog shows."""

    folder: Path
    store: Store
    refused: RefusedLog
    settings: CurrentSettings
    addresses: Addresses
    troubles: Troubles
    uptime_s: Callable[[], float]

    @property
    def installation(self) -> str:
        """How the program is run, and from where."""
        return how_it_runs()

    @property
    def base_url(self) -> str:
        return self.addresses.base_url()

    def versions(self) -> Sequence[Fact]:
        """The versions of Python and SQLite; the window adds its own."""
        return [("Python", platform.python_version()), ("SQLite", sqlite_version)]

    async def licences(self) -> Sequence[Component]:
        """The bundled software, with its licences."""
        from app.system.licences import components  # start-up time: loaded when somebody looks at them

        return await asyncio.to_thread(components)

    async def diagnostics(self, window: Sequence[Fact]) -> str:
        """The text of a bug report; `window` are the window's facts. StorageUnavailableError.

        It contains no endpoint's name or slug, no URL, no request's content, no key and no token.
        """
        sections = [
            ("System", await asyncio.to_thread(system_facts)),
            ("Program", [("Installation", self.installation), *self.versions()]),
            ("Window", window),
            ("Data", await self._data()),
            ("Settings", self._settings()),
        ]
        return without_home(report_text(f"Hookline {__version__}", sections), _home())

    async def _data(self) -> list[Fact]:
        endpoints = self.store.endpoints.all()
        counts = [self.store.captures.counts(endpoint.id) for endpoint in endpoints]
        size, problem = await self.store.retention.size(), self.store.retention.problem
        active, forwarded = sum(one.active for one in endpoints), sum(one.forward_url is not None for one in endpoints)
        requests, unread = sum(one.total for one in counts), sum(one.unread for one in counts)
        return [
            ("Folder", str(self.folder)),
            ("Database", f"{size_text(size.file_bytes)}, {size_text(size.free_bytes)} of it can be freed"),
            ("Plan", self.store.account.plan.value),
            ("Endpoints", f"{len(endpoints)} ({active} active, {forwarded} forwarded)"),
            ("Requests", f"{requests} ({unread} unread)"),
            ("Refused", f"{self.refused.total} since start"),
            ("Retention", "running" if problem is None else clock_text(problem)[0]),
            ("Storage problem", self.troubles.storage or "none"),
            ("Running for", duration_text(self.uptime_s())),
        ]

    def _settings(self) -> list[Fact]:
        settings, listening = self.settings.now, self.addresses.listening
        use = self.store.limits.use()
        return [
            ("Capture port", f"{settings.port}, {'listening on ' + str(listening[1]) if listening else 'closed'}"),
            ("Capture address", _listening_scope(settings.host)),
            ("API port", str(settings.api_port)),
            ("Public base URL", "set" if settings.base_url else "not set"),
            ("Largest body", size_text(settings.body_limit)),
            ("Storage limit", f"{use_text(use.used, use.limit)}, then {use.when_full.replace('_', ' ')}"),
            ("Theme", settings.theme),
        ]


def how_it_runs() -> str:
    """From source, packaged, portable, an AppImage or one file; and the path."""
    if not installation.is_bundle():
        root = installation.package().parent
        return f"Python package, {root}" if root.name == "site-packages" else f"from source, {root}"
    path = installation.executable()
    if installation.portable_mark():
        return f"portable program, {path}"
    if path != Path(sys.executable):
        return f"AppImage, {path}"
    # A one-file program unpacks itself to a temporary folder; otherwise its parts are beside or below it.
    parts = Path(getattr(sys, "_MEIPASS", path.parent))
    if not parts.is_relative_to(installation.folder_of(path)):
        return f"one-file program, {path}"
    return f"packaged program, {path}"


def system_facts(environment: Mapping[str, str] = os.environ) -> list[Fact]:
    """The system and its desktop, without the names of the machine and the user."""
    facts = [("System", _system_name()), ("Kernel", f"{platform.system()} {platform.release()} {platform.machine()}")]
    if sys.platform not in ("win32", "darwin"):
        desktop = next((environment[name] for name in DESKTOP if environment.get(name)), "unknown")
        facts += [("Desktop", desktop), ("Session", environment.get("XDG_SESSION_TYPE") or "unknown")]
    return facts


def _system_name() -> str:
    if sys.platform == "darwin":
        return f"macOS {platform.mac_ver()[0]}"
    if sys.platform == "win32":
        return f"Windows {platform.version()}"
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return "unknown"


def without_home(text: str, home: Path) -> str:
    """`text` with `~` for the user's home folder, whose name is private."""
    return text.replace(str(home), "~") if home != Path(home.anchor) else text


def _home() -> Path:
    """The user's home folder; the root where it is not known."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def _listening_scope(host: str) -> str:
    """Who can reach the capture port; the address itself may be public."""
    if host in ALL_ADDRESSES:
        return "every address of this machine"
    return "this machine only" if host == "localhost" or ip_address(host).is_loopback else "one address"
