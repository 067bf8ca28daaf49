"""The result of a delivery: the target's response as it arrives, and whether its status means success."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec

from app.core.clock import now_us
from app.core.model import PART_SIZE, Delivery, DeliveryState, Headers


@dataclass
class TargetResponse:
    """A target's response, filled in while it is read, so that what precedes a failure is kept.

    `body` is the first `PART_SIZE` bytes as sent: transfer coding removed, content coding kept.
    """

    status: int | None = None
    headers: Headers = ()
    body: bytearray = field(default_factory=bytearray)
    truncated: bool = False

    def add(self, data: bytes) -> None:
        """Append `data` as far as there is room."""
        room = PART_SIZE - len(self.body)
        self.body += data[:room]
        self.truncated = len(data) > room


def with_result(
    delivery: Delivery, response: TargetResponse, error: str | None, started_at: int, ms: float
) -> Delivery:
    """`delivery` with its result: delivered when a 2xx response was complete, otherwise failed with a sentence."""
    if error is None and response.status is not None:
        error = status_text(response.status, response.headers, bytes(response.body))
    elif error is not None and response.status is not None:
        error = f"The response started ({response.status}) but did not finish. {error}"
    return msgspec.structs.replace(
        delivery,
        state=DeliveryState.FAILED if error else DeliveryState.DELIVERED,
        started_at=started_at,
        ms=ms,
        status=response.status,
        response_headers=response.headers,
        response_size=len(response.body),
        response_truncated=response.truncated,
        error=error,
    )


def internal_failure(delivery: Delivery, error: Exception) -> Delivery:
    """`delivery` failed by an error in this program, so that it is visible and does not block the next."""
    text = f"Hookline could not forward this request because of an internal error: {type(error).__name__}: {error}"
    return with_result(delivery, TargetResponse(), text, now_us(), 0.0)


LOOP_ERROR = "The forwarded request came back to Hookline: the target is one of its own capture URLs."
_LOCATION_MAX = 200


def status_text(status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> str | None:
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
    return isinstance(error_body, dict) and error_body.get("error") == "mirror_loop"
