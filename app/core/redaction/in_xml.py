"""Secrets in XML and HTML, also where it is not well-formed."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from html import escape, unescape

from app.core.redaction.in_text import is_plain
from app.core.redaction.names import WORDS, is_secret
from app.core.redaction.secret import Decoded, Find, Secret, as_sent, without_secret

# What is not closed extends to the end, so that it is read once.
_TOKEN = re.compile(
    r"<(?P<close>/?)(?P<name>[a-z_][^\s/>\"'=]*+)"
    r"(?P<attributes>[^\"'>]*+(?:(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))[^\"'>]*+)*+)(?:>|\Z)"
    r"|<!--(?P<comment>.*?)(?:-->|\Z)|<\?(?P<instruction>.*?)(?:\?>|\Z)|<!\[CDATA\[(?P<data>.*?)(?:\]\]>|\Z)"
    r"|(?P<text>(?:[^<]++|<))",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_ATTRIBUTE = re.compile(
    r"(?<![^\s/\"'])(?P<name>[^\s=/\"'<>]++)\s*+=\s*+"
    r"(?:\"(?P<double>[^\"]*+)|'(?P<single>[^']*+)|(?P<bare>[^\s\"'>]++))",
    re.ASCII,
)
_ESCAPE = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
_NAMING, _NAMING_VALUE = frozenset({"name", "key"}), frozenset({"id", "n", "field", "property"})
"""Attributes that name the content of their element and its value, and its value only."""
_VALUED = frozenset({"value", "content", "v"})
_LABELS = frozenset({"name", "key", "field", "th", "td", "dt", "label", "parameterkey"})
_LABELLED = frozenset({"value", "val", "string", "td", "dd", "span", "code", "parametervalue"})
"""An element whose text is a name, and the one after it with the value."""
_LABEL = re.compile(rf"(?:{WORDS})[^:=]{{0,40}}[:=]\Z", re.IGNORECASE | re.ASCII)
_LABEL_MAX = 200
_VOID = frozenset({"input", "meta", "link", "img", "br", "hr"})
"""Elements of HTML that have no content and no end."""


def xml_secrets(text: str, find: Find) -> Iterator[Secret]:
    """The content of secret elements, the values of secret attributes, and what `find` finds in other texts."""
    tokens = _TOKEN.finditer(text)
    element = ""
    is_label = is_named = False
    for token in tokens:
        kind = token.lastgroup or ""
        if kind == "text":
            if token["text"].isspace():
                continue
            if is_label:
                yield Secret(token.start(), token.end())
            else:
                yield from _found(token["text"], token.start(), find)
            is_label = _is_label(token["text"][-_LABEL_MAX:].rstrip())
            is_named = element in _LABELS and len(token["text"]) < _LABEL_MAX and is_secret(token["text"])
        elif kind != "attributes":  # a comment and the like, in which nothing is escaped
            begin = token.start(kind)
            yield from (Secret(begin + one.begin, begin + one.end, one.text) for one in find(token[kind]))
        elif not token["close"]:
            element = token["name"].rpartition(":")[2].lower()
            is_element = is_secret(element)
            named = yield from _attributes(token["attributes"], token.start("attributes"), find, is_element)
            named = named or (is_named and element in _LABELLED)
            is_named = False
            if (named or is_element) and not _is_empty(token):
                end = _end_of(token["name"], tokens, len(text))
                if text[token.end() : end].strip():
                    yield Secret(token.end(), end)


def _is_label(text: str) -> bool:
    """Whether a text such as `Your password:` says that the next one is a secret."""
    return text.endswith((":", "=")) and _LABEL.search(text) is not None


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


def _attributes(text: str, at: int, find: Find, is_element: bool) -> Generator[Secret, None, bool]:
    """Of an element that is a secret by its name or not. Returns whether one of them, such as `name="password"`, says
    that it is."""
    if "=" not in text:
        yield from _found(text, at, find)
        return False
    found = [(one["name"].lower(), *_value(one)) for one in _ATTRIBUTE.finditer(text)]
    is_named = any(name in _NAMING and is_secret(value) for name, _, value in found)
    is_value_named = (
        is_element
        or is_named
        or any(
            (name in _NAMING_VALUE and is_secret(value)) or (name == "type" and value.lower() == "password")
            for name, _, value in found
        )
    )
    reached = 0
    for name, begin, value in found:
        yield from _found(text[reached:begin], at + reached, find)
        reached = begin + len(value)
        if value and (is_secret(name) or (is_value_named and name in _VALUED)):
            yield Secret(at + begin, at + begin + len(value), escape(without_secret(value)))
        else:
            yield from _found(value, at + begin, find)
    yield from _found(text[reached:], at + reached, find)
    return is_named


def _value(attribute: re.Match[str]) -> tuple[int, str]:
    """Where the value begins, and the value."""
    group = attribute.lastgroup or ""
    return attribute.start(group), attribute[group]


def _found(sent: str, begin: int, find: Find) -> Iterator[Secret]:
    if is_plain(sent):
        return
    plain = Decoded(sent, begin, _ESCAPE, lambda one: unescape(one)[:1] or "?")
    yield from as_sent(find(plain.text), plain, escape)
