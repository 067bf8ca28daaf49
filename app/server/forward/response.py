"""The target's response as it arrives, and whether its status means success."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus

from app.core.delivery import FailureKind
from app.core.model import PART_SIZE
from app.core.record import Headers


@dataclass
class TargetResponse:
    """A target's response, filled in while it is read, so that what precedes a failure is kept.

    `body` is the first `PART_SIZE` bytes as sent: transfer coding removed, content coding kept.
    """

    status: int | None = None
    http_version: str = ""
    headers: Headers = ()
    body: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def failure(self) -> tuple[FailureKind, str] | None:
        """Of a complete response; None for 2xx."""
        assert self.status is not None
        text = None if 200 <= self.status < 300 else status_text(self.status, self.headers, bytes(self.body))
        if text is None:
            return None
        return (FailureKind.LOOP if text == LOOP_ERROR else FailureKind.STATUS), text

    def add(self, data: bytes) -> None:
        """Append `data` as far as there is room."""
        room = PART_SIZE - len(self.body)
        self.body += data[:room]
        self.truncated = self.truncated or len(data) > room


LOOP_ERROR = "The forwarded request came back to Hookline: the target is one of its own capture URLs."
_LOCATION_MAX = 200


def status_text(status: int, headers: Headers, body: bytes) -> str | None:
    """The sentence for a response's status; None for 2xx, which is success."""
    if 200 <= status < 300:
        return None
    if status == 508 and _is_loop(body):
        return LOOP_ERROR
    text = f"The target responded with {status}{_phrase(status)}."
    location = next((value for name, value in headers if name.lower() == "location"), None)
    if 300 <= status < 400 and location:
        return f"{text} Redirects are not followed; it points to {location[:_LOCATION_MAX]}"
    return text


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _is_loop(body: bytes) -> bool:
    try:
        error_body = json.loads(body)
    except ValueError:
        return False
    return isinstance(error_body, dict) and error_body.get("error") == "forward_loop"
