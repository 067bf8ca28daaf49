"""Sends events to a customer's URL: as JSON, signed, and again if that fails."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
import urllib.error
import urllib.request
from typing import Any

TRIES = 3


class WebhookError(Exception):
    """An event could not be delivered."""


def signature(secret: str, body: bytes) -> str:
    """What the header `X-Shop-Signature` has to be."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


class Webhook:
    """A customer's URL, and the secret that only the shop and the customer know."""

    def __init__(self, url: str, secret: str, pause: float = 1.0) -> None:
        self._url, self._secret, self._pause = url, secret, pause

    def send(self, event: str, data: dict[str, Any]) -> None:
        """WebhookError after three failures."""
        body = json.dumps({"event": event, "data": data}).encode()
        headers = {
            "Content-Type": "application/json",
            "X-Shop-Event": event,
            "X-Shop-Signature": signature(self._secret, body),
        }
        request = urllib.request.Request(f"{self._url}/events", body, headers, method="POST")
        for attempt in range(TRIES):
            if attempt:
                time.sleep(self._pause)
            try:
                urllib.request.urlopen(request, timeout=10).close()
            except urllib.error.URLError:
                continue
            return
        raise WebhookError(f"{event} could not be delivered to {self._url}.")
