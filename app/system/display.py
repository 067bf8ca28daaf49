"""Checks whether a window can be opened: its packages are installed, there is a display, and Qt finds the system
libraries that it needs. Without Qt, which would end the process instead of returning an error. And says which of the
system's packages have what is missing."""

from __future__ import annotations

import ctypes
import importlib.util
import locale
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from platform import freedesktop_os_release
from shutil import which

from app.system import installation

PYTHON_PACKAGES = ("PySide6", "qasync", "segno")
"""What `pip install 'hookline[window]'` adds."""
PAUSE_S = 0.2


def platforms(environment: Mapping[str, str]) -> list[str]:
    """The platforms that Qt on Linux tries, in its order: `xcb` (X11), `wayland`, or what the user selected."""
    requested = environment.get("QT_QPA_PLATFORM")
    if requested:
        return [name.split(":")[0] for name in requested.split(";")]
    wayland = ["wayland"] if environment.get("WAYLAND_DISPLAY") else []
    return [*wayland, *(["xcb"] if environment.get("DISPLAY") or not wayland else [])]


def why_not_installed() -> str | None:
    """One sentence each for what is missing and what to do; None when the window's packages are there."""
    if all(importlib.util.find_spec(name) for name in PYTHON_PACKAGES):
        return None
    return "The window is not installed. To add it: pip install 'hookline[window]'."


