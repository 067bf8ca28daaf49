"""Where a mirrored request goes: the forward URL, with the path below the capture URL and the query added, raw."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?]*")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_UNSEEN = re.compile(r"[\x00-\x20\x7f]")
_READINGS = 3
"""As sent, decoded once, decoded twice."""


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


def forwarded_url(forward_url: str, captured: str) -> str:
    """The URL that a capture is sent to: the forward URL with what `mirror_target` makes of both.

    The forward URL alone where `leaves_path` forbids that anything is sent.
    """
    if escapes_path(captured):
        return forward_url
    own = urlsplit(forward_url)
    return f"{own.scheme}://{own.netloc}{mirror_target(forward_url, captured)}"


def sub_path(captured: str) -> str:
    """What follows `/catch/{slug}` in a raw target, without the query."""
    return _below_slug(_AUTHORITY.sub("", captured, count=1).partition("?")[0])


def escapes_path(captured: str) -> bool:
    """Whether the sub-path of a raw target could climb above the forward URL's path on any server.

    Servers differ in how often they decode a path, and in what they make of `%2F`, backslashes, `;parameters` and
    controls. So a segment counts as one step down at most, as it was sent, and as many up as the widest reading finds.
    """
    depth = 0
    for segment in sub_path(captured).split("/"):
        up, down = _steps(segment)
        depth -= up
        if depth < 0:
            return True
        depth += down
    return False


def _steps(segment: str) -> tuple[int, int]:
    """How many directories one raw segment climbs at most, and descends at least."""
    up, down = 0, 1
    for _ in range(_READINGS):
        pieces = [re.split("[;?#]", piece)[0] for piece in re.split(r"[/\\]", _UNSEEN.sub("", segment))]
        up = max(up, pieces.count(".."))
        if all(piece in ("", ".", "..") for piece in pieces) or up:
            down = 0
        segment = unquote(segment, encoding="latin-1")
    return up, down


def _below_slug(path: str) -> str:
    """What follows `/catch/{slug}`, with its leading slash; empty when nothing does."""
    _, _, after = path.partition("/catch/")
    _, slash, rest = after.partition("/")
    return slash + rest


def _ascii(text: str, encoding: str) -> str:
    return quote(text, safe=_PRINTABLE, encoding=encoding)
