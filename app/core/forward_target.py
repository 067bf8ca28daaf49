"""The URL of a delivery: the forward URL, as it may be typed, plus the raw sub-path and query of the capture."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

_AUTHORITY = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://[^/?]*")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_UNSEEN = re.compile(r"[\x00-\x20\x7f]")
_PORT_ALONE = re.compile(r":?([0-9]+(?:[/?].*)?)", re.DOTALL)
_WITHOUT_SCHEME = re.compile(
    r"(?!https?:)([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]+(?:[/?].*)?|localhost(?:[/?].*)?", re.DOTALL
)
_READINGS = 3
"""As sent, decoded once, decoded twice."""


def full_url(typed: str) -> str:
    """The URL that was meant: `3000`, `:3000` and `localhost:3000` are `http://localhost:3000`. Any other text stays as
    it is, for `forward_url_error`."""
    if found := _PORT_ALONE.fullmatch(typed):
        return f"http://localhost:{found[1]}"
    return f"http://{typed}" if _WITHOUT_SCHEME.fullmatch(typed) else typed


def target_below(forward_url: str, captured: str, *, append_path: bool = True, keep_query: bool = True) -> str:
    """The request target to send: nothing is decoded, resolved or re-encoded.

    Only bytes that are not allowed in a request line (blanks, controls, beyond ASCII) are percent-encoded. `captured`
    is the raw target `/catch/{slug}…` with one Latin-1 character per byte; `append_path` and `keep_query` say which
    parts of it are sent.
    """
    own = urlsplit(forward_url)
    path, mark, query = _AUTHORITY.sub("", captured, count=1).partition("?")
    below = _below_slug(path) if append_path else ""
    if not keep_query:
        mark, query = "", ""
    own_path = own.path.removesuffix("/") if below else own.path
    queries = [part for part in (sendable(own.query, "utf-8"), sendable(query, "latin-1")) if part]
    mark = "?" if queries else mark
    return (sendable(own_path, "utf-8") + sendable(below, "latin-1") or "/") + mark + "&".join(queries)


def forwarded_url(forward_url: str, captured: str, *, append_path: bool = True, keep_query: bool = True) -> str:
    """The URL that a capture is delivered to: the forward URL combined by `target_below`.

    Only the forward URL if nothing is sent because of `escapes_path`.
    """
    if append_path and escapes_path(captured):
        return forward_url
    own = urlsplit(forward_url)
    target = target_below(forward_url, captured, append_path=append_path, keep_query=keep_query)
    return f"{own.scheme}://{own.netloc}{target}"


def sendable(text: str, encoding: str = "utf-8") -> str:
    """A URL, or a part of one, with the characters percent-encoded that are not allowed in a request line."""
    return quote(text, safe=_PRINTABLE, encoding=encoding)


def sub_path(captured: str) -> str:
    """The path after `/catch/{slug}` in a raw target."""
    return _below_slug(_AUTHORITY.sub("", captured, count=1).partition("?")[0])


def escapes_path(captured: str) -> bool:
    """Whether the sub-path of a raw target could lead above the path of the forward URL on any server.

    Servers differ in how often they decode a path, and in how they treat `%2F`, backslashes, `;parameters` and
    controls. So a segment counts as one level down at most, as sent, and as many up as the widest reading finds.
    """
    below = sub_path(captured)
    if "." not in below and "%" not in below:
        return False
    depth = 0
    for segment in below.split("/"):
        up, down = _steps(segment)
        depth -= up
        if depth < 0:
            return True
        depth += down
    return False


def _steps(segment: str) -> tuple[int, int]:
    """How many levels a raw segment goes up at most, and down at least."""
    up, down = 0, 1
    for _ in range(_READINGS):
        pieces = [re.split("[;?#]", piece)[0] for piece in re.split(r"[/\\]", _UNSEEN.sub("", segment))]
        up = max(up, pieces.count(".."))
        if all(piece in ("", ".", "..") for piece in pieces) or up:
            down = 0
        segment = unquote(segment, encoding="latin-1")
    return up, down


def _below_slug(path: str) -> str:
    """The path after `/catch/{slug}`, with its leading slash; empty without one."""
    _, _, after = path.partition("/catch/")
    _, slash, rest = after.partition("/")
    return slash + rest
