"""Describes a request in a few words.

Nearly all bodies are small JSON objects; for what is not, see `gist_formats.py`.
"""

from __future__ import annotations

import logging
from functools import lru_cache

from app.core.bodies.gist_json import NOT_JSON, object_gist, one_line
from app.core.bodies.media_types import FORM, is_json, is_msgpack, is_protobuf, is_xml, media_type, text_language
from app.core.record import Headers
from app.core.text import size_text

log = logging.getLogger(__name__)

_TYPES = {FORM: "form", "text/html": "html", "message/rfc822": "mail"}


@lru_cache(maxsize=256)
def _kind(content_type: str) -> str:
    """The kind of body, or the text language, that a content type declares; empty for other types."""
    kind = media_type(content_type[:200])
    if found := _TYPES.get(kind) or text_language(kind):
        return found
    if is_json(kind):
        return "json"
    if is_xml(kind):
        return "xml"
    if is_msgpack(kind):
        return "msgpack"
    if is_protobuf(kind):
        return "protobuf"
    if kind.startswith("application/grpc"):
        return "grpc"
    return "multipart" if kind.startswith("multipart/") else ""


def is_counted(content_type: str) -> bool:
    """Whether the gist counts items, lines or parts, for which it needs the whole body."""
    return _kind(content_type) in ("json", "ndjson", "multipart")


def gist(
    method: str, target: str, headers: Headers, content_type: str, data: bytes, *, size: int, complete: bool = True
) -> str:
    """At most 120 characters on one line, nothing hidden in them, never empty.

    `data` is the beginning of the body as sent, or all of its `size` bytes. Never raises.
    """
    try:
        if data[:1] == b"{" and len(data) == size and _kind(content_type) == "json":
            try:
                return object_gist(data)  # nearly all requests end here, after a few microseconds
            except NOT_JSON:
                pass  # invalid JSON or another format than declared: guessed below
        from app.core.bodies.gist_formats import of_body, without_body  # start-up time: it knows many formats

        if not size:
            return one_line(without_body(method, target, headers))
        complete = complete and len(data) == size
        return one_line(of_body(_kind(content_type), headers, content_type, data, size=size, complete=complete))
    except Exception:  # a bug here must not lose a request
        log.exception("a request could not be described")
        return f"binary · {size_text(size)}"
