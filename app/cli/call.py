"""The call that a command gets."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.cli.output import Output

if TYPE_CHECKING:
    from app.cli.client import ApiClient


@dataclass(frozen=True)
class Call:
    """Its parsed options, where it prints, and the API."""

    options: Namespace
    out: Output
    api: ApiClient


Command = Callable[[Call], Awaitable[int]]
