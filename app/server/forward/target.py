"""Where a mirrored request goes: the forward URL, with the path below the capture URL and the query added, raw."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?]*")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


def mirror_target(forward_url: str, captured: str) -> str:
    """The request target to send: nothing is decoded, resolved or re-encoded.

    Only bytes that no request line may hold (blanks, controls, beyond ASCII) are percent-encoded. `captured` is the raw
    target `/catch/{slug}…` with one Latin-1 character per byte.
    """
    own = urlsplit(forward_url)
    path, mark, query = _AUTHORITY.sub("", captured, count=1).partition("?")
    below = _below_slug(path)
    own_path = own.path.removesuffix("/") if below else own.path
    queries = [part for part in (_ascii(own.query, "utf-8"), _ascii(query, "latin-1")) if part]
    mark = "?" if queries else mark
    return (_ascii(own_path, "utf-8") + _ascii(below, "latin-1") or "/") + mark + "&".join(queries)


def _below_slug(path: str) -> str:
    """What follows `/catch/{slug}`, with its leading slash; empty when nothing does."""
    _, _, after = path.partition("/catch/")
    _, slash, rest = after.partition("/")
    return slash + rest


def _ascii(text: str, encoding: str) -> str:
    return quote(text, safe=_PRINTABLE, encoding=encoding)
