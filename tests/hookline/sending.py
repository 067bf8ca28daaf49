"""Sends requests to an endpoint, as the code under test would."""

from __future__ import annotations

import httpx


def send(url: str, body: bytes = b"{}", method: str = "POST", **headers: str) -> httpx.Response:
    """One request; `_` in the names of headers is `-`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.request(method, url, content=body, headers=named, trust_env=False, timeout=30)
