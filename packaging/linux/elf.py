"""Programs and libraries of Linux: which files are any, and the search paths that a build machine left in them."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterable
from pathlib import Path

ELF64 = b"\x7fELF\x02\x01"
"""How a file of 64 bits begins whose numbers have their low byte first."""
LOAD, DYNAMIC = 1, 2
STRINGS, PATHS = 5, (15, 29)
ENTRY = struct.Struct("<qQ")
SEGMENT = struct.Struct("<IIQQQQQQ")


def programs(tree: Path) -> list[Path]:
    """The programs and libraries in `tree`, each once."""
    return sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink() and is_elf(path))


def is_elf(path: Path) -> bool:
    """Whether the file is a program or a library of Linux."""
    with path.open("rb") as file:
        return file.read(4) == ELF64[:4]


def without_foreign_paths(entries: Iterable[tuple[str, str, str]], folder: Path) -> list[tuple[str, str, str]]:
    """PyInstaller's entries (name, file, kind); one with foreign search paths names a copy without them in `folder`.

    In the bundle's recipe, so that every package, and the one file too, is made of the clean ones.
    """
    clean = []
    for name, file, kind in entries:
        copy = folder / name
        source = Path(file)
        if kind != "SYMLINK" and source.is_file() and is_elf(source):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
            if drop_foreign_paths(copy):
                source = copy
            else:
                copy.unlink()
        clean.append((name, file if kind == "SYMLINK" else str(source), kind))
    return clean


def drop_foreign_paths(file: Path) -> bool:
    """Drop search paths that lead out of the file's own folders; whether there was any.

    A Python built with a prefix of its own names it in each module: who can write there could lend Hookline code.
    """
    content = bytearray(file.read_bytes())
    if not content.startswith(ELF64):
        return False
    segments = _segments(content)
    place, length = next(((offset, size) for kind, offset, _, size in segments if kind == DYNAMIC), (0, 0))
    entries = list(ENTRY.iter_unpack(content[place : place + length]))
    strings = next((_offset(segments, value) for tag, value in entries if tag == STRINGS), 0)

    def foreign(tag: int, value: int) -> bool:
        start = strings + value
        return tag in PATHS and not content.startswith(b"$ORIGIN", start)

    kept = [entry for entry in entries if not foreign(*entry)]
    if len(kept) == len(entries):
        return False
    packed = b"".join(ENTRY.pack(*entry) for entry in kept)
    content[place : place + length] = packed.ljust(length, b"\0")  # entries of zeros end the table
    file.write_bytes(content)
    return True


def _segments(content: bytearray) -> list[tuple[int, int, int, int]]:
    """Kind, place in the file, address and size of each."""
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    heads = (SEGMENT.unpack_from(content, table + number * size) for number in range(count))
    return [(kind, offset, address, length) for kind, _, offset, address, _, length, _, _ in heads]


def _offset(segments: list[tuple[int, int, int, int]], address: int) -> int:
    """Where in the file lies what is loaded to `address`; ValueError when nothing is."""
    for kind, offset, start, size in segments:
        if kind == LOAD and start <= address < start + size:
            return offset + address - start
    raise ValueError(f"nothing is loaded to {address:#x}")
