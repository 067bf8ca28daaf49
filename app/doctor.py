"""`hookline doctor`: the checks of all packages, in the order in which one explains the next."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from app.cli.connect import responds, running_api
from app.core.clock import now_us
from app.core.doctor import Check, Finding, findings, ok, problem, warning
from app.core.errors import HooklineError, StoreDriverError
from app.core.files import resource
from app.core.tunnel.program import install_text, is_ssh, read_folder
from app.core.tunnel.tunnel import DOWN
from app.current_settings import store_of
from app.data_folder import folder_checks
from app.data_folder.folder_checks import saved_settings
from app.data_folder.folder_lock import locked_by, was_unclean
from app.data_folder.private_files import load_tunnel_options, read_runtime
from app.db.sqlite.backup.database_checks import (
    check_clock,
    check_database,
    check_forwarding,
    check_index,
)
from app.server.listening import find_holder
from app.server.tunnel.launch import installed_path
from app.system import system_checks
from app.system.autostart.autostart import autostart_for
from hookline.calls import Call, T
from hookline.client.client import Client, TunnelControl
from hookline.errors import ApiError
from hookline.running import ApiAddress, usual_folder
from hookline.transport import Transport

LOOPBACK = "127.0.0.1"


def examine(folder: Path, *, full: bool = False) -> Iterator[Finding]:
    """The findings about this system and the data folder, one after the other; they change nothing."""
    return findings(checks(folder, full=full))


def checks(folder: Path, *, full: bool) -> list[Check]:
    in_use, pid = _locked_by(folder)
    settings, running = saved_settings(folder), read_runtime(folder, pid)
    urls = (running.capture_url, running.api_url) if running is not None else (None, None)
    capture_port, api_port = (urlsplit(url).port if url is not None else None for url in urls)
    capture, api = (settings.host, settings.port), (LOOPBACK, settings.api_port)
    autostart = autostart_for(folder if folder != usual_folder() else None)
    # `hookline serve --store` is in no settings.
    address = (running.store if running is not None else None) or store_of(settings)
    return [
        ("Versions", system_checks.check_versions),
        ("Installation", system_checks.check_installation),
        ("Data folder", partial(folder_checks.check_folder, folder)),
        *([("Disk", partial(folder_checks.check_disk, folder))] if address is None else []),
        ("Settings", partial(folder_checks.check_settings, folder)),
        ("API token", partial(folder_checks.check_token, folder)),
        ("Hookline", partial(_check_running, folder)),
        ("Capture port", partial(_check_port, capture, "port", capture_port, pid)),
        ("API port", partial(_check_port, api, "api_port", api_port, pid)),
        ("Tunnel", partial(_check_tunnel, folder)),
        ("Tunnel programs", partial(_check_tunnel_programs, folder, settings.tunnel_program)),
        *(_file_checks(folder, full=full, in_use=in_use) if address is None else _server_checks(address)),
        ("Display", system_checks.check_display),
        ("Start at sign-in", partial(system_checks.check_autostart, autostart)),
        ("Open files", system_checks.check_open_files),
    ]


def _file_checks(folder: Path, *, full: bool, in_use: bool) -> list[Check]:
    return [
        ("Database", partial(check_database, folder, full=full)),
        ("Search index", partial(check_index, folder, in_use=in_use)),
        ("Forwarding", partial(check_forwarding, folder)),
        ("Clock", lambda: check_clock(folder, now_us())),
    ]


def _server_checks(address: str) -> list[Check]:
    """Its disk and its clock are its administrator's."""
    try:
        from app.db.postgres import server_checks  # few have psycopg
    except ImportError:
        return [("Database", lambda: problem(StoreDriverError.PROBLEM, StoreDriverError.ADVICE))]
    return [
        ("Database", partial(server_checks.check_database, address)),
        ("Search index", partial(server_checks.check_index, address)),
        ("Forwarding", partial(server_checks.check_forwarding, address)),
    ]


