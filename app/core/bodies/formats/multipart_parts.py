"""The parts of a whole multipart body with their bytes, for looking at, copying and saving each on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.core.bodies.decoding.charset import media_type
from app.core.bodies.formats.languages import type_of
from app.core.bodies.formats.multipart import decode
from app.core.bodies.formats.multipart_reader import Part, Splitter, boundary_of

PARTS_MAX = 1_000
STEP = 256 * 1024
"""Bytes cut at once: a search through all of a long body would let no other thread run meanwhile."""
_SPACE = b" \t\n\r\x0b\f"


@dataclass(frozen=True)
class WholePart:
    """`data` is what stood between the boundaries; with `decoded`, without its transfer encoding."""

    number: int
    part: Part
    data: bytes
    decoded: bool

    @property
    def content_type(self) -> str:
        """What it says it is, or what its file's name says where that says nothing."""
        said = media_type(self.part.content_type)
        found = type_of(said, self.part.file_name)
        return self.part.content_type if found == said else found


def whole_parts(content_type: str, data: bytes, *, cut: bool = False) -> list[WholePart]:
    """At most `PARTS_MAX` parts in order; of a body that is `cut`, the last one is left out."""
    boundary, _ = boundary_of(content_type, data[:STEP].decode("latin-1"))
    splitter = Splitter(boundary)
    found: list[WholePart] = []
    part: Part | None = None
    pieces: list[bytes] = []
    for at in range(0, len(data), STEP):
        for kind, what in splitter.feed(data[at : at + STEP].decode("latin-1"), at + STEP >= len(data)):
            if isinstance(what, Part):
                part, pieces = what, []
            elif kind == "data":
                pieces.append(what.encode("latin-1"))
            elif kind == "end" and part is not None and not (cut and not what):
                plain, was = undone(part.encoding, b"".join(pieces))
                found.append(WholePart(len(found) + 1, part, plain, bool(was)))
                if len(found) == PARTS_MAX:
                    return found
    return found


def undone(encoding: str, data: bytes) -> tuple[bytes, bool | None]:
    """What `decode` gives of the whole part, a step at a time."""
    if encoding == "base64":
        pieces = list(_steps(b"".join(piece.translate(None, _SPACE) for piece in _steps(data))))
        pieces[-2:] = [b"".join(pieces[-2:])]  # the end may be padding alone
        if any(b"=" in piece for piece in pieces[:-1]):
            return data, False
    elif encoding == "quoted-printable":
        pieces = list(_lines(data))
    else:
        return data, None
    plain = [decode(encoding, piece, True) for piece in pieces]
    if not all(was for _, was in plain):
        return data, False
    return b"".join(piece for piece, _ in plain), True


def _steps(data: bytes) -> Iterator[bytes]:
    return (data[at : at + STEP] for at in range(0, len(data), STEP))


def _lines(data: bytes) -> Iterator[bytes]:
    """Steps that end where a line does."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + STEP) + 1 or len(data)
        yield data[at:end]
        at = end
