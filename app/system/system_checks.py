"""Checks of the system for `hookline doctor`: versions, display, start at sign-in, open files."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from shutil import which
from sqlite3 import sqlite_version

from app import __version__
from app.core.doctor import Finding, ok, warning
from app.system.about import how_it_runs, system_facts
from app.system.autostart.autostart import Autostart
from app.system.display import platforms, why_no_display, why_not_installed
from app.system.qt_libraries import why_no_qt

if sys.platform != "win32":
    import resource

FILES_ENOUGH = 1024


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
        if folder and (program := which("hookline", path=folder)):
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
