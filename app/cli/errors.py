"""The exit codes of commands, and the error that ends a command with one."""

from __future__ import annotations

from enum import IntEnum

from app.core.errors import HooklineError


class Exit(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    FAILURE = 1
    """Not found, timed out, a question was declined, or compared responses differ."""
    USAGE = 2
    ENVIRONMENT = 3
    """Environment error: a port in use, a data folder in use by another program."""
    INTERRUPTED = 130
    """Ctrl-C, as shells number it."""


class CliError(HooklineError):
    """Ends the command with `code`; `str()` of it is the line on standard error.

    `details` are lines printed below it on a terminal.
    """

    def __init__(self, message: str, code: Exit, details: tuple[str, ...] = ()) -> None:
        self.code, self.details = code, details
        super().__init__(message)


class UnavailableError(CliError):
    """Hookline does not respond, or is stopping: it may be back soon."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.ENVIRONMENT)
