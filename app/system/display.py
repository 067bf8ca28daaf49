"""Checks whether a window can be opened, without Qt, which would end the process instead of returning an error, or is
not installed."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

PACKAGES = ("PySide6", "qasync", "segno")
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
    if all(importlib.util.find_spec(name) for name in PACKAGES):
        return None
    return "The window is not installed. To add it: pip install 'hookline[window]'."


def why_no_window() -> str | None:
    """Why Hookline serves without a window: it is not installed, or there is no display."""
    return why_not_installed() or why_no_display()


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
