"""Whether a window can be opened here, found out without Qt, which would end the process instead of saying no."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path

PAUSE_S = 0.2


def platforms(environment: Mapping[str, str]) -> list[str]:
    """What Qt on Linux tries to open a window with, in its order: `xcb` (X11), `wayland`, or what the user chose."""
    chosen = environment.get("QT_QPA_PLATFORM")
    if chosen:
        return [name.split(":")[0] for name in chosen.split(";")]
    wayland = ["wayland"] if environment.get("WAYLAND_DISPLAY") else []
    return [*wayland, *(["xcb"] if environment.get("DISPLAY") or not wayland else [])]


def why_no_display(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> str | None:
    """One sentence saying why no window can open, None when one can."""
    if platform in ("win32", "darwin"):
        return None
    reasons = [_why_not(name, environment) for name in platforms(environment)]
    return " ".join(filter(None, reasons)) if all(reasons) else None


def _why_not(name: str, environment: Mapping[str, str]) -> str | None:
    if name.startswith("wayland"):
        return _why_no_wayland(environment)
    if name != "xcb":  # offscreen and the like show nothing to anybody
        return None
    display = environment.get("DISPLAY")
    if not display:
        return "There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)."
    host, _, number = display.rpartition(":")
    if host not in ("", "unix"):  # on another host: taken at its word, which a look over the network would delay
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
    if environment.get("WAYLAND_SOCKET"):  # a connection that was handed over
        return None
    path = Path(environment.get("XDG_RUNTIME_DIR", "")) / name
    return None if path.is_absolute() and _responds(str(path)) else f"The Wayland display {name} does not respond."


def _responds(path: str) -> bool:
    """Whether a server takes connections at this local address."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _x_server_admits(display: str) -> bool:
    """Whether the user may connect; asked by X's own library. Where that is not installed, Qt's plugin is not either.

    The connection is kept for as long as the process lives: a server may restart once it has no other, just when Qt
    wants to connect.
    """
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True
    xcb.xcb_connect.restype = ctypes.c_void_p
    return not xcb.xcb_connection_has_error(ctypes.c_void_p(xcb.xcb_connect(display.encode(), None)))
