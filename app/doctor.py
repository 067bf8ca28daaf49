"""`hookline doctor`: its checks of the system, the data folder and the running program, and those of the stores, in the
order in which one explains the next."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from sqlite3 import sqlite_version
from urllib.parse import urlsplit

from app import __version__
from app.cli.client import responds, running_api
from app.core import files
from app.core.clock import now_us
from app.core.doctor import Check, Finding, findings, ok, problem, warning
from app.core.errors import DataFolderError, HooklineError, StoreDriverError
from app.core.settings import Settings
from app.core.text import size_text
from app.core.tunnel import DOWN
from app.core.tunnel_program import install_text, is_ssh, read_folder
from app.current_settings import store_of
from app.data_folder.database_files import reserve_size
from app.data_folder.folder_lock import locked_by, was_unclean
from app.data_folder.private_files import SETTINGS_NAME, TOKEN_NAME, load_settings, load_tunnel_options, read_runtime
from app.db.sqlite.database_checks import check_clock, check_database, check_forwarding, check_index
from app.server.listening import find_holder
from app.server.tunnel.launch import LOOPBACK, installed_path
from app.system.about import how_it_runs, system_facts
from app.system.autostart import Autostart, autostart_for
from app.system.display import platforms, why_no_display, why_no_qt, why_not_installed
from hookline.calls import Call, T
from hookline.client.client import Client, TunnelControl
from hookline.errors import ApiError
from hookline.running import ApiAddress, usual_folder
from hookline.transport import Transport

if sys.platform != "win32":
    import resource

FILES_ENOUGH = 1024


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
        ("Versions", check_versions),
        ("Installation", check_installation),
        ("Data folder", partial(check_folder, folder)),
        *([("Disk", partial(check_disk, folder))] if address is None else []),
        ("Settings", partial(check_settings, folder)),
        ("API token", partial(check_token, folder)),
        ("Hookline", partial(_check_running, folder)),
        ("Capture port", partial(_check_port, capture, "port", capture_port, pid)),
        ("API port", partial(_check_port, api, "api_port", api_port, pid)),
        ("Tunnel", partial(_check_tunnel, folder)),
        ("Tunnel programs", partial(_check_tunnel_programs, folder, settings.tunnel_program)),
        *(_file_checks(folder, full=full, in_use=in_use) if address is None else _server_checks(address)),
        ("Display", check_display),
        ("Start at sign-in", partial(check_autostart, autostart)),
        ("Open files", check_open_files),
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
    except StoreDriverError:
        return [("Database", lambda: problem(StoreDriverError.PROBLEM, StoreDriverError.ADVICE))]
    return [
        ("Database", partial(server_checks.check_database, address)),
        ("Search index", partial(server_checks.check_index, address)),
        ("Forwarding", partial(server_checks.check_forwarding, address)),
    ]


# -- the system and the installation --------------------------------------------------------------------------------


def check_versions() -> Finding:
    """What a bug report needs first."""
    qt = _qt_version()
    system = dict(system_facts())
    parts = [f"Hookline {__version__}", f"Python {platform.python_version()}", *([f"Qt {qt}"] if qt else [])]
    return ok(", ".join((*parts, f"SQLite {sqlite_version}", f"{system['System']} ({system['Kernel']})")))


def check_installation(path: str | None = None) -> Finding:
    """How this program runs, and whether the folders of `path` (None: PATH) have several called `hookline`."""
    by_file: dict[str, str] = {}
    for folder in (os.environ.get("PATH", "") if path is None else path).split(os.pathsep):
        if folder and (program := shutil.which("hookline", path=folder)):
            by_file.setdefault(os.path.realpath(program), program)
    if len(by_file) < 2:
        return ok(how_it_runs())
    first, *others = by_file.values()
    text = f"{how_it_runs()}. PATH has {len(by_file)} programs hookline: {first} hides {', '.join(others)}"
    return warning(text, "Uninstall those that you do not need: they may be of other versions.")


def check_display() -> Finding:
    """Whether the window can open. Without it Hookline serves all the same."""
    if absent := why_not_installed():
        return ok(absent)
    if reason := why_no_display():
        return warning(reason, "The window needs a display; hookline serve works without one.")
    if lacking := why_no_qt():
        text, _, install = lacking.partition("\n")
        return warning(text, install or None)
    if sys.platform in ("win32", "darwin"):
        return ok("available")
    facts = dict(system_facts())
    return ok(f"{' or '.join(platforms(os.environ))}, session {facts['Session']}, desktop {facts['Desktop']}")


def check_autostart(autostart: Autostart) -> Finding:
    """Whether signing in starts this program on this folder."""
    if reason := autostart.unavailable():
        return ok(f"off: {reason}")
    if autostart.enabled():
        return ok("on")
    if other := autostart.replaced():
        text = f"Another command starts at sign-in: {other}"
        return warning(text, "To start this Hookline instead, switch it on in Settings.")
    return ok("off")


def check_open_files() -> Finding:
    """Whether Hookline, which raises its limit as far as it may, can open enough files; half are for senders."""
    if sys.platform == "win32":
        return ok("not limited")
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return ok("not limited")
    if limit < FILES_ENOUGH:
        text = f"Hookline may open {limit} files, so at most {limit // 2} senders can be connected at once."
        return warning(text, f"Raise the limit where Hookline is started: ulimit -Hn {FILES_ENOUGH}")
    return ok(f"{limit:,} allowed")


def _qt_version() -> str | None:
    """The version of the installed Qt, which is not loaded for that; None in a bundle without package data."""
    try:
        return version("PySide6-Essentials")
    except PackageNotFoundError:
        return None


# -- the data folder ------------------------------------------------------------------------------------------------


def check_folder(folder: Path) -> Finding:
    """Whether Hookline can use the folder, and nobody else."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        advice = "It is created at the first start. If you expected data, check --data-dir and HOOKLINE_DATA_DIR."
        return warning(f"{folder} does not exist.", advice)
    except NotADirectoryError:
        return _file(next(filter(os.path.isfile, folder.parents)))
    except OSError as error:
        advice = "Check the folders above it and their permissions, or choose another with --data-dir."
        return problem(f"{folder} cannot be reached: {error.strerror}.", advice)
    if not stat.S_ISDIR(status.st_mode):
        return _file(folder)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        advice = f"Make it yours: chmod u+rwx {folder}" if sys.platform != "win32" else "Check its permissions."
        return problem(f"{folder} cannot be read or written.", advice)
    if sys.platform != "win32":
        if status.st_uid != os.geteuid():
            advice = "Start Hookline as that user, or choose another folder with --data-dir."
            return warning(f"{folder} belongs to another user (number {status.st_uid}).", advice)
        if status.st_mode & 0o077:
            mode = f"{stat.S_IMODE(status.st_mode):03o}"
            return warning(f"Other users can open {folder} (mode {mode}).", f"chmod 700 {folder}")
    return ok(f"{folder}")


