"""Which endpoint a raw request target names."""

from __future__ import annotations

from app.core.own_urls import CAPTURE_PATH


def slug_of(target: str) -> str | None:
    """The slug in a raw request target, not decoded; None if the path is not a capture path.

    A target in absolute form (`http://host/catch/…`) is treated like its path, as RFC 9112 section 3.2.2 requires.
    """
    if not target.startswith("/"):
        scheme, found, rest = target.partition("://")
        if not found or scheme.lower() not in ("http", "https"):
            return None
        slash = rest.find("/")
        target = rest[slash:] if slash >= 0 else ""
    if not target.startswith(CAPTURE_PATH):
        return None
    path = target[len(CAPTURE_PATH) :]
    for end in "/?":
        path = path.partition(end)[0]
    return path
