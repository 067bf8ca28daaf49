"""Says what an answer's status means for the one who mirrors."""

from __future__ import annotations

import json
from http import HTTPStatus

LOOPED = "The mirror came back to Hookline: the target is one of its own capture URLs."
_LOCATION_MAX = 200


def status_text(status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> str | None:
    """The sentence for an answer's status; None for 2xx, which is success."""
    if 200 <= status < 300:
        return None
    if status == 508 and _is_mirror_loop(body):
        return LOOPED
    text = f"The target answered {status}{_phrase(status)}."
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
        answer = json.loads(body)
    except ValueError:
        return False
    return isinstance(answer, dict) and answer.get("error") == "mirror_loop"
