"""Where tunnel programs are found, and everything to start one, its environment too."""

from __future__ import annotations

import fnmatch
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import NotFoundError
from app.core.own_urls import ALL_ADDRESSES
from app.core.text import host_port
from app.core.tunnel_program import (
    COMMAND,
    AddressHeader,
    ProgramSpec,
    address_header_of,
    arguments_of,
    command_words,
    filled,
    install_text,
    is_complete,
    secrets_of,
    split_command,
)
from app.server.tunnel.guarded_process import GuardedProcess, new_folder

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


LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Started:
    """A running program, and the values of the templates that it was started with."""

    process: GuardedProcess
    values: dict[str, str]


@dataclass(frozen=True)
class Launch:
    """`path` is the program's file, `options` the values of all its options, `data` the folder of what stays."""

    spec: ProgramSpec
    path: str
    options: dict[str, str]
    data: Path

    @classmethod
    def find(cls, spec: ProgramSpec, options: dict[str, str], data: Path) -> Launch:
        """NotFoundError, with how to install it, if the program is not on this computer. May block."""
        program = spec.program
        path = installed_path(spec, options)
        if path is None and program.executables:
            raise NotFoundError(f"{program.executables[0]} is not installed. Install it: {install_text(program)}.")
        if path is None:
            raise NotFoundError(f"The command {split_command(options[COMMAND])[0]!r} was not found.")
        return cls(spec, path, options, data)

    @property
    def name(self) -> str:
        """What the program is called in sentences."""
        return Path(self.path).stem

    @property
    def keeps_url(self) -> bool:
        """Whether the URL is the same after another start."""
        return self.spec.program.keeps_url(self.options)

    @property
    def secrets(self) -> tuple[str, ...]:
        return secrets_of(self.spec.program, self.options)

    @property
    def address_header(self) -> AddressHeader | None:
        return address_header_of(self.spec.program, self.options)

    def start(self, address: tuple[str, int]) -> Started:
        """Start it for the capture port at `address`. May block; OSError."""
        host, port = address
        if host in ALL_ADDRESSES:
            host = LOOPBACK
        folder = new_folder()
        values = {
            **self.options,
            "port": str(port),
            "local_host": host,
            "target": host_port(host, port),
            "folder": str(folder),
            "data": str(self.data),
        }
        try:
            self.data.mkdir(mode=0o700, exist_ok=True)
            write_files(self.spec, values, folder)
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        words = command_words(self.spec.program, values)
        arguments = arguments_of(self.spec.run.arguments, values, {COMMAND: words[1:]})
        environment = program_environment(self.spec, values, os.environ)
        return Started(GuardedProcess([self.path, *arguments], environment, folder), values)


def installed_path(spec: ProgramSpec, options: Mapping[str, str]) -> str | None:
    """The program's file on this computer, or the one that the user's own command line names; None without one. May
    block."""
    if spec.program.executables:
        return find_program(spec.program.executables)
    words = command_words(spec.program, options)
    return find_program([os.path.expanduser(words[0])]) if words else None
