"""What proves that a response came from this Hookline: a path that only this run knows, and a secret."""

from __future__ import annotations

import hmac
import re
import secrets

from app.core.own_urls import CAPTURE_PATH

_QUERY = re.compile(r"\?([0-9a-f]{32})")


class ProbeKey:
    """One for each run. No endpoint has its slug."""

    def __init__(self) -> None:
        self._path = f"{CAPTURE_PATH}hookline-probe-{secrets.token_hex(16)}"
        self._secret = secrets.token_bytes(32)

    def new_target(self) -> str:
        """A target to request, never the same twice, so that no cache can respond."""
        return f"{self._path}?{secrets.token_hex(16)}"

    def proof_for(self, target: str) -> str | None:
        """The body of the response to a request of this target; None for any other target."""
        if not target.startswith(self._path):
            return None
        query = _QUERY.fullmatch(target.removeprefix(self._path))
        return hmac.digest(self._secret, query[1].encode(), "sha256").hex() if query else None
