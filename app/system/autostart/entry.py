"""What all entries for the start at sign-in share: the command, and reading and writing that fails in words."""

from __future__ import annotations

import plistlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.parsers.expat import ExpatError

from app.core.errors import HooklineError

MINIMIZED = "--minimized"
DATA_DIR = "--data-dir"


class Start:
    """What signing in is to start: `program` (the words that start Hookline) with its data folder, None for the usual
    one."""

    def __init__(self, words: Sequence[str], folder: Path | None = None) -> None:
        self.program = tuple(words)
        self.folder = folder

    @property
    def words(self) -> list[str]:
        """The whole command."""
        chosen = [DATA_DIR, str(self.folder)] if self.folder else []
        return [*self.program, *chosen, MINIMIZED]

    def is_started_by(self, words: Sequence[str], same: Callable[[str], str] = str) -> bool:
        """Whether `words` start this program on this folder, whatever stands before them and what options follow."""
        ours, theirs = [same(word) for word in self.program], [same(word) for word in words]
        for place in range(len(theirs) - len(ours) + 1):
            if theirs[place : place + len(ours)] == ours:
                given = _folder_in(words[place + len(ours) :])
                return (given and same(str(given))) == (self.folder and same(str(self.folder)))
        return False


def write_whole(path: Path, content: bytes) -> None:
    """In one step, so that a full disk cannot leave half an entry."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Where an entry is a link into a folder of the user's own settings, the link stays.
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
    """What the system refuses, in words."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise HooklineError(f"{place} cannot be {verb}: {reason}. Check its permissions and the disk.") from error
    except (ExpatError, plistlib.InvalidFileException, ValueError) as error:
        raise HooklineError(f"{place} is not a readable property list. Delete it and try again.") from error


def _folder_in(options: Sequence[str]) -> Path | None:
    for place, word in enumerate(options):
        if word.startswith(f"{DATA_DIR}="):
            return Path(word.partition("=")[2])
        if word == DATA_DIR and place + 1 < len(options):
            return Path(options[place + 1])
    return None
