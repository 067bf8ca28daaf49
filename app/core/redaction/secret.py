"""What a secret is: where a text holds one, what is shown in its place, and which names stand for secrets."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

REDACTED = "[redacted]"
HOLE = "\x7f"
"""What a search has in the place of a secret: one byte in all charsets that bodies are redacted in, and allowed in
JSON."""
SecretHeaders = Mapping[int, str]
"""The names of the headers in which endpoints ask senders for a secret, by the endpoints' ids."""
_SCHEME = re.compile(r"(?:basic|bearer|digest|token) ", re.IGNORECASE)


class Secret(NamedTuple):
    """The characters from `begin` to before `end`, and the `text` in their place."""

    begin: int
    end: int
    text: str = REDACTED


Find = Callable[[str], Iterable[Secret]]
"""Finds the secrets in a value that has no secret name; those of JSON not always in order."""


def without_secret(value: str, mark: str = REDACTED) -> str:
    """What is shown in place of a secret; an authentication scheme such as `Bearer` stays."""
    scheme = _SCHEME.match(value)
    return f"{scheme[0] if scheme else ''}{mark}"


def replaced(text: str, found: Iterable[Secret], mark: str = REDACTED) -> str:
    """The text with all secrets replaced, by a `mark` of their own or else by their texts."""
    pieces, reached = [], 0
    for secret in found:
        pieces += [text[reached : secret.begin], secret.text if mark == REDACTED else mark]
        reached = secret.end
    return "".join((*pieces, text[reached:]))


class Decoded:
    """A text without its escapes, of what was `sent` from `begin` on; each `escape` stands for one `character`."""

    def __init__(self, sent: str, begin: int, escape: re.Pattern[str], character: Callable[[str], str]) -> None:
        self._sent, self._begin, self._escape = sent, begin, escape
        self.text = escape.sub(lambda found: character(found[0]), sent)

    @cached_property
    def places(self) -> Sequence[int]:
        """Where its characters begin as sent, and where the last one ends."""
        places, begin, at = array("q"), self._begin, 0
        for found in self._escape.finditer(self._sent):
            places.extend(range(begin + at, begin + found.start() + 1))
            at = found.end()
        places.extend(range(begin + at, begin + len(self._sent) + 1))
        return places


def as_sent(found: Iterable[Secret], within: Decoded, encode: Callable[[str], str]) -> Iterator[Secret]:
    """The secrets of a decoded text in the text as it was sent."""
    for secret in found:
        yield Secret(within.places[secret.begin], within.places[secret.end], encode(secret.text))


SIMPLE = (
    r"authorization(?!s)|cookie|passw|pass[-_ ](?:word|wd)|pass[-_ ]?(?:phrase|code|key)|pwd|kennwort|wachtwoord"
    r"|contrase|senha|secret(?!ar)|token(?!i[sz])|credential|jwt|sess(?:ion)?[-_ ]?id|card[-_ ]?number|cvv|cvc|creds"
    r"|saml-?response|mnemonic|[cx]srf|security[-_ ]?answer"
)
"""Slack's `authorizations` lists who installed an app."""
_KEYS = (
    "api|access|private|auth|master|signing|encryption|shared|account|subscription|functions|service|session|consumer"
    "|app|application|admin|webhook|licen[cs]e|hmac|storage"
)
_CODES = "verification|security|recovery|backup|otp|mfa|2fa|totp|one[-_ ]?time|login|sms|activation"
COMPOUND = (
    rf"(?:{_KEYS})[-_ .]?key(?![-_ ]?id)|(?:{_CODES})[-_ ]?code|client[-_ ]?assertion|x-(?:amz|goog)-signature"
    r"|code[-_]?verifier"
    r"|(?:seed|recovery)[-_ ]?phrase|mot[-_ ]?de[-_ ]?passe"
)
WORDS = f"{SIMPLE}|{COMPOUND}"
"""A name that contains one of these."""
SIMPLE_STEMS = (
    *("authorization", "cookie", "pass", "pwd", "kennwort", "wachtwoord", "contrase", "senha", "secret", "token"),
    *("credential", "jwt", "sess", "card", "cvv", "cvc", "creds", "saml", "mnemonic"),
    *("csrf", "xsrf", "security"),
)
"""Each match of `SIMPLE` in a text of small letters begins with one of these."""
COMPOUND_STEMS = ("key", "code", "assertion", "signature", "phrase", "passe")
"""Each match of `COMPOUND` has one of these, after at most `COMPOUND_BEFORE` other characters."""
COMPOUND_BEFORE = 13

