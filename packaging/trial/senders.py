"""What a sender does from outside: posts a few requests to a capture URL and reads the answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any, TypeVar
from urllib.parse import urlsplit

from trial.room import TrialError

Found = TypeVar("Found")

EVENTS = ("invoice.paid", "charge.failed", "customer.created", "payout.sent", "invoice.voided")


def post(url: str, body: bytes) -> dict[str, Any]:
    """Post JSON; the answer's JSON. TrialError unless it is a 2xx."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    try:
        connection.request("POST", parts.path, body, {"Content-Type": "application/json", "User-Agent": "trial/1"})
        answer = connection.getresponse()
        said = answer.read()
    finally:
        connection.close()
    if answer.status // 100 != 2:
        raise TrialError(f"{url} answered {answer.status}: {said[:200]!r}")
    response: dict[str, Any] = json.loads(said)
    return response


def send(url: str, count: int) -> list[str]:
    """Post `count` different events; the ids under which they were kept."""
    bodies = ({"id": f"evt_{number:04}", "type": EVENTS[number % len(EVENTS)], "n": number} for number in range(count))
    return [str(post(url, json.dumps(body).encode())["id"]) for body in bodies]


def wait_for(what: str, look: Callable[[], Found | None], seconds: float = 20.0) -> Found:
    """The first thing that `look` finds; TrialError naming what did not come."""
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        if time.monotonic() > deadline:
            raise TrialError(f"{what} did not come within {seconds:g} s.")
        time.sleep(0.1)
    return found
