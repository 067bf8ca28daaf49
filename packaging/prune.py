"""Decides what goes into the bundle and what stays out, from the entries PyInstaller collected.

Qt's plugins are named here; a shared library stays when something that stays needs it.
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from pathlib import PurePosixPath

from app.core.bodies.formats.code import LANGUAGES

Entry = tuple[str, str, str]
"""PyInstaller's own: the name inside the bundle, the file it is made of (or a link's target), and its kind."""
Needs = Callable[[str], Iterable[str]]
"""Gives the file names, in lower case, of the libraries that the one at a path is linked to."""

# By folder, without `lib` and suffix. What is not here draws without a desktop (egl, vnc), reads pictures that Hookline
# does not show, speaks TLS or tells of networks (Qt only finds the running instance), or belongs to another toolkit.
PLUGINS = {
    "iconengines": {"qsvgicon"},
    "imageformats": {"qgif", "qjpeg", "qsvg", "qwebp"},
    "platforminputcontexts": {"composeplatforminputcontextplugin", "ibusplatforminputcontextplugin"},
    "platforms": {"qcocoa", "qoffscreen", "qwayland", "qwindows", "qxcb"},
    "platformthemes": {"qxdgdesktopportal"},
    "wayland-decoration-client": {"adwaita", "bradient"},
    "wayland-graphics-integration-client": {"qt-plugin-wayland-egl"},
    "wayland-shell-integration": {"xdg-shell"},
    "xcbglintegrations": {"qxcb-egl-integration", "qxcb-glx-integration"},
}

# Libraries that drivers, fonts or services of the user's own system go with: an older copy in the bundle would be found
# first and break those (a Mesa driver wants its newer libstdc++, a configuration of fonts its newer fontconfig). Each
# desktop has them. PyInstaller leaves out libc, libGL, libEGL, libxcb.so.1 and libwayland-* for the same reason.
SYSTEM = {
    "libstdc++.so",
    "libgcc_s.so",
    "libX11.so",
    "libX11-xcb.so",
    "libdbus-1.so",
    "libfontconfig.so",
    "libfreetype.so",
    "libz.so",
}

# Modules that something asks for and does without. `multiprocessing` would cost time at each start; Hookline compresses
# nothing with bz2 or lzma, reads and writes no archives, and sends no mail; the rest are toolkits not used, second
# implementations of what is there in C (the other way round for wcwidth, whose tables in C take 1.3 MiB), parts of
# packages that they load on demand, and tools for developers.
EXCLUDES = [
    "PySide6.QtOpenGL",
    "PySide6.QtOpenGLWidgets",
    "_pydatetime",
    "_pydecimal",
    "anyio._backends._trio",
    "backports.zstd._cffi",
    "backports.zstd._shutil",
    "bz2",
    "distutils",
    "filelock._async",
    "filelock._async_read_write",
    "filelock._lease",
    "filelock._marker",
    "filelock._read_write",
    "filelock._soft_rw",
    "filelock._strict",
    "filelock.asyncio",
    "ftplib",
    "lzma",
    "multidict._multidict_py",
    "multiprocessing",
    "pydoc",
    "readline",
    "setuptools",
    "smtplib",
    "tarfile",
    "tkinter",
    "unittest",
    "wcwidth._wcwidth_c",
]

LINUX_ONLY = ["PySide6.QtDBus"]
"""Modules that only Linux has a use for: its desktops take notifications over D-Bus."""

WINDOWS_ONLY = ["asyncio.proactor_events", "asyncio.windows_events", "asyncio.windows_utils"]
"""Modules that asyncio asks for on Windows only."""

LICENCES = ("LICENSE", "LICENCE", "COPYING", "NOTICE")
"""How those files among a package's metadata begin that the program shows; its folder `licenses` stays whole."""


def lexers() -> list[str]:
    """The modules that bodies are coloured with, which are imported by name."""
    return sorted({language.lexer.rpartition(".")[0] for language in LANGUAGES})