_WHOLE = "o?auth|authentication|pass|pw|pin|otp|totp|bearer|ssn"
"""A name that is one of these, or ends in one after a separator."""
_NAME = re.compile(rf"{WORDS}|(?:^|[^a-z0-9])(?:{_WHOLE})\]?$|(?<=[a-z0-9])(?-i:Auth|Pass|Pin|Otp)$", re.IGNORECASE)
_WHEN = "(?:created|changed|updated|modified|rotated|issued|reset|last[-_ ]?[a-z]{1,10})[-_ ]?(?:at|on)"
_UNTIL = "exp(?:ir(?:y|es|ed|ation))?(?:[-_ ]?(?:at|in|on|time|date))?"
_ABOUT = (
    rf"type|count|length|status|enabled|required|policy|strength|consent|scopes?|version|name|ttl|us(?:ed|age)|limit"
    rf"|budget|{_UNTIL}|{_WHEN}"
)
_COUNTED = "prompt|completion|input|output|total|max|cached|reasoning|audio|text|image|thinking|prediction|used"
_HARMLESS = re.compile(
    rf"(?:token|passw(?:or)?[dt]|secret|cookie|credential|key|session|authorization)s?[-_ ]?(?:{_ABOUT})$"
    rf"|(?:token|authorization)[-_ ]?(?:endpoint|ur[il])$|(?:{_COUNTED})[-_ ]?tokens(?:[-_ ]?details)?$"
    r"|(?:page|sync|continuation|idempotency)[-_ ]?token$|secret[-_ ]scanning|unexpected token$|rate-?limit"
    r"|^access-control-|^(?:permissions|feature)-policy$",
    re.IGNORECASE,
)
"""A name that tells something about secrets: `token_type`, `password_changed_at`, the `total_tokens` of a language
model."""
PARAMETERS = r"code|key|session|sid|sas|sig|signature|hmac"
"""In a URL these give access, as what others sign does; elsewhere they name anything."""
_PARAMETER = re.compile(
    rf"(?:x[-_])?(?:{PARAMETERS})|(?:.+[-_])?(?:sas|sig|signature)|auth(?:orization)?[-_]?code|connect\.sid",
    re.IGNORECASE,
)
_HEADER = re.compile(r"(?:x-)?(?:code|key|session|sid|sas)", re.IGNORECASE)
HARMLESS_MAX = 3
"""Characters of a value that is no secret in spite of such a name: a status, a country, a page."""
NAME_MAX = 256
"""Characters of a name that are looked at, at either end."""
_FILE = re.compile(
    rf"{WORDS}|(?:^|[/\\])(?:id_[a-z0-9]+|\.env[^/\\]*|\.netrc|\.npmrc|\.pgpass|\.htpasswd)$"
    r"|\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)$",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    """Whether values with this name are secrets."""
    return _is_secret(name if len(name) <= 2 * NAME_MAX else name[:NAME_MAX] + name[-NAME_MAX:])


@lru_cache(maxsize=1024)  # the names in a body repeat
def _is_secret(name: str) -> bool:
    name = name.strip()
    return _NAME.search(name) is not None and _HARMLESS.search(name) is None


def is_secret_parameter(name: str, value: str) -> bool:
    """The same for a parameter of a URL."""
    return is_secret(name) or (len(value) > HARMLESS_MAX and _PARAMETER.fullmatch(name) is not None)


def is_secret_header(name: str, value: str) -> bool:
    """The same for a header, in which signatures stay."""
    return is_secret(name) or (len(value) > HARMLESS_MAX and _HEADER.fullmatch(name) is not None)


def is_secret_file(name: str) -> bool:
    """Whether a file of this name holds secrets."""
    return _FILE.search(name[-NAME_MAX:].strip()) is not None


def may_name_secret(text: str) -> bool:
    """Whether a text contains a word of secret names; quick for long texts, and seldom wrong."""
    lower = text.lower()
    return any(stem in lower for stem in (*SIMPLE_STEMS, *COMPOUND_STEMS)) and _WORD.search(lower) is not None


_WORD = re.compile(WORDS)
_SHORT_WORD = re.compile(
    rf"(?<![a-z])(?:(?:{_WHOLE})(?![a-z])|c(?:pin|otp|ssn)|bpw|d(?:pass|auth)|eoauth|fbearer)", re.IGNORECASE
)
"""In CBOR a letter before a name is its length."""


def binary_may_name_secret(body: bytes) -> bool:
    """The same for a body that is no text; also short names count, which are words of other texts."""
    text = body.decode("latin-1")
    return may_name_secret(text) or _SHORT_WORD.search(text) is not None
