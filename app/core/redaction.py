"""Replaces secrets in what a request holds, before it is shown to somebody who need not know them.

Secrets are recognised by the names of headers, query parameters, form fields and JSON members. Signatures stay: they
prove who sent the request, and reveal no key.
"""

from __future__ import annotations

import re

_SECRET = (
    r"authorization|cookie|password|passwd|passphrase|secret|token|api[-_]?key|access[-_]?key|private[-_]?key"
    r"|credential|card[-_]?number|cvv|cvc"
)
_NAME = re.compile(_SECRET, re.IGNORECASE)
# Names are bounded, so that a long text of nothing but names takes no more than its length.
_PARAMETER = re.compile(
    rf"(?P<name>(?:^|(?<=[?&;]))[^=&;?#\s]{{0,100}}(?:{_SECRET})[^=&;#\s]{{0,100}}=)(?P<value>[^&;#\s]+)",
    re.IGNORECASE | re.ASCII,
)
# Possessive, so that a list which is none takes no more than its length. A text may be cut off.
_TEXT = r'"(?:[^"\\]|\\(?:.|\Z))*+(?:"|\Z)'
_MEMBER = re.compile(
    rf'(?P<name>"(?:[^"\\]|\\.){{0,100}}?(?:{_SECRET})(?:[^"\\]|\\.){{0,100}}?"\s{{0,100}}:\s{{0,100}})'
    rf'(?P<value>{_TEXT}|-?[0-9][0-9.eE+-]*|\[(?:[^"\[\]{{]|{_TEXT})*+(?:\]|\Z))',
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_SCHEME = re.compile(r"(?:basic|bearer|digest|token) ", re.IGNORECASE)


def redacted_headers(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers with the values of secret ones replaced; an authentication scheme such as `Bearer` stays."""
    return [(name, _redacted(value) if _NAME.search(name) else value) for name, value in headers]


def redacted_url(url: str) -> str:
    """A URL or request target with the values of secret parameters replaced."""
    return _PARAMETER.sub(lambda found: found["name"] + _redacted(found["value"]), url)


def redacted_body(body: bytes, content_type: str, start: int = 0) -> bytes:
    """A body, or a part of one, from `start` on, with the values of secret JSON members or form fields replaced.

    The rest of a value that began before `start` is left out. A list of texts or numbers is one value.
    """
    is_form = "x-www-form-urlencoded" in content_type.lower()
    pieces, reached = [], start
    for found in (_PARAMETER if is_form else _MEMBER).finditer(body.decode("latin-1")):  # a character for each byte
        begin, end = found.span("value")
        if begin >= start:
            value = _redacted(found["value"])
            pieces += [body[reached:begin], (value if is_form else f'"{value}"').encode("latin-1")]
        reached = max(reached, end)
    return b"".join((*pieces, body[reached:]))


def _redacted(value: str) -> str:
    scheme = _SCHEME.match(value)
    return f"{scheme[0] if scheme else ''}[redacted]"
