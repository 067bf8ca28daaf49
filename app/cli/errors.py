"""The exit codes of commands, and the error that ends a command with one."""

from __future__ import annotations

from enum import IntEnum

from app.core.errors import HooklineError


class Exit(IntEnum):
    """The exit codes of all commands, as docs/command-line.md and the manual page explain them."""

    DONE = 0
    FAILURE = 1
    USAGE = 2
    ENVIRONMENT = 3
    INTERRUPTED = 130


class CliError(HooklineError):
    """Ends the command with `code`; `str()` of it is the line on standard error.

    `details` are lines printed below it on a terminal. `fields` are the names and messages of fields that the API
    refused.
    """

    def __init__(
        self, message: str, code: Exit, details: tuple[str, ...] = (), fields: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.code, self.details, self.fields = code, details, fields
        super().__init__(message)


class UnavailableError(CliError):
    """Hookline does not respond, or is stopping: it may be back soon."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Exit.ENVIRONMENT)
