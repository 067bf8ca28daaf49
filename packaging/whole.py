"""Files and folders that appear under their name only when they are whole, whatever breaks off the work before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def remove(path: Path) -> None:
    """Take the file or folder away; nothing there is fine."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def made_whole(path: Path) -> Iterator[Path]:
    """Yield a hidden path beside `path` to write a file or folder at; it takes `path`'s place when the block ends well.

    What an earlier, killed attempt left under the hidden name goes first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    remove(part)
    try:
        yield part
        # A folder cannot be renamed over one that holds files.
        if path.is_dir():
            remove(path)
        part.replace(path)
    finally:
        remove(part)
