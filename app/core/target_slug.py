"""Which endpoint a raw request target names."""

from __future__ import annotations

from app.core.own_urls import CAPTURE_PATH


def slug_of(target: str) -> str | None:
    """The slug that a raw request target names, compared as it stands; None when the path is no capture path.

    A target in absolute form (`http://host/catch/…`) is taken like its path, as RFC 9112 section 3.2.2 demands.
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