def _file(path: Path) -> Finding:
    return problem(f"{path} is a file, not a folder.", "Choose another data folder with --data-dir.")


def check_disk(folder: Path) -> Finding:
    """Whether captures have room."""
    place = next((one for one in (folder, *folder.parents) if one.is_dir()), folder)
    try:
        usage = shutil.disk_usage(place)
    except OSError as error:
        return problem(f"The disk of {place} cannot be measured: {error.strerror}.", "Check that it is there.")
    reserve = reserve_size(saved_settings(folder).disk_reserve, usage.total)
    text = f"{size_text(usage.free)} of {size_text(usage.total)} free"
    advice = "Delete requests or other files, or lower the disk reserve: hookline settings disk_reserve"
    if usage.free < reserve:
        return problem(f"{text}, less than the reserve of {size_text(reserve)}: senders get 503.", advice)
    if usage.free < 2 * reserve:
        return warning(f"{text}; senders get 503 when less than {size_text(reserve)} are left.", advice)
    return ok(f"{text} (the reserve is {size_text(reserve)})")


def check_settings(folder: Path) -> Finding:
    """Whether the settings can be read."""
    load_settings(folder)
    return ok("valid" if (folder / SETTINGS_NAME).exists() else "none saved; the defaults apply")


def check_token(folder: Path) -> Finding:
    """Whether the API's token is readable by its owner alone."""
    file = folder / TOKEN_NAME
    try:
        token, mode = file.read_text("ascii").strip(), stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        return ok("none yet; it is made at the first start")
    except (OSError, UnicodeDecodeError) as error:
        text = f"{file} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}."
        return problem(text, "Check its permissions, or delete it: the next start makes a new one.")
    if not token:
        return warning(f"{file} is empty.", "The next start makes a new token.")
    if sys.platform != "win32" and mode & 0o077:
        return warning(f"Other users can read {file} (mode {mode:03o}).", f"chmod 600 {file}")
    return ok("readable only by its owner" if sys.platform != "win32" else "readable")


def saved_settings(folder: Path) -> Settings:
    """The saved settings; the defaults where they cannot be read, which another check tells."""
    try:
        return load_settings(folder)
    except DataFolderError:
        return Settings()


# -- the running program, its ports and tunnel ----------------------------------------------------------------------


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
        answered = responds(address)
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
    specs, saved = read_folder(files.resource("tunnels")), load_tunnel_options(folder)
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
