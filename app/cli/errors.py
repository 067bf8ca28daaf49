"""How a command ends: four exit codes, and the error that carries one with what to do about it."""

from __future__ import annotations

from enum import IntEnum

from app.core.errors import HooklineError


class Exit(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    NO = 1
    """Not found, timed out, or a question was declined."""
    USAGE = 2
    CANNOT = 3
    """Environment error: a port in use, a data folder in use by another program."""
    INTERRUPTED = 130
    """Ctrl-C, as shells number it."""


class CliError(HooklineError):
    """Ends the command with `code`; `str()` of it is the line on standard error.

    `under` are lines that stand below it on a terminal.
    """

    def __init__(self, message: str, code: Exit, under: tuple[str, ...] = ()) -> None:
        self.code, self.under = code, under
        super().__init__(message)
