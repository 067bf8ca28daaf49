"""Writes `SHA256SUMS` over the files of `dist/`, in the form that `sha256sum -c SHA256SUMS` reads."""

from __future__ import annotations

import hashlib
from pathlib import Path

from project import DIST
from whole import made_whole

NAME = "SHA256SUMS"


def sha256(path: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_checksums(folder: Path) -> Path:
    """Write `folder/SHA256SUMS` over all files directly in it, sorted by name, without folders and hidden files."""
    out = folder / NAME
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    lines = [f"{sha256(path)}  {path.name}\n" for path in files if path != out]
    with made_whole(out) as part:
        part.write_text("".join(lines), "utf-8", newline="\n")
    return out


if __name__ == "__main__":
    print(make_checksums(DIST))
