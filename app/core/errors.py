"""The errors that are told to the user. Whatever else is raised is a bug of ours and crashes loudly.

Each message says what happened, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.core.rules import FieldError


class HooklineError(Exception):
    """Something of the user's world is not as needed; `str()` of it is the message to show."""


class InvalidFieldsError(HooklineError):
    """Values that break a rule; nothing was saved."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__(" ".join(error.message for error in self.errors))


class PlanLimitError(HooklineError):
    """The plan does not allow this."""


class NotFoundError(HooklineError):
    """No such endpoint or request (any more)."""


class StorageUnavailableError(HooklineError):
    """The store cannot write now: disk full, database locked or gone. Trying again later may work."""


class StorageLimitError(HooklineError):
    """A storage limit keeps the request from being stored. `limit`: it could never be, as it is larger than that."""

    def __init__(self, message: str, retry_after_s: int, limit: int | None = None) -> None:
        self.retry_after_s, self.limit = retry_after_s, limit
        super().__init__(message)


class DataFolderError(HooklineError):
    """The data folder or its database cannot be opened; nothing in it was changed."""

    def __init__(self, message: str, folder: Path) -> None:
        self.folder = folder
        super().__init__(message)


class FolderInUseError(DataFolderError):
    """Another Hookline has this data folder open. `pid` is None when it is not known which."""

    def __init__(self, message: str, folder: Path, pid: int | None) -> None:
        self.pid = pid
        super().__init__(message, folder)


class NewerDatabaseError(DataFolderError):
    """The database was written by a newer Hookline."""


class DamagedDatabaseError(DataFolderError):
    """The database file is not one that can be read; it may be set aside."""


class MissingDatabaseError(DataFolderError):
    """There is no database, yet other files show that there was one; a new one is made only when asked for."""


class PortInUseError(HooklineError):
    """A port to listen on, chosen by `option`, is taken. `holder` names the program when the system tells."""

    def __init__(self, host: str, port: int, holder: str | None = None, option: str = "--port") -> None:
        self.host, self.port, self.holder = host, port, holder
        by = f" by {holder}" if holder else ""
        super().__init__(
            f"Port {port} on {host} is already in use{by}. Stop that program, or choose another port with {option}."
        )
