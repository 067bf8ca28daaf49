"""Says what a response's status means for a delivery."""

from __future__ import annotations

import json
from http import HTTPStatus

LOOPED = "The forwarded request came back to Hookline: the target is one of its own capture URLs."
_LOCATION_MAX = 200


def status_text(status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> str | None:
    """The sentence for a response's status; None for 2xx, which is success."""
    if 200 <= status < 300:
        return None
    if status == 508 and _is_mirror_loop(body):
        return LOOPED
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


def _is_mirror_loop(body: bytes) -> bool:
    try:
        error_body = json.loads(body)
    except ValueError:
        return False
    return isinstance(error_body, dict) and error_body.get("error") == "mirror_loop"
