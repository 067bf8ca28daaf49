"""Secrets in multipart bodies: fields and files with secret names, and what the other parts hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from app.core.bodies.formats.multipart_parts import HEAD_MAX, Part, boundary_of, decode, part_of
from app.core.redaction.in_text import text_secrets
from app.core.redaction.names import is_secret, is_secret_file
from app.core.redaction.secret import Secret

FindTyped = Callable[[str, str], Iterable[Secret]]
"""Finds the secrets in a content of a type."""
_HEAD_END = re.compile(r"\r?\n\r?\n")


def multipart_secrets(text: str, content_type: str, find: FindTyped) -> Iterator[Secret]:
    """The contents of secret parts, and what `find` finds in others. Bytes are Latin-1 characters."""
    boundary, _ = boundary_of(content_type, text)
    delimiter = re.compile(rf"(?:\A|\r?\n)--{re.escape(boundary)}(?:--)?[ \t]*(?=\r?\n|\Z)")
    begin = 0
    for found in delimiter.finditer(text):
        yield from part_secrets(text, begin, found.start(), find)
        begin = found.end()
    yield from part_secrets(text, begin, len(text), find)


def part_secrets(text: str, begin: int, end: int, find: FindTyped) -> Iterator[Secret]:
    """From the end of one boundary to the next one; also what is before the first and after the last, or a mail."""
    head = _HEAD_END.search(text, begin, min(end, begin + HEAD_MAX))
    if head is None:
        yield from _moved(text_secrets(text[begin:end]), begin)
        return
    yield from _moved(text_secrets(text[begin : head.start()]), begin)
    at = head.end()
    part = part_of(text[begin : head.start()].lstrip("\r\n"))
    if at < end and (is_secret(part.name or "") or is_secret_file(part.file_name or "")):
        yield Secret(at, end)
    elif _is_encoded(part):
        plain, _ = decode(part.encoding, text[at:end].encode("latin-1"), complete=False)
        if next(iter(find(plain.decode("latin-1"), part.content_type)), None):
            yield Secret(at, end)
    else:
        yield from _moved(find(text[at:end], part.content_type), at)


def _is_encoded(part: Part) -> bool:
    return part.encoding in ("base64", "quoted-printable")


def _moved(found: Iterable[Secret], by: int) -> Iterator[Secret]:
    for secret in found:
        yield Secret(secret.begin + by, secret.end + by, secret.text)
