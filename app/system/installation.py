"""How this program was started: from source or as a bundle, the bundle's path, and the command that starts it again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import hookline

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
