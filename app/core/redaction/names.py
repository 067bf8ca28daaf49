"""Which names stand for secrets."""

from __future__ import annotations

import re

WORDS = (
    r"authorization(?!s)|cookie|passwor[dt]|passwd|pwd|passphrase|passcode|secret|token|credential|jwt|sessid"
    r"|(?:api|access|private|auth|master|signing|encryption|shared|account|subscription|functions|service|session)"
    r"[-_ ]?key(?![-_ ]?id)|card[-_ ]?number|cvv|cvc|creds|saml-?response|client[-_ ]?assertion"
    r"|(?:verification|security|recovery|backup)[-_ ]?code|x-(?:amz|goog)-signature"
)
"""A name that contains one of these. Slack's `authorizations` lists who installed an app."""
_WHOLE = "o?auth|pass|pin|otp|totp|bearer|ssn"
"""A name that is one of these, or ends in one after a separator."""
_NAME = re.compile(rf"{WORDS}|(?:^|[^a-z0-9])(?:{_WHOLE})\]?$|(?<=[a-z0-9])(?-i:Auth|Pass|Pin|Otp)$", re.IGNORECASE)
NAME_MAX = 256
"""Characters of a name that are looked at, at either end."""
_FILE = re.compile(
    rf"{WORDS}|(?:^|[/\\])(?:id_[a-z0-9]+|\.env[^/\\]*|\.netrc|\.npmrc|\.pgpass|\.htpasswd)$"
    r"|\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)$",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether values with this name are secrets."""
    short = name if len(name) <= 2 * NAME_MAX else name[:NAME_MAX] + name[-NAME_MAX:]
    return _NAME.search(short.strip()) is not None


def is_secret_file(name: str) -> bool:
    """Whether a file of this name holds secrets."""
    return _FILE.search(name[-NAME_MAX:].strip()) is not None
