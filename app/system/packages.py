"""The system's packages for libraries that the window needs, and the command that installs them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

OS_RELEASE = (Path("/etc/os-release"), Path("/usr/lib/os-release"))

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


def families(files: Sequence[Path] = OS_RELEASE) -> tuple[str, ...]:
    """The system's id and those it derives from, such as `("ubuntu", "debian")`; empty when unknown."""
    for file in files:
        try:
            release = dict(line.split("=", 1) for line in file.read_text("utf-8").splitlines() if "=" in line)
        except (OSError, UnicodeDecodeError):
            continue
        # The file has the shape of shell assignments, so values may be quoted.
        return tuple(" ".join(_unquoted(release.get(key, "")) for key in ("ID", "ID_LIKE")).split())
    return ()


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


def _unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value))
    except ValueError:
        return ""
