"""A program that was found, with everything to start it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from app.core.errors import NotFoundError
from app.core.own_urls import ALL_ADDRESSES
from app.core.tunnel.options import address_header_of, command_words, secrets_of, split_command
from app.core.tunnel.program import AddressHeader, install_text
from app.core.tunnel.spec import COMMAND, ProgramSpec
from app.core.tunnel.template import arguments_of
from app.server.tunnel.environment import find_program, program_environment, write_files
from app.server.tunnel.guarded_process import GuardedProcess, new_folder

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
            "target": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
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
