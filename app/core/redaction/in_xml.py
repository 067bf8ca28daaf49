"""Secrets in XML and HTML, also where it is not well-formed."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from html import escape, unescape

from app.core.redaction.names import is_secret
from app.core.redaction.secret import Decoded, Find, Secret, as_sent, decoded, without_secret

# What is not closed extends to the end, so that it is read once.
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)"
    r"|<(?P<close>/?)(?P<name>[a-z_][^\s/>\"'=]*+)"
    r"(?P<attributes>(?:[^\"'>]|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+)(?:>|\Z)"
    r"|(?P<text>(?:[^<]++|<))",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_ATTRIBUTE = re.compile(
    r"(?<![^\s/\"'])(?P<name>[^\s=/\"'<>]++)\s*+=\s*+"
    r"(?:\"(?P<double>[^\"]*+)|'(?P<single>[^']*+)|(?P<bare>[^\s\"'>]++))",
    re.ASCII,
)
_ESCAPE = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
_NAMING = frozenset({"name", "key"})
_VALUED = frozenset({"value", "content"})
_VOID = frozenset({"input", "meta", "link", "img", "br", "hr"})
"""Elements of HTML that have no content and no end."""


def xml_secrets(text: str, find: Find) -> Iterator[Secret]:
    """The content of secret elements, the values of secret attributes, and what `find` finds in other texts."""
    tokens = _TOKEN.finditer(text)
    for token in tokens:
        if token["text"] is not None:
            yield from _found(token["text"], token.start("text"), find)
        elif token["data"] is not None:
            begin = token.start("data")
            yield from (Secret(begin + one.begin, begin + one.end, one.text) for one in find(token["data"]))
        elif token["name"] is not None and not token["close"]:
            named = yield from _attributes(token["attributes"], token.start("attributes"), find)
            if (named or is_secret(token["name"].rpartition(":")[2])) and not _is_empty(token):
                end = _end_of(token["name"], tokens, len(text))
                if text[token.end() : end].strip():
                    yield Secret(token.end(), end)


def _end_of(name: str, tokens: Iterator[re.Match[str]], without: int) -> int:
    """Where the content of an element ends, whose tag was read last; `without` an end tag, there."""
    depth = 1
    for token in tokens:
        if token["name"] is not None and token["name"].lower() == name.lower():
            depth += -1 if token["close"] else not _is_empty(token)
            if not depth:
                return token.start()
    return without


def _is_empty(tag: re.Match[str]) -> bool:
    return tag["attributes"].rstrip().endswith("/") or tag["name"].lower() in _VOID


def _attributes(text: str, at: int, find: Find) -> Generator[Secret, None, bool]:
    """Returns whether one of them, such as `name="password"`, says that the element is a secret."""
    found = list(_ATTRIBUTE.finditer(text))
    named = any(one["name"].lower() in _NAMING and is_secret(_value(one)[1]) for one in found)
    for one in found:
        begin, value = _value(one)
        name = one["name"].lower()
        if value and (is_secret(name) or (named and name in _VALUED)):
            yield Secret(at + begin, at + begin + len(value), escape(without_secret(value)))
        else:
            yield from _found(value, at + begin, find)
    return named


def _value(attribute: re.Match[str]) -> tuple[int, str]:
    """Where the value begins, and the value."""
    group = attribute.lastgroup or ""
    return attribute.start(group), attribute[group]


def _found(sent: str, begin: int, find: Find) -> Iterator[Secret]:
    plain: Decoded = decoded(sent, begin, _ESCAPE, lambda one: unescape(one)[:1] or "?")
    yield from as_sent(find(plain.text), plain, escape)
