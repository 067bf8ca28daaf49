"""Errors shown to the user. Any other exception is a bug and crashes loudly.

Each message says what happened, where, and what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # start-up time: commands need the errors, and few of them the rules
    from collections.abc import Sequence
    from pathlib import Path

    from app.core.rules import FieldError


class HooklineError(Exception):
    """A problem in the environment; `str()` is the message to show."""


class InvalidFieldsError(HooklineError):
    """Values that break a rule; nothing was saved."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__(" ".join(error.message for error in self.errors))


def check_fields(errors: Sequence[FieldError]) -> None:
    """InvalidFieldsError if there are any."""
    if errors:
        raise InvalidFieldsError(errors)


class PlanLimitError(HooklineError):
    """The account's plan does not allow this."""


class NotFoundError(HooklineError):
    """The endpoint or request does not exist (any more)."""


class EndpointChangedError(HooklineError):
    """Somebody has changed the endpoint, on another node, since it was read here."""


class DamagedBodyError(HooklineError):
    """The stored body is not what was received."""

    def __init__(self) -> None:
        super().__init__(
            "The stored body is damaged: it does not match the SHA-256 of what was received."
            " An older backup may have it intact."
        )


class StorageUnavailableError(HooklineError):
    """The store cannot write now: disk full, database locked or deleted. Retrying later can work."""

    may_be_stored = False
    """Whether nobody knows: the connection to a server was lost while that was committed."""


class NoRoomError(StorageUnavailableError):
    """The disk has no room for it, though maybe for less."""


class NotAllowedError(StorageUnavailableError):
    """The role in a team's store may not do that."""


class StorageLimitError(HooklineError):
    """A storage limit prevents storing the request. `limit`: set if it is larger than the limit itself."""

    def __init__(self, message: str, retry_after_s: int, limit: int | None = None) -> None:
        self.retry_after_s, self.limit = retry_after_s, limit
        super().__init__(message)


class DataFolderError(HooklineError):
    """The data folder or its database cannot be opened; nothing in it was changed."""

    def __init__(self, message: str, folder: Path) -> None:
        self.folder = folder
        super().__init__(message)


class StoreAddressError(HooklineError):
    """A team's store cannot be used; nothing in it was changed."""


class StoreDriverError(StoreAddressError):
    """What a team's store needs is not installed."""

    PROBLEM, ADVICE = "A team's store needs psycopg.", "Install it: pip install 'hookline[team]'"

    def __init__(self) -> None:
        super().__init__(f"{self.PROBLEM} {self.ADVICE}")


class FolderInUseError(DataFolderError):
    """Another Hookline has this data folder open. `pid` is None if it is not known."""

    def __init__(self, message: str, folder: Path, pid: int | None) -> None:
        self.pid = pid
        super().__init__(message, folder)


class NewerDatabaseError(DataFolderError):
    """The database was written by a newer Hookline."""


class DamagedDatabaseError(DataFolderError):
    """The database file cannot be read; it can be moved aside. `REPAIR` says how, where nothing asks."""

    REPAIR = (
        "Restore a backup (hookline restore FILE), choose another folder with --data-dir, or move the file aside and"
        " start fresh: hookline serve --set-aside-damaged, or the window, which asks."
    )


class MissingDatabaseError(DataFolderError):
    """The database is missing, but other files show that there was one; a new one is created only on request."""


class PortInUseError(HooklineError):
    """The port set by `option` is in use. `holder` names the program, if the system does."""

    def __init__(self, host: str, port: int, holder: str | None = None, option: str = "--port") -> None:
        self.host, self.port, self.holder = host, port, holder
        by = f" by {holder}" if holder else ""
        super().__init__(
            f"Port {port} on {host} is already in use{by}. Stop that program, or choose another port with {option}."
        )


class StoreCopyError(HooklineError):
    """The store cannot be copied, or is a copy that is not finished."""


class BackupError(HooklineError):
    """The database cannot be backed up, or a backup not restored; nothing was changed unless it says what."""
