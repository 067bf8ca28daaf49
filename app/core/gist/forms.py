"""Forms by the names of their fields, multipart bodies by their parts, files first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from urllib.parse import unquote, unquote_plus

from app.core.bodies.formats.multipart import as_text
from app.core.gist.words import NAMES_MAX, names, with_detail
from app.core.text import count_of

SCAN = 64 * 1024
PARTS_READ = 8
"""Parts whose headers are read; the others are only counted."""
HEAD_MAX = 2_048
"""Bytes of a part's headers that are read."""
FIELD_MAX = 400
"""Characters of a field's name, as sent, that are decoded."""

_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,200})"|([^\s;"]{1,200}))', re.IGNORECASE)
_FIRST_LINE = re.compile(rb"\s{0,40}(--[^\r\n]{1,200}?)[ \t]{0,20}\r?\n")
_NAME = re.compile(r'[;\s]name=(?:"([^"\r\n]{0,400})"|([^\s;"]{1,400}))', re.IGNORECASE)
_FILE_NAME = re.compile(r'[;\s]filename=(?:"([^"\r\n]{0,400})"|([^\s;"]{1,400}))', re.IGNORECASE)
_EXTENDED_NAME = re.compile(r"[;\s]filename\*=[\w-]{0,20}'[\w-]{0,20}'([^\s;]{1,400})", re.IGNORECASE)
_PART_TYPE = re.compile(r"^content-type:[ \t]{0,20}([^\s;]{1,100})", re.IGNORECASE | re.MULTILINE)


def form_gist(text: str, *, complete: bool) -> str | None:
    """`data` like `a=1&b=2`; None if it has no fields."""
    if "=" not in text[:SCAN]:
        return None
    return with_detail("form", names(field_names(text[:SCAN]), more=not complete))


def field_names(text: str) -> Iterable[str]:
    """The names of a form's or query's fields in the order sent, each once; at most one more than are shown."""
    fields = islice(text.split("&", 4 * NAMES_MAX), 4 * NAMES_MAX)
    found = (unquote_plus(field.partition("=")[0][:FIELD_MAX]) for field in fields)
    return list(islice(dict.fromkeys(name for name in found if name), NAMES_MAX + 1))


def multipart_gist(content_type: str, data: bytes, *, complete: bool) -> str:
    """Splits a multipart body at the boundary from its type, or else from its first line."""
    line = _boundary_line(content_type, data)
    if not line:
        return "multipart"
    heads = list(islice(_heads(line, data[:SCAN]), PARTS_READ))
    files = [name for head in heads if (name := _file_name(head))]
    found = files or [_name(head) for head in heads]
    count = _count(line, data) if complete else 0
    label = f"multipart · {count_of(count, 'part')}" if count else "multipart"
    return with_detail(label, names(found, more=not complete or count > len(heads)))


def _boundary_line(content_type: str, data: bytes) -> bytes:
    declared = _BOUNDARY.search(content_type[:1_000])
    line = b"--" + (declared[1] or declared[2]).encode("latin-1", "replace") if declared else b""
    if line and line in data[:SCAN]:
        return line
    first = _FIRST_LINE.match(data[:1_000])
    return first[1] if first else line


def _heads(line: bytes, data: bytes) -> Iterator[str]:
    """The headers of each part."""
    at = 0 if data.startswith(line) else data.find(b"\n" + line) + 1
    while at or data.startswith(line):
        begin = at + len(line)
        if data.startswith(b"--", begin):
            return
        end = data.find(b"\n\r\n", begin, begin + HEAD_MAX)
        if end < 0:
            end = data.find(b"\n\n", begin, begin + HEAD_MAX)
        if end < 0 and begin + HEAD_MAX > len(data):
            return  # cut off within these headers
        yield as_text(data[begin : end if end >= 0 else begin + HEAD_MAX].decode("latin-1"))
        at = data.find(b"\n" + line, begin) + 1
        if not at:
            return


def _file_name(head: str) -> str:
    """The file name sent; `filename*` (RFC 5987) is used only without a plain `filename`."""
    if found := _FILE_NAME.search(head):
        return found[1] or found[2] or ""
    extended = _EXTENDED_NAME.search(head)
    return unquote(extended[1], errors="replace") if extended else ""


def _name(head: str) -> str:
    """The name of the part, or else its type."""
    if found := _NAME.search(head):
        return found[1] or found[2] or ""
    kind = _PART_TYPE.search(head)
    return kind[1] if kind else "text/plain"


def _count(line: bytes, data: bytes) -> int:
    """The boundaries at the beginning of a line, except the one that ends the body."""
    ends = data.count(b"\n" + line + b"--")
    return data.count(b"\n" + line) + data.startswith(line) - ends - data.startswith(line + b"--")
