"""Show every file of a folder as a body would be shown: which view is chosen, how long it takes, and what it notes.

    python -m benchmarks.views FOLDER

Milliseconds are given to the first lines, to the last, and to look for a word that is not there and give the text's
lines at nine tenths of the body, as a search does whose only place is there.
The type is guessed as a sender would name it, from the file's ending, or for a multipart body from its first line.
Ends with 1 if any file made a view raise.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple

from app.core.bodies.body_reader import CHUNK, BodyReader
from app.core.bodies.formats.multipart import first_boundary
from app.core.bodies.media_types import type_of
from app.core.search.body_search import BodySearch

LINES = 3_000
"""Lines asked for at a time, as the window does."""


class Row(NamedTuple):
    """One file: the view chosen, milliseconds to the first lines, to the end and to those far on, lines, what was noted
    or raised."""

    file: str
    view: str
    first: float
    whole: float
    far: float
    lines: int
    told: str
    raised: bool


def content_type(name: str, body: bytes) -> str:
    """What a sender would have declared for a file of this name."""
    boundary = first_boundary(body[:300].decode("latin-1"))
    if boundary and Path(name).suffix in (".http", ".txt", ""):
        return f'multipart/form-data; boundary="{boundary}"'
    return type_of("", name)


def show(body: bytes, name: str) -> Row:
    """Read the body of a file of this name as the window does, to its end."""
    kind = content_type(name, body)
    # Cards read each part by itself.
    reader = BodyReader((), kind, "pretty" if kind.startswith("multipart/") else None)
    began = time.perf_counter()
    first, whole, lines, at = 0.0, 0.0, 0, 0
    told, raised, far_on = "", False, 0.0
    try:
        while not reader.done:
            if reader.needs_input:
                reader.feed(body[at : at + CHUNK], at + CHUNK >= len(body))
                at += CHUNK
            lines += len(reader.lines(LINES))
            first = first or (time.perf_counter() - began) * 1_000
        told = " ".join(reader.notes)
        whole = (time.perf_counter() - began) * 1_000
        far_on = far(body, name)
    except Exception as error:
        told, raised = repr(error), True
    view = reader.view.title if reader.view else "none"
    return Row(name, view, first, whole, far_on, lines, told, raised)


def far(body: bytes, name: str) -> float:
    """Milliseconds to search a body that is sent as it is, and to give the lines of its text at nine tenths of it."""
    reader = BodyReader((), content_type(name, body))
    reader.feed(body[:CHUNK], True)
    reader.lines(1)
    began = time.perf_counter()
    search = BodySearch(reader.charset, "\x7fnowhere", encodings=("json",))
    for at in range(0, len(body), CHUNK):
        search.search(body[at : at + CHUNK])
    place = body.rfind(b"\n", 0, len(body) * 9 // 10) + 1
    reader.go_to(place, body.count(b"\n", 0, place) + 1, False)
    reader.feed(body[place:], True)
    reader.lines(LINES)
    return (time.perf_counter() - began) * 1_000


def table(folder: Path) -> list[Row]:
    """A row for each file below the folder, by name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [show(path.read_bytes(), path.relative_to(folder).as_posix()) for path in files]


def main(arguments: list[str]) -> int:
    """Print the table."""
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m benchmarks.views FOLDER", file=sys.stderr)
        return 2
    rows = table(Path(arguments[0]))
    width = max((len(row.file) for row in rows), default=4)
    print(f"{'file':{width}}  {'view':11}  {'first ms':>8}  {'all ms':>8}  {'far ms':>8}  {'lines':>7}  note or error")
    for row in rows:
        times = f"{row.first:8.1f}  {row.whole:8.1f}  {row.far:8.1f}"
        print(f"{row.file:{width}}  {row.view:11}  {times}  {row.lines:7,}  {row.told}")
    raised, slowest = sum(row.raised for row in rows), max((row.first for row in rows), default=0.0)
    print(f"\n{len(rows):,} files, {raised} raised, slowest first lines {slowest:.1f} ms")
    return 1 if raised else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
