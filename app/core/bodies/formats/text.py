r"""Plain text, and raw bytes with `\xe9` for anything that is not printable UTF-8, as lines folded if too long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO

from app.core.bodies.formatter import Content, Formatted, Kind, Write
from app.core.bodies.media_types import FORM

PIECE = 64 * 1024
"""Characters of a line written in one step."""


def write(content: Content, out: Formatted) -> Iterator[None]:
    """Lines end at LF or CR LF; a lone CR is shown as `\\r`."""
    yield from add_text(content.text, out)


def add_text(text: str, out: Formatted, at: int = 0) -> Iterator[None]:
    """Write the text from the character `at` on unchanged, and finish its last line."""
    while at < len(text):
        stop = text.find("\n", at, at + PIECE)
        if stop >= 0:
            out.add_line("text", text[at:stop].removesuffix("\r"))
            at = stop + 1
        else:
            piece = text[at : at + PIECE]
            cut = piece.endswith("\r") and len(piece) == PIECE
            out.add("text", piece[:-1] if cut else piece)
            at += len(piece) - cut
        yield
    if not out.empty:
        out.end_line()
    yield


def fit(media_type: str, head: bytes) -> float:
    """Good if the first bytes are text, poor if many of them are control bytes."""
    if has_controls(head):
        return 0.1
    textual = media_type.startswith("text/") or media_type == FORM
    return 0.6 if textual else 0.5


def has_controls(head: bytes) -> bool:
    """Whether many of the first bytes are control bytes, as no text has."""
    return sum(head.count(byte) for byte in _BINARY) * 20 > len(head)


def is_binary(text: str) -> bool:
    """Whether decoded text is more likely binary: it has zeros, or many control characters."""
    return "\0" in text or sum(map(text.count, _CONTROLS)) * 20 > len(text)


_BINARY = tuple(bytes([code]) for code in range(32) if code not in b"\t\n\r\f\x1b")
_CONTROLS = tuple(byte.decode("ascii") for byte in _BINARY)


_NO_TEXT = re.compile("[\udc80-\udcff]+")
"""The result of `surrogateescape` for bytes that are not UTF-8."""


def raw_writer(head: bytes) -> Write:
    """Shows a whole request that begins with `head`, whose header names are coloured."""

    def write_raw(content: Content, out: Formatted) -> Iterator[None]:
        begins = content.data.startswith(head)
        fields = head.count(b"\r\n") - 1 if begins else 0
        for number, sent in enumerate(BytesIO(content.data)):
            without_end = sent[:-1].removesuffix(b"\r") if sent.endswith(b"\n") else sent
            line = without_end.decode("utf-8", "surrogateescape")
            name, colon, value = line.partition(":") if 0 < number < fields else ("", "", line)
            _add(out, "key", name)
            _add(out, "text", colon + value)
            out.end_line()
            yield

    return write_raw


def _add(out: Formatted, kind: Kind, text: str) -> None:
    at = 0
    for match in _NO_TEXT.finditer(text):
        out.add(kind, text[at : match.start()])
        out.add("control", "".join(f"\\x{ord(char) - 0xDC00:02x}" for char in match.group()))
        at = match.end()
    out.add(kind, text[at:])
