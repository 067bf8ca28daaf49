"""Secrets in a body, which its type and its first characters tell how to read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from app.core.bodies.formats.multipart_parts import decode
from app.core.bodies.media_types import CSV, JSON_LINES, TSV, is_json, is_xml, media_type
from app.core.redaction.in_form import form_secrets
from app.core.redaction.in_json import json_secrets
from app.core.redaction.in_multipart import multipart_secrets
from app.core.redaction.in_text import text_secrets
from app.core.redaction.in_xml import xml_secrets
from app.core.redaction.names import WORDS
from app.core.redaction.secret import Find, Secret

DEPTH_MAX = 4
"""JSON in a text of JSON, in a field of a form and so on is read this deep; what is deeper and names a secret is
hidden."""
_JSON = re.compile(r'\s*+(?:\xef\xbb\xbf)?[\[{]\s*+["\'\[{\]}\d\w-]')
_XML = re.compile(r"\s*+(?:\xef\xbb\xbf)?<[a-z_?!]", re.IGNORECASE)
_FORM = re.compile(r"\s*[^\s=]*=")
_NAME = re.compile(WORDS.encode(), re.IGNORECASE)
_BLOCK = re.compile(rf"(?:{WORDS})[^\s:]{{0,100}}+[\"']?\s*+:[ \t]*+[|>]?[-+\d]?[ \t]*+\r?\n", re.IGNORECASE)
_BASE64 = re.compile(r"\s*+(?:e[yw]|W[yw]|W3)[\w+/-]{14,}+={0,2}\s*+\Z", re.ASCII)
"""What begins like an object or a list."""
_URL_SAFE = str.maketrans("-_", "+/")
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf")
_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of text in two or four bytes for each character."""
_MEDIA = ("image/", "audio/", "video/", "font/", "application/pdf")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

UNREADABLE = "The body is not shown: it may hold secrets, in a format that they cannot be redacted in."
UNENDED = "The body is broken or cut off after the name of a secret: all that follows it is redacted."


class Redacted(NamedTuple):
    """What is shown of a body. `note` says what could not be decided."""

    data: bytes
    note: str | None = None


def redacted_body(body: bytes, content_type: str, start: int = 0, end: int | None = None) -> Redacted:
    """The bytes from `start` to before `end` without secrets. `body` is all of a body, or its beginning.

    The rest of a secret that begins before `start` is left out. Nothing is shown of a body that names secrets and
    cannot be read.
    """
    if _is_unreadable(body, content_type):
        return Redacted(b"", UNREADABLE)
    text = body.decode("latin-1")  # a character for each byte
    end = len(body) if end is None else end
    pieces, reached, last = [], start, 0
    for secret in sorted(_secrets(text, content_type)):
        last = secret.end
        if secret.end <= reached or secret.begin >= end:
            continue
        if secret.begin >= start:
            pieces += [body[reached : secret.begin], secret.text.encode("latin-1", "replace")]
        reached = secret.end
    unended = last == len(text) > 0 and _format(media_type(content_type), text) in ("json", "xml")
    return Redacted(b"".join((*pieces, body[reached:end])), UNENDED if unended and end == len(body) else None)


def _secrets(text: str, content_type: str, depth: int = 0) -> Iterable[Secret]:
    """In a body, a part of it, or a value in one."""
    if depth >= DEPTH_MAX:
        hidden = _format("", text) != "text" and _NAME.search(text.encode("latin-1", "replace")) is not None
        return [Secret(0, len(text))] if hidden else text_secrets(text)
    find = partial(_secrets, content_type="", depth=depth + 1)
    match _format(media_type(content_type), text):
        case "multipart":
            return multipart_secrets(text, content_type, partial(_in_part, depth=depth + 1))
        case "json":
            return json_secrets(text, find)
        case "xml":
            return xml_secrets(text, find)
        case "form":
            return form_secrets(text, find)
        case _:
            return [Secret(0, len(text))] if _holds_secrets_in_base64(text, find) else text_secrets(text)


def _in_part(text: str, content_type: str, depth: int) -> Iterable[Secret]:
    """In a part of a multipart body."""
    unreadable = _is_unreadable(text.encode("latin-1"), content_type)
    return [Secret(0, len(text))] if unreadable else _secrets(text, content_type, depth)


def _holds_secrets_in_base64(text: str, find: Find) -> bool:
    """Whether the text is JSON in Base64, as queues deliver it, with secrets in it."""
    if not _BASE64.match(text):
        return False
    plain, decoded = decode("base64", text.strip().translate(_URL_SAFE).encode(), complete=False)
    return bool(decoded) and next(iter(find(plain.decode("latin-1"))), None) is not None


def _format(kind: str, text: str) -> str:
    """What the text is, and else what it looks like: curl sends any body as a form."""
    if kind.startswith("multipart/"):
        return "multipart"
    if is_json(kind) or kind in JSON_LINES or _JSON.match(text):
        return "json"
    if is_xml(kind) or _XML.match(text):
        return "xml"
    return "form" if kind == "application/x-www-form-urlencoded" and _FORM.match(text) else "text"


def _is_unreadable(body: bytes, content_type: str) -> bool:
    """Whether the body may hold secrets that no name shows."""
    kind = media_type(content_type)
    if body.startswith(_PACKED):
        return True
    if b"\0" in body[:4] or body.startswith(_WIDE):
        return not kind.startswith(_MEDIA) and _NAME.search(body.replace(b"\0", b"")) is not None
    if kind in CSV | TSV:
        return _NAME.search(body.partition(b"\n")[0]) is not None
    text = body.decode("latin-1")
    if _format(kind, text) != "text":
        return False
    if _BLOCK.search(text):
        return True
    return _is_binary(body, kind) and _NAME.search(body) is not None


def _is_binary(body: bytes, kind: str) -> bool:
    if kind.startswith(_MEDIA):
        return False
    if _CONTROL.search(body):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)  # it may be cut off within a character
    except UnicodeDecodeError:
        return not kind.startswith("text/")
    return False
