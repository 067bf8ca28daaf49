"""Leaves out of ICU's data what Qt never reads, which is half of the largest file in the bundle."""

from __future__ import annotations

import struct
from pathlib import Path

from project import PackagingError, run

# With ICU Qt compares texts, converts between encodings, changes case and names time zones. These folders are for what
# it does not ask for: where words and lines end, currencies, names of languages and regions, numbers in words,
# transliteration, units.
UNUSED = {"brkitr", "curr", "lang", "rbnf", "region", "translit", "unit"}
MAGIC = b"\xda\x27"
COUNT = struct.Struct("<I")
ENTRY = struct.Struct("<II")
ALIGNMENT = 16
SOURCE = f"""\
.section .rodata
.balign {ALIGNMENT}
.globl SYMBOL
.type SYMBOL, %object
SYMBOL: .incbin "icu.dat"
.size SYMBOL, . - SYMBOL
.section .note.GNU-stack, "", %progbits
"""


def without_unused_data(entries: list[tuple[str, str, str]], folder: Path) -> list[tuple[str, str, str]]:
    """PyInstaller's entries (name, file, kind); that of ICU's data names a smaller library, made in `folder`."""

    def is_data(name: str, kind: str) -> bool:
        return Path(name).name.startswith("libicudata.so.") and kind != "SYMLINK"

    return [
        (name, str(smaller_library(Path(file), folder)) if is_data(name, kind) else file, kind)
        for name, file, kind in entries
    ]


def smaller_library(library: Path, folder: Path) -> Path:
    """Make `library`, `libicudata.so.VERSION`, anew in `folder`; PackagingError when it holds something else."""
    folder.mkdir(parents=True, exist_ok=True)
    data, made = folder / "icu.dat", folder / library.name
    run("objcopy", "-O", "binary", "--only-section=.rodata", library, data)
    data.write_bytes(smaller_data(data.read_bytes()))
    symbol = f"icudt{library.suffix[1:]}_dat"
    (folder / "icu.s").write_text(SOURCE.replace("SYMBOL", symbol), "utf-8")
    run("as", "-o", "icu.o", "icu.s", folder=folder)
    run("ld", "-shared", "-soname", made.name, "-o", made.name, "icu.o", folder=folder)
    return made


def smaller_data(content: bytes) -> bytes:
    """ICU's data without the folders `UNUSED`.

    They are a header, then a table, sorted names and their items. The table has two places for each item, which count
    from its own beginning: the name's and the item's.
    """
    if content[2:4] != MAGIC:
        raise PackagingError("ICU's data do not begin as expected; smaller_data in packaging/linux/icu.py reads them.")
    start = int.from_bytes(content[:2], "little")
    header, body = content[:start], content[start:]
    (count,) = COUNT.unpack_from(body)
    places = list(ENTRY.iter_unpack(body[COUNT.size : COUNT.size + ENTRY.size * count]))
    ends = [*(item_at for _, item_at in places[1:]), len(body)]
    kept = []
    for (name_at, item_at), end in zip(places, ends, strict=True):
        name = body[name_at : body.index(b"\0", name_at) + 1]
        if UNUSED.isdisjoint(name.decode().split("/")):
            kept.append((name, body[item_at:end]))
    return header + _packed(kept)


def _packed(items: list[tuple[bytes, bytes]]) -> bytes:
    """The table for these names and items, and then themselves."""
    name_at = COUNT.size + ENTRY.size * len(items)
    names = b"".join(name for name, _ in items)
    names += bytes(-(name_at + len(names)) % ALIGNMENT)
    item_at = name_at + len(names)
    table = COUNT.pack(len(items))
    for name, item in items:
        table += ENTRY.pack(name_at, item_at)
        name_at += len(name)
        item_at += len(item)
    return table + names + b"".join(item for _, item in items)
