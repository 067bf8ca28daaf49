"""Describes requests without a body, and all bodies but small JSON objects. The first bytes of the body decide what it
is, then its type.

At most the first part (1 MiB) is read, and `UNPACKED_MAX` bytes once unpacked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial

from app.core.bodies.charset import detect
from app.core.bodies.decompressor import Decompressor, codings, unsupported_reason
from app.core.bodies.media_types import media_type, type_hint
from app.core.gist import binary, forms, text
from app.core.gist.json_gist import json_gist, ndjson_gist
from app.core.gist.words import names, with_detail
from app.core.raw_request import below_slug
from app.core.record import Headers
from app.core.text import size_text

UNPACKED_MAX, AT_ONCE_MAX = 64 * 1024, 2 * 1024 * 1024
TEXT_MAX = 64 * 1024
HEAD = 1_024
"""Characters that decide whether bytes are text."""
PATH_MAX = 400
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c\x1d\x1f\x7f]")
_ODD = re.compile(r"[\x00-\x08\x0b\x0e-\x1a\x1c\x1d\x1f\x7f-\x9f]")
_MARKED = (b"\xef\xbb", b"\xff\xfe", b"\xfe\xff")
"""The first bytes of byte order marks."""
_BY_TEXT: dict[str, Callable[[str], str | None]] = {
    "csv": text.csv_gist,
    "graphql": text.graphql_gist,
    "html": text.html_gist,
    "mail": text.mail_gist,
    "tsv": partial(text.csv_gist, tabs=True),
    "xml": text.xml_gist,
    "yaml": text.yaml_gist,
}


def without_body(method: str, target: str, headers: Headers) -> str:
    if method == "OPTIONS":
        requested_method = next(
            (value for name, value in headers if name.lower() == "access-control-request-method"), None
        )
        if requested_method:
            return f"CORS preflight · {requested_method[:20]}"
    path, _, query = below_slug(target[: 8 * PATH_MAX]).partition("?")
    found = names(forms.field_names(query)) if query else ""
    if found:
        return with_detail("query", found)
    return path[:PATH_MAX] if path not in ("", "/") else "no body"


def of_body(kind: str, headers: Headers, content_type: str, data: bytes, *, size: int, complete: bool) -> str:
    """`kind` is what its type declares."""
    coding_names = codings(headers)
    if coding_names and data:
        plain, ended = _decompressed(coding_names, data)
        if not plain:
            return f"{coding_names[-1][:20]} · {size_text(size)}"
        data, complete = plain, complete and ended
    found = binary.known_bytes(data, size) or _by_type(kind, content_type, data, size, complete=complete)
    return found or _guessed(content_type, data, size, complete=complete)


def _decompressed(coding_names: tuple[str, ...], data: bytes) -> tuple[bytes, bool]:
    """The beginning of a decompressed body, and whether that is all of it; empty if it cannot be decompressed."""
    if unsupported_reason(coding_names):
        return b"", False
    decompressor = Decompressor(coding_names, AT_ONCE_MAX)
    plain = decompressor.unpack(data, UNPACKED_MAX)
    return plain, decompressor.needs_input and decompressor.finish() is None


def _by_type(kind: str, content_type: str, data: bytes, size: int, *, complete: bool) -> str | None:
    """By its type; None if the body does not match it."""
    if not data:
        return with_detail(type_hint(content_type[:80]) or "binary", size_text(size))
    if kind == "multipart":
        return forms.multipart_gist(content_type, data, complete=complete)
    if kind == "msgpack":
        return binary.msgpack_gist(data, size, declared=True)
    if kind == "protobuf":
        return binary.protobuf_gist(data, size)
    if kind == "grpc":
        return binary.grpc_gist(data, size)
    if kind not in ("json", "ndjson", "form", *_BY_TEXT):
        return None
    utf8 = _in_utf8(content_type, data, complete=complete)
    if kind == "json":
        return None if utf8 is None else json_gist(utf8, complete=complete)
    if kind == "ndjson":
        return ndjson_gist(data, complete=complete)
    return None if utf8 is None else _by_text_type(kind, utf8.decode("utf-8", "replace"), complete=complete)


def _by_text_type(kind: str, words: str, *, complete: bool) -> str | None:
    if kind == "form":
        # curl sends any body as a form unless it is given a type.
        return None if words[:1] in '{[<"' else forms.form_gist(words, complete=complete)
    return _BY_TEXT[kind](words)


def _guessed(content_type: str, data: bytes, size: int, *, complete: bool) -> str:
    """By the body alone."""
    kind = media_type(content_type[:200])
    if data.startswith(b"\x1f\x8b"):
        plain, ended = _decompressed(("gzip",), data)
        inside = _guessed("", plain, size, complete=complete and ended) if plain and plain[:2] != b"\x1f\x8b" else ""
        return with_detail("gzip", inside or size_text(size))
    utf8 = _in_utf8(content_type, data, complete=complete)
    if utf8 is None:
        found = binary.msgpack_gist(data, size, declared=False) if complete else None
        return found or binary.unknown_bytes(kind, size)
    start = utf8[:64].lstrip()[:1]
    if start and start in b"{[" and (found := json_gist(utf8, complete=complete)) and (complete or found.count("·")):
        return found
    words = utf8.decode("utf-8", "replace")
    beginning = words[:1_024].lstrip("\ufeff \t\r\n").lower()
    if beginning.startswith(("<!doctype html", "<html")):
        return text.html_gist(words)
    if start == b"<" and (found := text.xml_gist(words)):
        return found
    return text.token_gist(words) or text.text_gist(words, _label(kind))


def _label(kind: str) -> str:
    hint = type_hint(kind)
    return "text" if hint in ("", "Text", "Form", "Binary", "JSON", "XML", "octet-stre") else hint


@lru_cache(maxsize=256)
def _may_be_utf8(content_type: str) -> bool:
    """True also for a type without a charset."""
    text = content_type[:500].lower()
    return "charset" not in text or "utf-8" in text or "utf8" in text


def _in_utf8(content_type: str, data: bytes, *, complete: bool) -> bytes | None:
    """Converts text to UTF-8 without a byte order mark; None if `data` is not text."""
    start = data[:TEXT_MAX]
    if _may_be_utf8(content_type) and start[:2] not in _MARKED:
        if start[:1] in (b"{", b"[") and start[1:2] != b"\0":
            return data  # the JSON decoder checks it
        try:
            words = start.decode("utf-8")
        except UnicodeDecodeError:
            words = "\0"
        if _is_text(words):
            return data
    charset = detect(content_type, start, complete and len(data) <= TEXT_MAX)
    words = charset.decoder().decode(start[charset.skip :])
    if charset.source == "guessed" and _ODD.search(words, 0, HEAD):
        return None  # Latin-1 decodes any bytes; characters that are rare in text reveal binary data
    return words.encode("utf-8", "replace") if _is_text(words) else None


def _is_text(words: str) -> bool:
    found = _CONTROL.findall(words, 0, HEAD)
    return "\0" not in found and len(found) * 20 <= min(len(words), HEAD)