def unused_lexers() -> list[str]:
    """What of Pygments those do not ask for, most of it; PyInstaller's recipe for Pygments would take it all."""
    for module in lexers():
        import_module(module)
    package = import_module("pygments")
    loaded = {name for name in sys.modules if name.startswith("pygments.")}
    every = {module.name for module in pkgutil.walk_packages(package.__path__, "pygments.")}
    return sorted(every - loaded)


def kept_binaries(entries: Iterable[Entry], needs: Needs) -> list[Entry]:
    """Python's extension modules, the plugins of Qt that are named here, and the libraries those need."""
    found = [entry for entry in entries if not _is_left_to_the_system(entry)]
    libraries: dict[str, list[Entry]] = {}  # Windows may have the same one in several folders
    for entry in found:
        if not _is_root(entry) and _plugin_folder(entry) is None:
            libraries.setdefault(_file(entry), []).append(entry)
    kept = [entry for entry in found if _is_root(entry) or _is_named_plugin(entry)]
    for entry in kept:  # grows while it is walked
        for name in sorted(libraries.keys() & set(needs(entry[1]))):
            kept += libraries.pop(name)
    return kept


def kept_datas(entries: Collection[Entry], binaries: Collection[Entry]) -> list[Entry]:
    """All but fonts, records and translations not used, and what belongs to a library that is not among `binaries`.

    Hookline speaks English and loads no translation, so that no dialog is half in another language.
    """
    homes = {_framework(_posix(entry[0])) for entry in binaries}
    names = {_posix(entry[0]) for entry in (*binaries, *entries) if entry[2] != "SYMLINK"}
    return [entry for entry in entries if not _is_useless(entry) and _has_its_library(entry, names, homes)]


def libraries_of(path: str) -> set[str]:
    """The file names, in lower case, of the libraries that the one at `path` is linked to."""
    if sys.platform.startswith("linux"):
        text = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
        rows = (line.split() for line in text.splitlines())
        return {row[1].lower() for row in rows if len(row) == 2 and row[0] == "NEEDED"}
    # Not on Linux: there PyInstaller asks ldd, which also follows what the system's libraries need of each other.
    from PyInstaller.depend.bindepend import get_imports

    return {PurePosixPath(name.replace("\\", "/")).name.lower() for name, _ in get_imports(path)}


def _posix(name: str) -> str:
    return name.replace("\\", "/")


def _file(entry: Entry) -> str:
    return PurePosixPath(_posix(entry[0])).name.lower()


def _is_root(entry: Entry) -> bool:
    """Whether something is there for its own sake: a module, or Python, which the program opens by name."""
    name = _file(entry)
    return entry[2] == "EXTENSION" or name.startswith(("libpython", "python3")) or name == "python"


def _plugin_folder(entry: Entry) -> str | None:
    parts = PurePosixPath(_posix(entry[0])).parts
    return parts[-2] if len(parts) > 3 and parts[0] == "PySide6" and parts[-3] == "plugins" else None


def _is_named_plugin(entry: Entry) -> bool:
    return PurePosixPath(_file(entry)).stem.removeprefix("lib") in PLUGINS.get(_plugin_folder(entry) or "", ())


def _is_left_to_the_system(entry: Entry) -> bool:
    """By the name without what comes after `.so`."""
    return "".join(PurePosixPath(entry[0]).name.partition(".so")[:2]) in SYSTEM


def _is_useless(entry: Entry) -> bool:
    path = PurePosixPath(_posix(entry[0]))
    if path.parts[0].endswith(".dist-info"):
        return not (path.name == "METADATA" or path.parts[1] == "licenses" or path.name.startswith(LICENCES))
    return path.parts[0] == "PySide6" and path.suffix == ".qm"


def _framework(name: str) -> str | None:
    """The folder of the macOS framework that `name` lies in."""
    return next((str(parent) for parent in PurePosixPath(name).parents if parent.suffix == ".framework"), None)


def _has_its_library(entry: Entry, names: set[str], homes: set[str | None]) -> bool:
    name, home = _posix(entry[0]), _framework(_posix(entry[0]))
    if home is not None:
        return home in homes
    if entry[2] != "SYMLINK":
        return True
    target = PurePosixPath(name).parent / _posix(entry[1])
    return str(target) in names
