"""Where tunnel programs are found, and the environment they get."""

from __future__ import annotations

import fnmatch
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.core.tunnel.spec import ProgramSpec
from app.core.tunnel.template import filled, is_complete

DROPPED = ("TUNNEL_*", "HOOKLINE_*", "HOST", "PORT", "SUBDOMAIN", "LOCAL_HOST", "RUST_LOG")
"""Variables that tunnel programs would take for options."""
MORE_FOLDERS = (
    "/opt/homebrew/bin",
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/snap/bin",
    "~/.local/bin",
    "~/.cargo/bin",
    "~/go/bin",
    "~/bin",
)
"""Where programs are installed that a program started from the desktop does not have on its PATH."""


def search_path(environment: Mapping[str, str]) -> str:
    """PATH with the folders it may lack."""
    folders = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder]
    if sys.platform != "win32":
        folders += [os.path.expanduser(folder) for folder in MORE_FOLDERS]
    return os.pathsep.join(dict.fromkeys(folders))


def find_program(executables: Sequence[str]) -> str | None:
    """The path of the first of these names that is installed; one with a folder in it is a path already. May block.

    What only lies in the working directory, where Windows looks first, is not an installed program.
    """
    path = search_path(os.environ)
    found = ((name, shutil.which(name, path=path)) for name in executables)
    return next((file for name, file in found if file and (os.path.isabs(file) or os.path.dirname(name))), None)


def program_environment(spec: ProgramSpec, values: Mapping[str, str], inherited: Mapping[str, str]) -> dict[str, str]:
    """`inherited` without what the program would mistake for its options, and with what it needs."""
    patterns = (*DROPPED, *spec.run.drop)
    kept = {
        name: value
        for name, value in inherited.items()
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    }
    added = {name: filled(text, values) for name, text in spec.run.set.items() if is_complete(text, values)}
    return {**kept, "PATH": search_path(inherited), "NO_COLOR": "1", **added}


def write_files(spec: ProgramSpec, values: Mapping[str, str], folder: Path) -> None:
    """Write the program's files; they may hold secrets and may be scripts, so only the owner may use them."""
    for name, text in spec.run.files.items():
        if is_complete(text, values):
            with os.fdopen(os.open(folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o700), "w") as file:
                file.write(filled(text, values))
