"""Secrets in forms and queries, such as `a=1&password=x`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote_plus

from app.core.redaction.names import NAME_MAX, is_secret, is_secret_parameter
from app.core.redaction.secret import Decoded, Find, Secret, as_sent, without_secret

_FIELD = re.compile(r"[^&]++")
_ESCAPE = re.compile(r"%[0-9a-fA-F]{2}|\+")


_GRANT = re.compile(r"(?:\A|&)grant_type=")
"""A form that asks for a token has what the queries of URLs have."""


def form_secrets(text: str, find: Find, *, is_query: bool = False) -> Iterator[Secret]:
    """The values of secret fields, and what `find` finds in the values of others."""
    as_query = is_query or _GRANT.search(text) is not None
    for field in _FIELD.finditer(text):
        name, equals, value = field[0].partition("=")
        if not value:
            continue
        begin = field.start() + len(name) + len(equals)
        plain = Decoded(value, begin, _ESCAPE, _character)
        called = Decoded(name[: 3 * NAME_MAX], 0, _ESCAPE, _character).text
        if is_secret_parameter(called, value) if as_query else is_secret(called):
            yield Secret(begin, field.end(), _encoded(without_secret(plain.text)))
        else:
            yield from as_sent(find(plain.text), plain, _encoded)


def _character(escape: str) -> str:
    return " " if escape == "+" else chr(int(escape[1:], 16))


def _encoded(text: str) -> str:
    return quote_plus(text, safe="[]")
