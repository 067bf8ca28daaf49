"""Where a text holds a secret, and what is shown in its place."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
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
