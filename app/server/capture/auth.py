"""Whether a request has the credentials that its endpoint requires."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Sequence

from app.core.model import Auth

RawHeaders = Sequence[tuple[bytes, bytes]]


class CredentialCheck:
    """The check for an `Auth` other than "none". Secrets are compared in constant time."""

    def __init__(self, auth: Auth) -> None:
        self._kind = auth.kind
        self._header = auth.name.lower().encode("latin-1", "replace") if auth.kind == "header" else b"authorization"
        secret = f"{auth.name}:{auth.secret}" if auth.kind == "basic" else auth.secret
        # Clients disagree on how a name or secret outside ASCII is encoded, so both encodings are accepted.
        self._expected = [secret.encode("utf-8", "surrogatepass")]
        if all(ord(char) < 256 for char in secret):
            self._expected.append(secret.encode("latin-1"))

    @property
    def challenge(self) -> str | None:
        """The value of WWW-Authenticate; None for a custom header, which has no scheme."""
        if self._kind == "basic":
            return 'Basic realm="Hookline", charset="UTF-8"'
        return 'Bearer realm="Hookline"' if self._kind == "bearer" else None

    def refusal(self, headers: RawHeaders) -> str | None:
        """Why a request with `headers` is rejected; None when it is admitted."""
        values = [value for name, value in headers if name.lower() == self._header]
        if not values:
            return f"The request has no credentials: header {self._header.decode('latin-1')} is missing."
        if not any(map(self._matches, values)):
            return f"The credentials in header {self._header.decode('latin-1')} are wrong."
        return None

    def _matches(self, value: bytes) -> bool:
        given = self._credentials(value)
        if given is None:
            return False
        same = False
        for secret in self._expected:  # compares all of them, so that the time taken reveals nothing
            same |= hmac.compare_digest(given, secret)
        return same

    def _credentials(self, value: bytes) -> bytes | None:
        if self._kind == "header":
            return value
        scheme, _, rest = value.partition(b" ")
        if scheme.lower() != self._kind.encode():
            return None
        if self._kind == "bearer":
            return rest.strip()
        try:
            return base64.b64decode(rest.strip(), validate=True)
        except binascii.Error:
            return None
