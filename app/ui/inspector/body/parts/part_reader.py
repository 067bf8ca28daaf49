"""Reads one part of a body: its headers, the first lines of its content, and a thumbnail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage

from app.core.bodies.escape import escape
from app.core.bodies.format_registry import part_lines
from app.core.bodies.formats.image import image_kind
from app.core.bodies.formats.languages import type_of
from app.core.bodies.formats.multipart import HEAD_MAX, SHOWN_MAX, Part, Span, as_text, decode, section_of
from app.core.bodies.formatter import Line
from app.core.bodies.media_types import media_type
from app.core.file_names import safe_name
from app.core.text import size_text
from app.ui.inspector.body.body_source import BodySource
from app.ui.inspector.body.image_decoder import DecodedImage
from app.ui.inspector.body.image_view import read_picture
from app.ui.tasks import in_thread

ENCODED_MAX = 64 * 1024 * 1024
"""Bytes of a part with a transfer encoding that are decoded."""
THUMBNAIL_OF_MAX = 16 * 1024 * 1024
"""Bytes of a picture that is decoded without being asked for."""
THUMBNAIL = QSize(240, 120)
"""The largest, in pixels."""
TEXT_MAX = 200
"""Characters shown of a name or a type."""


@dataclass(frozen=True)
class LoadedPart:
    """`title` is empty for a part without a name; `facts` are its type, its size as sent, and its file's name. `lines`
    are the first of its content, all of it if they are `whole`. `source` is that content, without its transfer
    encoding.
    """

    title: str
    facts: str
    remarks: str
    source: BodySource
    lines: list[Line]
    whole: bool
    is_picture: bool


async def read_part(body: BodySource, span: Span, name: str) -> LoadedPart:
    """A part of a body that has no content coding; `name` is for a saved file."""
    # The line end before a boundary can also be that of the headers.
    data = await body.read(span.begin, min(span.end + 2 - span.begin, HEAD_MAX + SHOWN_MAX))
    found = section_of(data, 0, min(span.end - span.begin, len(data)), is_part=True, closed=span.closed)
    assert found.part is not None
    part, size = found.part, span.end - span.begin - found.begin
    source, remarks = await _content(body, span.end - size, size, part, name)
    remarks += ["Some of its header lines are malformed."] if part.odd else []
    remarks += [] if span.closed else ["The body ends before this part does."]
    first, whole = await source.read(0, SHOWN_MAX), source.size <= SHOWN_MAX
    lines = await in_thread(part_lines, part, first, source.size, complete=whole) if first else []
    kind = media_type(source.content_type)
    is_picture = bool(first) and (kind.startswith("image/") or image_kind(first) is not None)
    facts = (_short(as_text(part.content_type)), size_text(size), _short(part.file_name))
    return LoadedPart(
        _title(part), " · ".join(filter(None, facts)), " ".join(remarks), source, lines, whole, is_picture
    )


async def read_thumbnail(source: BodySource, ratio: float) -> DecodedImage:
    """The picture, no larger than a thumbnail on a screen of this scale."""
    if source.size > THUMBNAIL_OF_MAX:
        return DecodedImage(f"Pictures over {size_text(THUMBNAIL_OF_MAX)} get no thumbnail.")
    found = await read_picture(source, ratio)
    return replace(found, image=None if found.image is None else await in_thread(_shrunk, found.image, ratio))


def _shrunk(image: QImage, ratio: float) -> QImage:
    room = THUMBNAIL * ratio
    if image.width() <= room.width() and image.height() <= room.height():
        return image
    size = image.size().scaled(room, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))
    return image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)


async def _content(body: BodySource, begin: int, size: int, part: Part, name: str) -> tuple[BodySource, list[str]]:
    """The content between these bytes, and a remark if it has a transfer encoding."""

    async def read(offset: int, length: int) -> bytes:
        return await body.read(begin + offset, max(0, min(length, size - offset)))

    async def read_plain(offset: int, length: int) -> bytes:
        return plain[offset : offset + length]

    content_type = _content_type(part)
    source = partial(BodySource, headers=(), content_type=content_type, name=name, check=body.check)
    file_name = safe_name(part.file_name)
    sent = source(size, read=read, file_name=file_name)
    if part.encoding not in ("base64", "quoted-printable"):
        return sent, []
    if size > ENCODED_MAX:
        return sent, [f"Sent as {part.encoding}, and not decoded: it is larger than {size_text(ENCODED_MAX)}."]
    plain, done = await in_thread(decode, part.encoding, await read(0, size))
    if not done:
        return sent, [f"Its headers say {part.encoding}, but it is not; shown as sent."]
    remark = f"Sent as {part.encoding}, decoded here and when it is saved."
    return source(len(plain), read=read_plain, file_name=file_name), [remark]


def _content_type(part: Part) -> str:
    """The declared type, or if that is generic, the type for its file name."""
    declared_type = media_type(part.content_type)
    found = type_of(declared_type, part.file_name)
    return part.content_type if found == declared_type else found


def _title(part: Part) -> str:
    """Its name, or else its content ID."""
    if part.name is not None:
        return _short(part.name) or '""'
    return _short(next((as_text(value) for name, value in part.headers if name.lower() == "content-id"), ""))


def _short(text: str | None) -> str:
    return escape(text[:TEXT_MAX]) + ("…" if len(text) > TEXT_MAX else "") if text else ""
