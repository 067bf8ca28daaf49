"""How this program was started: from source or as a bundle, the bundle's path, and the command that starts it again;
and that its file was replaced or removed while it runs.

And what a bundle does to the processes around it: its children's environment lacks what the bundle sets for itself,
which would make them load its parts, and a bundle in one file ends with the process that unpacked it.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import hookline
from app.core.record import Record

PORTABLE_MARK = "hookline.portable"
PORTABLE_DATA = "hookline-data"


def is_bundle() -> bool:
    """Whether this is the packaged program, which brings its own Python."""
    return bool(getattr(sys, "frozen", False))


def executable(environment: Mapping[str, str] = os.environ) -> Path:
    """The file that the user starts: the bundle's program, the AppImage that contains it, or Python when run from
    source."""
    image, mounted = environment.get("APPIMAGE"), environment.get("APPDIR")
    # An AppImage passes these on to its children too: they concern this program only if it is inside.
    if is_bundle() and image and mounted and Path(sys.executable).is_relative_to(mounted):
        return Path(image)
    return Path(sys.executable)


def command() -> list[str]:
    """The command that starts Hookline again, from any working folder."""
    if is_bundle():
        return [str(executable())]
    # `-m hookline` would need to be installed, and without -P its folder would be searched for modules.
    return [sys.executable, "-P", str(package() / "__main__.py")]


def package() -> Path:
    """The folder of the package `hookline`."""
    return Path(hookline.__path__[0]).resolve()


def folder_of(program: Path) -> Path:
    """The folder of `program` as the user sees it: on macOS the one with the `.app`."""
    if program.parent.parts[-2:] == ("Contents", "MacOS"):
        return program.parents[3]
    return program.parent


def portable_mark() -> Path | None:
    """The file `hookline.portable` beside a bundle's program, which makes it a portable one; None without it."""
    mark = folder_of(executable()) / PORTABLE_MARK
    return mark if is_bundle() and mark.is_file() else None


def portable_reason(folder: Path) -> str:
    """Why the data folder is `folder`, if that is because the program is portable; otherwise empty."""
    mark = portable_mark()
    if mark is None or folder != portable_folder():
        return ""
    return (
        f"Hookline is in portable mode because of the file {mark}: it keeps its data beside the program. Without that"
        " file it uses your account's data folder."
    )


def portable_folder() -> Path | None:
    """The data folder of a portable bundle, beside the program; None for any other."""
    mark = portable_mark()
    return mark.with_name(PORTABLE_DATA) if mark else None


PR_SET_PDEATHSIG = 1
"""From Linux's <sys/prctl.h>."""


def end_with_unpacker() -> None:
    """Have this process get SIGTERM when the process that unpacked it is killed. Otherwise Hookline would go on
    without the process that its user sees: the program in one file is two processes, of which the one that is started
    unpacks the other, waits for it and cleans up. Does nothing unless this is the program in one file, on Linux."""
    if not sys.platform.startswith("linux") or not _is_one_file():
        return
    import ctypes  # start-up time: no other form of the program needs it

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _is_one_file() -> bool:
    """Whether the program's parts are elsewhere than its file: unpacked into a temporary folder."""
    parts = getattr(sys, "_MEIPASS", sys.executable)
    return is_bundle() and not Path(parts).is_relative_to(Path(sys.executable).parent)


SEARCH_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH", "QT_PLUGIN_PATH", "QML2_IMPORT_PATH")
SAVED = {"LD_LIBRARY_PATH": "LD_LIBRARY_PATH_ORIG"}
"""Where PyInstaller keeps a variable's previous value. `PATH_ORIG` and the like are the user's own."""
PREFIX = "_PYI_"
# A zsh would use an AppImage's ARGV0 as the name of whatever it starts. APPIMAGE and APPDIR stay: they say where this
# program is, and mean nothing to other programs.
DROPPED = ("_MEIPASS2", "ARGV0", "OWD")


def without_bundle(environment: Mapping[str, str], bundle: Path) -> dict[str, str]:
    """The environment as it was before the bundle in the folder `bundle` was started."""
    clean = {name: value for name, value in environment.items() if not name.startswith(PREFIX) and name not in DROPPED}
    for name in SEARCH_PATHS:
        given = clean.pop(name, "")
        folders = clean.pop(SAVED.get(name, ""), given).split(os.pathsep)
        left = os.pathsep.join(folder for folder in folders if not Path(folder).is_relative_to(bundle))
        if left:
            clean[name] = left
    return clean


def restore_environment() -> None:
    """Restore this process's environment for its children. Its own libraries and plugins are found without it."""
    if not is_bundle():
        return
    clean = without_bundle(os.environ, Path(getattr(sys, "_MEIPASS", Path(sys.executable).parent)))
    for name in os.environ.keys() - clean.keys():
        del os.environ[name]
    os.environ.update(clean)


LOOK_S = 60.0
"""Between two looks at the program's file."""

FileStamp = tuple[int, int, int, int]


class Change(Record, frozen=True):
    """What happened to the program, and what to do about it. `startable`: whether there is a program to start."""

    text: str
    advice: str
    startable: bool


UPDATED = Change(
    text="Hookline was updated while it was running.",
    advice="Hookline keeps capturing. Restart Hookline to use the new version.",
    startable=True,
)
REMOVED = Change(
    text="Hookline was removed from this computer while it was running.",
    advice="Hookline keeps capturing until you close it. Your requests stay in the data folder.",
    startable=False,
)


class ProgramFile:
    """The file at `path` as it was when this object was created, as early as possible in a run."""

    def __init__(self, path: Path) -> None:
        self._path, self._known = path, _stamp(path)

    async def changes(self) -> AsyncIterator[Change]:
        """Each change. An installer may remove the old file before it writes the new one, so only a file that stays
        away counts as removed."""
        import asyncio  # start-up time: each command loads this module

        missed = 0
        while self._known is not None:
            await asyncio.sleep(LOOK_S)
            # A file on a network may be slow.
            stamp = await asyncio.to_thread(_stamp, self._path)
            missed = 0 if stamp else missed + 1
            if missed == 2:
                yield REMOVED
            elif stamp and stamp != self._known:
                self._known = stamp
                yield UPDATED


def start(arguments: Sequence[str]) -> None:
    """Restart the program as a separate process; OSError when it cannot be started."""
    import subprocess  # start-up time, as above

    detached = getattr(subprocess, "DETACHED_PROCESS", 0) if sys.platform == "win32" else 0
    process = subprocess.Popen(
        [*command(), *arguments], stdin=subprocess.DEVNULL, start_new_session=True, creationflags=detached
    )
    process.returncode = 0  # nobody waits for it, and this process ends first


def _stamp(path: Path) -> FileStamp | None:
    """The identity of a file's version, None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