def _check_running(folder: Path) -> Finding:
    """Whether a program has the folder, and responds."""
    locked, pid = locked_by(folder)
    who = f"process {pid}" if pid else "a process"
    if not locked:
        if was_unclean(folder):
            text = "Not running. The last run was killed or the system went down."
            return warning(text, "Nothing to do: the next start checks the database.")
        return ok("not running; start it with hookline, or hookline serve")
    address = running_api(folder)
    if address is None:
        text = f"{who.capitalize()} has the folder, but its API is not known."
        return warning(text, "If it is not just starting, or a command, close it and start Hookline again.")
    try:
        answered = asyncio.run(responds(address))
    except HooklineError as error:
        return problem(str(error), f"If this lasts, end it (kill {pid}) and start Hookline again.")
    if not answered:
        text = f"{who.capitalize()} has the folder, but its API at {address.url} does not respond."
        return problem(text, f"Close it, or end it (kill {pid}), and start Hookline again.")
    status = _said_by(address, Client.status())
    if status is not None and status.storage != "ok":
        return problem(f"running ({who}), but it stores nothing, and senders get 503.", status.storage)
    return ok(f"running ({who}), its API responds at {address.url}")


def _said_by(address: ApiAddress, asked: Call[T]) -> T | None:
    """What the program responds; None if it does not."""
    with suppress(ApiError), closing(Transport(address)) as api:
        return api.send(asked)
    return None


def _check_port(address: tuple[str, int], setting: str, taken: int | None, pid: int | None) -> Finding:
    """The port that the running Hookline has `taken`, whatever the settings say. Unless it is known, the same as
    `check_port` for the settings' `address`, but the running Hookline `pid` may use the port."""
    host, port = address
    if taken is not None:
        instead = "" if taken == port else f" instead of {port}, which the settings have"
        return ok(f"{taken}, used by this Hookline{instead}")
    found = check_port(host, port, setting)
    if found.state == "problem" and pid is not None and f"(process {pid})" in found.text:
        return ok(f"{port} on {host}, used by this Hookline")
    return found


def _check_tunnel(folder: Path) -> Finding:
    """How the tunnel of the running Hookline is."""
    address = running_api(folder)
    tunnel = _said_by(address, TunnelControl.get()) if address is not None else None
    if tunnel is None:
        return ok("not running")
    if tunnel.state in DOWN:
        return problem(f"{tunnel.state}. {tunnel.reason}".strip(), "See hookline tunnel status.")
    return ok(f"{tunnel.state}, {tunnel.url}" if tunnel.url else tunnel.state)


def _check_tunnel_programs(folder: Path, chosen: str | None) -> Finding:
    """Which tunnel programs are installed, and which services ssh reaches; a warning if the one in the settings cannot
    be run."""
    specs, saved = read_folder(resource("tunnels")), load_tunnel_options(folder)
    paths = {name: installed_path(spec, saved.get(name, {})) for name, spec in specs.items()}
    if chosen is not None and chosen not in specs:
        text = f"The setting tunnel_program names {chosen!r}, which is no tunnel program."
        return warning(text, "See hookline tunnel list.")
    if chosen is not None and paths[chosen] is None:
        program = specs[chosen].program
        return warning(f"{program.name}, which the settings name, is not installed.", install_text(program))
    found = [(specs[name].program.name, is_ssh(path)) for name, path in paths.items() if path is not None]
    found.sort(key=lambda one: one[0].casefold())
    installed = ", ".join(name for name, by_ssh in found if not by_ssh)
    via_ssh = ", ".join(name for name, by_ssh in found if by_ssh)
    text = f"installed: {installed}" if installed else "none is installed"
    return ok(f"{text}; via ssh: {via_ssh}" if via_ssh else text)


def _locked_by(folder: Path) -> tuple[bool, int | None]:
    try:
        return locked_by(folder)
    except OSError:  # which the check of the folder tells
        return False, None


def check_port(host: str, port: int, setting: str) -> Finding:
    """Whether this machine could listen on `port` at `host` now; `setting` is the setting that chooses it."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            holder = find_holder(port) or "another program"
            text = f"Port {port} on {host} is in use by {holder}."
            return problem(text, f"Stop that program, or choose another port: hookline settings {setting} PORT")
        if error.errno == errno.EACCES:
            text = f"This user may not listen on port {port}."
            return problem(text, f"Choose one above 1023: hookline settings {setting} PORT")
        text = f"Nothing can listen on {host}, port {port}: {error.strerror}."
        return problem(text, "Choose an address of this machine: hookline settings host 127.0.0.1")
    return ok(f"{port} on {host} is free")
