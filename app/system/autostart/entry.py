"""Shared by the entries of all systems: the command to start, atomic writing, and errors in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.core.errors import HooklineError

MINIMIZED = "--minimized"
DATA_DIR = "--data-dir"


class StartCommand:
    """The command that signing in starts: `program` (the words that start Hookline) with its data folder, None for the
    usual one."""

    def __init__(self, words: Sequence[str], folder: Path | None = None) -> None:
        self.program = tuple(words)
        self.folder = folder

    @property
    def words(self) -> list[str]:
        """The complete command."""
        folder_options = [DATA_DIR, str(self.folder)] if self.folder else []
        return [*self.program, *folder_options, MINIMIZED]

    def is_started_by(self, words: Sequence[str], same: Callable[[str], str] = str) -> bool:
        """Whether `words` start this program on this folder, with any prefix and any further options."""
        ours, theirs = [same(word) for word in self.program], [same(word) for word in words]
        for place in range(len(theirs) - len(ours) + 1):
            if theirs[place : place + len(ours)] == ours:
                given = _folder_in(words[place + len(ours) :])
                return (given and same(str(given))) == (self.folder and same(str(self.folder)))
        return False


def write_atomically(path: Path, content: bytes) -> None:
    """Write atomically, so that a full disk cannot leave half an entry."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # If the entry is a link into a folder of the user's own settings, the link stays.
    target = path.resolve()
    beside = target.with_name(f".{target.name}.new")
    try:
        beside.write_bytes(content)
        beside.replace(target)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def explain_errors(place: Path, verb: str) -> Iterator[None]:
    """Turn the system's errors into a HooklineError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise HooklineError(f"{place} cannot be {verb}: {reason}. Check its permissions and the disk.") from error
    except ValueError as error:
        raise HooklineError(f"{place} is not a readable property list. Delete it and try again.") from error


def _folder_in(options: Sequence[str]) -> Path | None:
    for place, word in enumerate(options):
        if word.startswith(f"{DATA_DIR}="):
            return Path(word.partition("=")[2])
        if word == DATA_DIR and place + 1 < len(options):
            return Path(options[place + 1])
    return None
