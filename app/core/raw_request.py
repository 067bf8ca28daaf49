"""A captured request as it was on the wire, but for the framing of chunks: head, body, trailers."""

from __future__ import annotations

from app.core.model import Headers


def head_bytes(method: str, target: str, http_version: str, headers: Headers) -> bytes:
    """Request line and headers in their order, with the empty line that ends them."""
    lines = [f"{method} {target} HTTP/{http_version}", *_lines(headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def trailer_bytes(trailers: Headers) -> bytes:
    """What follows the body: on the wire a line break ends the last chunk. Nothing where there are no trailers."""
    return "\r\n".join(["", *_lines(trailers), "", ""]).encode("latin-1") if trailers else b""


def is_chunked(headers: Headers) -> bool:
    """Whether the body came in chunks, whose framing is not kept."""
    return any(name.lower() == "transfer-encoding" for name, _ in headers)


def _lines(fields: Headers) -> list[str]:
    return [f"{name}: {value}" for name, value in fields]
