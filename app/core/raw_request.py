"""A captured request as sent, without chunk framing: head, body, trailers."""

from __future__ import annotations

from app.core.model import Headers


def head_bytes(method: str, target: str, http_version: str, headers: Headers) -> bytes:
    """Request line and headers in order, with the empty line after them."""
    lines = [f"{method} {target} HTTP/{http_version}", *_lines(headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def trailer_bytes(trailers: Headers) -> bytes:
    """The trailers, after the line break that ends the last chunk. Empty without trailers."""
    return "\r\n".join(["", *_lines(trailers), "", ""]).encode("latin-1") if trailers else b""


def is_chunked(headers: Headers) -> bool:
    """Whether the body was sent in chunks, whose framing is not stored."""
    return any(name.lower() == "transfer-encoding" for name, _ in headers)


def _lines(fields: Headers) -> list[str]:
    return [f"{name}: {value}" for name, value in fields]
