"""Binary bodies: archives, documents and wire formats, described by their first bytes."""

from __future__ import annotations

import re

import msgspec

from app.core.bodies.formats.binary import InvalidError, TruncatedError
from app.core.bodies.formats.image import image_kind, image_name, image_size
from app.core.bodies.formats.protobuf import END, START, VARINT, head, varint
from app.core.bodies.media_types import type_hint
from app.core.gist.words import names, with_detail
from app.core.text import count_of, dimensions_text, size_text

ENTRIES_MAX = 4
FIELDS_READ = 64
GRPC_HEAD = 5

_map = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])
_array = msgspec.msgpack.Decoder(list[msgspec.Raw])
_NOT_MSGPACK = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_PDF = re.compile(rb"%PDF-(\d\.\d)")


def known_bytes(data: bytes, size: int) -> str | None:
    """Formats that the first bytes identify, regardless of the type; `size` is of the whole body as sent."""
    picture = picture_gist(data)
    if picture is not None:
        return picture
    if pdf := _PDF.match(data):
        return f"PDF {pdf[1].decode()} · {size_text(size)}"
    if data.startswith(b"PK\x03\x04"):
        return with_detail("ZIP", names(zip_entries(data), more=True))
    return None


def picture_gist(data: bytes) -> str | None:
    """`PNG 640×400`, `JPEG` if `data` does not include the size; None if it is not a picture."""
    kind = image_kind(data)
    if kind is None:
        return None
    size = image_size(kind, data)
    name = image_name(kind)
    return f"{name} {dimensions_text(*size)}" if size else name


def zip_entries(data: bytes) -> list[str]:
    """The first names in an archive, as far as its local headers have their sizes."""
    found: list[str] = []
    at = 0
    while len(found) < ENTRIES_MAX and data.startswith(b"PK\x03\x04", at) and at + 30 <= len(data):
        length, extra = (int.from_bytes(data[at + place : at + place + 2], "little") for place in (26, 28))
        name = data[at + 30 : at + 30 + length]
        found.append(name.decode("utf-8", "replace"))
        packed = int.from_bytes(data[at + 18 : at + 22], "little")
        if data[at + 6] & 8 or packed == 0xFFFFFFFF:
            break  # the length follows the data
        at += 30 + length + extra + packed
    return found


def msgpack_gist(data: bytes, size: int, *, declared: bool) -> str | None:
    """`data` is a whole body. Unless it was `declared` to be MessagePack, None for all but a map with keys."""
    try:
        keys = list(_map.decode(data))
    except _NOT_MSGPACK:
        return _msgpack_array(data, size) if declared else None
    return with_detail("MessagePack", names(keys)) if keys or declared else None


def _msgpack_array(data: bytes, size: int) -> str:
    try:
        items = _array.decode(data)
    except _NOT_MSGPACK:
        return f"MessagePack · {size_text(size)}"
    return f"MessagePack · {count_of(len(items), 'item')}"


def protobuf_gist(data: bytes, size: int) -> str:
    """Without a schema, a message is described by the numbers of its first fields."""
    numbers = ", ".join(map(str, _numbers(data)))
    return f"Protobuf · fields {numbers}" if numbers else f"Protobuf · {size_text(size)}"


def grpc_gist(data: bytes, size: int) -> str:
    """gRPC messages follow their length; the fields of the first are listed unless it is compressed."""
    numbers = ""
    if len(data) > GRPC_HEAD and data[0] == 0:
        numbers = ", ".join(map(str, _numbers(data[GRPC_HEAD : GRPC_HEAD + int.from_bytes(data[1:5])])))
    return f"gRPC · fields {numbers}" if numbers else f"gRPC · {size_text(size)}"


def unknown_bytes(media_type: str, size: int) -> str:
    """The declared type and the size."""
    family, _, subtype = media_type.partition("/")
    if family in ("image", "audio", "video", "font") and subtype:
        label = f"{subtype.rpartition('.')[2].removeprefix('x-')[:12].upper()} {family}"
    else:
        hint = type_hint(media_type)
        label = "binary" if hint in ("", "Binary", "Form", "Text", "octet-stre") else hint
    return f"{label} · {size_text(size)}"


def _numbers(data: bytes) -> list[int]:
    """Field numbers in order, each once; none if the bytes are not a message."""
    found: dict[int, None] = {}
    at = 0
    for _ in range(FIELDS_READ):
        if at >= len(data):
            break
        try:
            number, wire, at, size = head(data, at)
            if wire == VARINT:
                at = varint(data, at)[1]
        except TruncatedError:
            break
        except InvalidError:
            return []
        if wire not in (START, END):
            at += size
        found[number] = None
    return list(found)[:12]