def why_no_display(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str | None:
    """One sentence saying why no window can open; None when one can."""
    if platform in ("win32", "darwin"):
        return None
    reasons = [_why_not(name, environment) for name in platforms(environment)]
    return " ".join(filter(None, reasons)) if all(reasons) else None


def _why_not(name: str, environment: Mapping[str, str]) -> str | None:
    if name.startswith("wayland"):
        return _why_no_wayland(environment)
    if name != "xcb":  # offscreen and similar platforms show nothing
        return None
    display = environment.get("DISPLAY")
    if not display:
        return "There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)."
    host, _, number = display.rpartition(":")
    if host not in ("", "unix"):  # on another host: not checked, because that would take long over a network
        return None
    if _x_server_admits(display):
        return None
    path = f"/tmp/.X11-unix/X{number.split('.')[0]}"  # the place X defines
    if not (_responds(path) or _responds("\0" + path)):
        return f"The display {display} does not respond."
    # A server restarts when its last client has left, and accepts no one meanwhile.
    time.sleep(PAUSE_S)
    return None if _x_server_admits(display) else f"The display {display} denied access to this user."


def _why_no_wayland(environment: Mapping[str, str]) -> str | None:
    name = environment.get("WAYLAND_DISPLAY") or "wayland-0"
    if environment.get("WAYLAND_SOCKET"):  # an inherited connection
        return None
    path = Path(environment.get("XDG_RUNTIME_DIR", "")) / name
    return None if path.is_absolute() and _responds(str(path)) else f"The Wayland display {name} does not respond."


def _responds(path: str) -> bool:
    """Whether a server accepts connections at this local address."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(path)
        except OSError:
            return False
    return True


def _x_server_admits(display: str) -> bool:
    """Whether the user may connect, according to X's own library. Where that is not installed, neither is Qt's plugin.

    The connection stays open as long as the process lives: a server may restart once it has no other, just when Qt
    connects.
    """
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    return not xcb.xcb_connection_has_error(ctypes.c_void_p(xcb.xcb_connect(display.encode(), None)))


# The parts of Qt that the window uses. The platform's plugin is checked too, which needs all of QtGui.
MODULES = ("libQt6Widgets.so.6", "libQt6Network.so.6", "libQt6Svg.so.6")
_MISSING = re.compile(r"^(?:Error loading shared library )?(\S+\.so[.\d]*): ")
_TOO_OLD = re.compile(r"version [`'](\w+_[\d.]+)' not found")
DIALOGS = (("zenity", "--error", "--no-markup", "--text"), ("kdialog", "--error"), ("xmessage", "-center"))

X11 = {
    "libX11.so.6": ("libx11-6", "libX11"),
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb"),
    "libxcb.so.1": ("libxcb1", "libxcb"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms"),
    "libxcb-randr.so.0": ("libxcb-randr0", "libxcb"),
    "libxcb-render-util.so.0": ("libxcb-render-util0", "xcb-util-renderutil"),
    "libxcb-render.so.0": ("libxcb-render0", "libxcb"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb"),
    "libxcb-shm.so.0": ("libxcb-shm0", "libxcb"),
    "libxcb-sync.so.1": ("libxcb-sync1", "libxcb"),
    "libxcb-util.so.1": ("libxcb-util1", "xcb-util"),
    "libxcb-xfixes.so.0": ("libxcb-xfixes0", "libxcb"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", "libxcb"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11"),
}
WAYLAND = {
    "libwayland-client.so.0": ("libwayland-client0", "libwayland-client"),
    "libwayland-cursor.so.0": ("libwayland-cursor0", "libwayland-cursor"),
}
EVERYWHERE = {
    "libEGL.so.1": ("libegl1", "mesa-libEGL"),
    "libGL.so.1": ("libgl1", "mesa-libGL"),
    "libX11.so.6": X11["libX11.so.6"],
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig"),
    "libfreetype.so.6": ("libfreetype6", "freetype"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2"),
    "libgssapi_krb5.so.2": ("libgssapi-krb5-2", "krb5-libs"),
    "libgthread-2.0.so.0": ("libglib2.0-0", "glib2"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon"),
    "libz.so.1": ("zlib1g", "zlib"),
}
"""By library: the package of Debian and its derivatives, and that of Fedora and its."""

PACKAGES = {**EVERYWHERE, **X11, **WAYLAND}
FONTS = ("fonts-dejavu-core", "dejavu-sans-fonts")


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
    how = how_to_install(names, system)
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
    names = dict(EVERYWHERE)
    if "xcb" in requested:
        names |= X11
    if "wayland" in requested:
        names |= WAYLAND
    return [name for name in names if (_trouble(name) or "").startswith(f"{name}:")]


def families() -> tuple[str, ...]:
    """The system's id and those it derives from, such as `("ubuntu", "debian")`; empty when unknown."""
    try:
        release = freedesktop_os_release()
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(f"{release['ID']} {release.get('ID_LIKE', '')}".split())


def how_to_install(libraries: Sequence[str], system: Sequence[str] | None = None) -> str:
    """A sentence that says how to install `libraries` (`libEGL.so.1`) on this system, or on one of these families."""
    return _how([(PACKAGES.get(name), f"{name}()(64bit)") for name in libraries], system)


def how_to_install_fonts(system: Sequence[str] | None = None) -> str:
    """A sentence that says how to install a font."""
    return _how([(FONTS, "dejavu-fonts")], system)


def _how(needed: Sequence[tuple[tuple[str, str] | None, str]], system: Sequence[str] | None) -> str:
    """`needed`: Debian's and Fedora's package, where known, and rpm's own name for it."""
    system = families() if system is None else system
    by_rpm = [shlex.quote(fedora[1] if (fedora := packages) else rpm) for packages, rpm in needed]
    if "debian" in system or "ubuntu" in system:
        if all(packages for packages, _ in needed):
            return _command("sudo apt install", [packages[0] for packages, _ in needed if packages])
    elif "fedora" in system or "rhel" in system:
        return _command("sudo dnf install", by_rpm)
    elif any(name.startswith(("opensuse", "suse", "sles")) for name in system):
        return _command("sudo zypper install", [shlex.quote(rpm) for _, rpm in needed])
    return "Install what is missing with your system's package manager."


def _command(start: str, packages: Sequence[str]) -> str:
    return f"To install: {' '.join((start, *dict.fromkeys(packages)))}"
