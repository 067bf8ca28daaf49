"""The parts of a whole multipart body with their bytes, for looking at, copying and saving each on its own."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.bodies.charset import media_type
from app.core.bodies.languages import type_of
from app.core.bodies.multipart import Part, Splitter, boundary_of
from app.core.bodies.multipart_view import decode

PARTS_MAX = 1_000


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
    text = data.decode("latin-1")
    boundary, _ = boundary_of(content_type, text)
    splitter = Splitter(boundary)
    found: list[WholePart] = []
    part: Part | None = None
    pieces: list[str] = []
    for kind, what in splitter.feed(text, True):
        if isinstance(what, Part):
            part, pieces = what, []
        elif kind == "data":
            pieces.append(what)
        elif kind == "end" and part is not None and not (cut and not what) and len(found) < PARTS_MAX:
            plain, undone = decode(part.encoding, "".join(pieces).encode("latin-1"), True)
            found.append(WholePart(len(found) + 1, part, plain, bool(undone)))
    return found
