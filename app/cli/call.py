"""The call that a command gets."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from app.cli.output import Output
from app.cli.services import CliServices

if TYPE_CHECKING:
    from app.cli.client import ApiClient


class Call(NamedTuple):
    """Its parsed options, where it prints, and the API."""

    options: Namespace
    out: Output
    api: ApiClient


Command = Callable[[Call], Awaitable[int]]


class LocalCall(NamedTuple):
    """The call of a command that opens no store by itself: it follows a running program, reads files, or serves."""

    options: Namespace
    out: Output
    folder: Path
    services: CliServices


LocalCommand = Callable[[LocalCall], Awaitable[int]]
