"""A tunnel program as the catalogue describes it (`resources/tunnels/`, one file for each)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import Literal

from app.core.record import Record


class TunnelOption(Record, frozen=True):
    """What the user can or must say before a program starts, such as the SSH server. `choices` () takes any text that
    matches `pattern`; a `secret` is never shown or logged. Few need an `advanced` one."""

    name: str
    label: str
    help: str = ""
    required: bool = False
    secret: bool = False
    default: str = ""
    placeholder: str = ""
    pattern: str = ""
    choices: tuple[str, ...] = ()
    advanced: bool = False


class AddressHeader(Record, frozen=True):
    """The request header that holds the client's address. `take`: which of its comma-separated values is to be
    believed."""

    name: str
    take: Literal["only", "first", "last"] = "only"


class TunnelProgram(Record, frozen=True):
    """A program that Hookline can run as a tunnel.

    `executables` are the names it may have. `fixed_url`: its URL stays the same the next time, in any case or with one
    of the options in `fixed_url_with`. `warnings` are said before it is used. `install` gives the command or sentence
    for each system (`linux`, `macos`, `windows`).
    """

    id: str
    name: str
    summary: str
    website: str
    executables: tuple[str, ...]
    install: dict[str, str]
    options: tuple[TunnelOption, ...] = ()
    address_header: AddressHeader | None = None
    fixed_url: bool = False
    fixed_url_with: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def keeps_url(self, values: Mapping[str, str]) -> bool:
        """Whether its URL is the same after another start with these values of the options."""
        return self.fixed_url or any(values.get(name, "").strip() for name in self.fixed_url_with)


class FoundProgram(Record, frozen=True):
    """A program of the catalogue on this computer. `path` is None if it is not installed; `values` are the options the
    user has saved, without secrets (`secrets_set` names those that have a value)."""

    program: TunnelProgram
    path: str | None
    values: dict[str, str]
    secrets_set: tuple[str, ...] = ()


def is_ssh(path: str) -> bool:
    """Whether a program's file is ssh itself: nothing of the service that it reaches is installed."""
    return PurePath(path).stem.lower() == "ssh"


def install_text(program: TunnelProgram) -> str:
    """The command or sentence that installs it on this system."""
    return program.install[{"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")]
