"""Checks that Qt finds the system libraries it needs, before it is started: it would end the process instead."""

from __future__ import annotations

import ctypes
import importlib.util
import locale
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import which

from app.system import installation, packages
from app.system.display import platforms

# The parts of Qt that the window uses. The platform's plugin is checked too, which needs all of QtGui.
MODULES = ("libQt6Widgets.so.6", "libQt6Network.so.6", "libQt6Svg.so.6")
_MISSING = re.compile(r"^(?:Error loading shared library )?(\S+\.so[.\d]*): ")
_TOO_OLD = re.compile(r"version [`'](\w+_[\d.]+)' not found")
DIALOGS = (("zenity", "--error", "--no-markup", "--text"), ("kdialog", "--error"), ("xmessage", "-center"))


def why_no_qt(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str | None:
    """What is missing and what to do about it; None when Qt can start. Loads the libraries, as Qt would next."""
    folder = _qt_folder()
    if not platform.startswith("linux") or folder is None:
        return None
    requested = platforms(environment)
    plugins = [folder / "plugins" / "platforms" / f"libq{name.split('-')[0]}.so" for name in requested]
    if not any(plugin.is_file() for plugin in plugins):
        there = ", ".join(sorted(path.stem[4:] for path in plugins[0].parent.glob("libq*.so")))
        return f"QT_QPA_PLATFORM is {environment.get('QT_QPA_PLATFORM', '')}; this Hookline can open: {there}."
    troubles = [_trouble(plugin) for plugin in plugins if plugin.is_file()]
    if not all(troubles):
        troubles = list(filter(None, (_trouble(folder / "lib" / name) for name in MODULES)))
    return explained(troubles[0] or "", _absent(requested)) if troubles else None


def set_utf8_locale() -> None:
    """Select the character set that Qt requires where none is set (as in cron or `env -i`), because Qt would print a
    warning.

    A Python that was not packaged has done so already.
    """
    with suppress(locale.Error):
        locale.setlocale(locale.LC_CTYPE, "")
    if installation.is_bundle() and sys.platform != "win32" and locale.nl_langinfo(locale.CODESET) != "UTF-8":
        os.environ["LC_CTYPE"] = "C.UTF-8"


def explained(trouble: str, absent: Iterable[str] = (), system: tuple[str, ...] | None = None) -> str:
    """The loader's message about one library, and the other `absent` ones, as a message for the user."""
    without = "hookline serve works without a window."
    if too_old := _TOO_OLD.search(trouble):
        need = too_old[1].replace("_", " ")
        return f"The window cannot open: this system is too old for it ({need} is needed). {without}"
    missing = _MISSING.match(trouble)
    if not missing or "No such file" not in trouble:
        return f"The window cannot open: {trouble.rstrip('.')}. {without}"
    names = sorted({missing[1], *absent})
    what = "a library that is" if len(names) == 1 else "libraries that are"
    how = packages.how_to_install(names, system)
    return f"The window needs {what} not installed: {', '.join(names)}. {without}\n{how}"


def show_desktop_dialog(text: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Show `text` in a dialog of the desktop, for a user who started from a menu; False if no dialog program is
    installed."""
    on_display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    for name, *options in DIALOGS:
        if on_display and which(name):
            subprocess.Popen([name, *options, text], start_new_session=True)
            return True
    return False


def _qt_folder() -> Path | None:
    # Finding the package does not import it.
    spec = importlib.util.find_spec("PySide6")
    places = spec.submodule_search_locations if spec else None
    folder = Path(places[0]) / "Qt" if places else None
    return folder if folder and folder.is_dir() else None


def _trouble(library: Path | str) -> str | None:
    """The loader's error for a library."""
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        return str(error.__cause__ or error)  # in a bundle PyInstaller wraps the loader's error
    return None


def _absent(requested: Iterable[str]) -> list[str]:
    """All missing system libraries, so that they can be installed together."""
    names = dict(packages.EVERYWHERE)
    if "xcb" in requested:
        names |= packages.X11
    if "wayland" in requested:
        names |= packages.WAYLAND
    return [name for name in names if (_trouble(name) or "").startswith(f"{name}:")]
