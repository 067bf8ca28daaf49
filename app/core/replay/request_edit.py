"""What the user changed in a request before replaying it."""

from __future__ import annotations

from app.core.model import Headers, Record


class RequestEdit(Record, frozen=True):
    """Each None is as captured. `body` is as sent: with content coding."""

    method: str | None = None
    url: str | None = None
    headers: Headers | None = None
    body: bytes | None = None
