"""Secrets in a body, which its type and its first characters tell how to read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from html import escape, unescape
from typing import NamedTuple

from app.core.bodies.charset import CONTROL
from app.core.bodies.formats.multipart import HEAD_MAX, boundary_of, decode, part_of
from app.core.bodies.media_types import FORM, is_json, is_xml, media_type, text_language
from app.core.redaction.in_json import json_secrets
from app.core.redaction.in_text import PACKED, form_secrets, holds_secrets, is_plain, text_secrets
from app.core.redaction.secret import (
    HOLE,
    REDACTED,
    WORDS,
    Decoded,
    Find,
    Secret,
    as_sent,
    binary_may_name_secret,
    is_secret,
    is_secret_file,
    may_name_secret,
    without_secret,
)

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


DEPTH_MAX = 4
"""JSON in a text of JSON, in a field of a form and so on is read this deep; what is deeper and names a secret is
hidden."""
_JSON = re.compile(
    r"\s*+(?:\xef\xbb\xbf)?(?://[^\n]*\n\s*+)?"
    r"(?:\{\s*+(?:[\"'{}]|[\w$-]++\s*+[:=]|\Z)|\[\s*+(?:[\"'\[{]|-?[\d.eE+-]++\s*+(?:,|\Z)|(?:[\w.-]++\s*+)?\]\s*+\Z|\Z))"
)
"""`[section]` and `[1]` begin other texts, too."""
_XML = re.compile(r"\s*+(?:\xef\xbb\xbf)?<[a-z_?!]", re.IGNORECASE)
_FORM = re.compile(r"\s*[^\s=]*=")
_ENCODED_FORM = re.compile(r"[\w.+%~\[\]-]++=(?![=\s]|\Z)[^\s&]*+(?:&[^\s&]*+)*+\s*+\Z", re.ASCII)
_MULTIPART = re.compile(r"\s*+--[^\r\n]{1,70}\r?\nContent-", re.IGNORECASE)
_MAIL = re.compile(
    r"\s*+(?=[\w-]{1,40}+:[ ])(?:[^\r\n]++\r?\n){0,60}?content-transfer-encoding:", re.IGNORECASE | re.ASCII
)
_BLOCK = re.compile(
    r"^[ \t]*+(?:- )?(?:name:[ \t]*+[\"']?(?P<named>[\w.-]{1,100}+)[\"']?\r?\n[ \t]*+value:"
    r"|[\"']?(?P<name>[\w.-]{1,100}+)[\"']?[ \t]*+:[ \t]*+(?:[|>&!#][^\n]*+)?\r?\n)",
    re.MULTILINE,
)
"""A name in YAML whose value is on the lines below it."""
_SEPARATOR = re.compile(r"[,;\t|]")
_TABLE = re.compile(r"\s*+[\w\"'-]++(?: [\w\"'-]++)?(?:[,;\t|][\w\"'-]++(?: [\w\"'-]++)?)++\r?\n[^\n,;\t|]++[,;\t|]")
"""Names with separators in the first line, and a separator in the second one."""
_ROW = re.compile(
    r"^[\"']?(?P<name>[\w-]{1,40}+(?:[ ][\w-]{1,40}+)?)[\"']?[,;|][^,;|\r\n]++(?=\r?\n|\Z)", re.MULTILINE | re.ASCII
)
_WIDE = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of text in two or four bytes for each character."""
_MEDIA = ("image/", "audio/", "video/", "font/", "application/pdf")

AFTER_BYTES = 4096
"""How much is read behind a part that is shown, for secrets that show by what follows them."""
UNREADABLE = "The body is not shown: it may hold secrets, in a format that they cannot be redacted in."
UNENDED = "The body is broken or cut off after the name of a secret: all that follows it is redacted."


class Redacted(NamedTuple):
    """What is shown of a body. `note` says what could not be decided."""

    data: bytes
    note: str | None = None


class Searchable(NamedTuple):
    """A body in which a search finds nothing of a secret: `words` has a hole in the place of each, `json` an empty
    object in the place of a value, so that it stays JSON and no comparison holds."""

    words: bytes
    json: bytes


def searchable_body(body: bytes, content_type: str, end: int | None = None) -> Searchable:
    """The bytes before `end`; as in `redacted_body`, nothing of a body that cannot be read."""
    if _is_unreadable(body, content_type):
        return Searchable(b"", b"")
    secrets = sorted(_secrets(body.decode("latin-1"), content_type))
    end = len(body) if end is None else end
    words = _without(body, secrets, 0, end, lambda _: HOLE)
    return Searchable(words, _without(body, secrets, 0, end, _in_its_place) if secrets else words)


def _in_its_place(secret: Secret) -> str:
    return "{}" if secret.text.startswith('"') else secret.text.replace(REDACTED, HOLE)


def redacted_body(body: bytes, content_type: str, start: int = 0, end: int | None = None) -> Redacted:
    """The bytes from `start` to before `end` without secrets. `body` is all of a body, or its beginning.

    The rest of a secret that begins before `start` is left out. Nothing is shown of a body that names secrets and
    cannot be read.
    """
    if _is_unreadable(body, content_type):
        return Redacted(b"", UNREADABLE)
    text = body.decode("latin-1")  # a character for each byte
    end = len(body) if end is None else end
    secrets = sorted(_secrets(text, content_type))
    unended = secrets and secrets[-1].end == len(text) and _format(media_type(content_type), text) in ("json", "xml")
    shown = _without(body, secrets, start, end, lambda secret: secret.text)
    return Redacted(shown, UNENDED if unended and end == len(body) else None)


def _without(body: bytes, secrets: Iterable[Secret], start: int, end: int, mark: Callable[[Secret], str]) -> bytes:
    """The bytes from `start` to before `end`, with a mark in the place of each secret that begins there."""
    pieces, reached = [], start
    for secret in secrets:
        if secret.end <= reached or secret.begin >= end:
            continue
        if secret.begin >= start:
            pieces += [body[reached : secret.begin], mark(secret).encode("latin-1", "replace")]
        reached = secret.end
    return b"".join((*pieces, body[reached:end]))


def _secrets(text: str, content_type: str, depth: int = 0) -> Iterable[Secret]:
    """In a body, a part of it, or a value in one."""
    if depth and is_plain(text):
        return ()
    if depth >= DEPTH_MAX:
        hidden = _format("", text) != "text" and may_name_secret(text)
        return [Secret(0, len(text))] if hidden else text_secrets(text)
    find = partial(_secrets, content_type="", depth=depth + 1)
    match _format(media_type(content_type), text):
        case "multipart":
            return multipart_secrets(text, content_type, partial(_in_part, depth=depth + 1))
        case "mail":
            return part_secrets(text, 0, len(text), partial(_in_part, depth=depth + 1))
        case "json":
            return json_secrets(text, find)
        case "xml":
            return xml_secrets(text, find)
        case "form":
            return form_secrets(text, find)
        case _:
            hidden = (depth and _is_unreadable_text(text)) or holds_secrets(text, find)
            return [Secret(0, len(text))] if hidden else text_secrets(text)


def _in_part(text: str, content_type: str, depth: int) -> Iterable[Secret]:
    """In a part of a multipart body."""
    unreadable = _is_unreadable(text.encode("latin-1"), content_type)
    return [Secret(0, len(text))] if unreadable else _secrets(text, content_type, depth)


def _format(kind: str, text: str) -> str:
    """What the text is, and else what it looks like: curl sends any body as a form."""
    if kind.startswith("multipart/") or _MULTIPART.match(text):
        return "multipart"
    if kind.startswith("message/") or _MAIL.match(text):
        return "mail"
    if _JSON.match(text) or ((is_json(kind) or text_language(kind) == "ndjson") and not _ENCODED_FORM.match(text)):
        return "json"
    if is_xml(kind) or _XML.match(text):
        return "xml"
    form = _FORM if kind == FORM else _ENCODED_FORM
    return "form" if form.match(text) else "text"


def _is_unreadable(body: bytes, content_type: str) -> bool:
    """Whether the body may hold secrets that no name shows."""
    kind = media_type(content_type)
    if body.startswith(PACKED):
        return True
    if b"\0" in body[:4] or body.startswith(_WIDE):
        return not kind.startswith(_MEDIA) and may_name_secret(body.replace(b"\0", b"").decode("latin-1"))
    text = body.decode("latin-1")
    if _format(kind, text) != "text":
        return False
    if text_language(kind) in ("csv", "tsv"):
        return _names_secret_column(text)
    return _is_unreadable_text(text) or (_is_binary(body, kind) and binary_may_name_secret(body))


def _is_unreadable_text(text: str) -> bool:
    """Whether it is a table or YAML that names a secret elsewhere than beside it."""
    if _TABLE.match(text) and _names_secret_column(text):
        return True
    return any(is_secret(block[block.lastgroup or 0]) for block in _BLOCK.finditer(text))


def _names_secret_column(text: str) -> bool:
    """Whether the first line of a table has the name of a secret, or the first cell of a line with two cells. What
    follows a tab is redacted alone."""
    first = text.removeprefix("\xef\xbb\xbf").lstrip().partition("\n")[0]
    cells = (*_SEPARATOR.split(first), *(row["name"] for row in _ROW.finditer(text)))
    return any(is_secret(cell.strip("\"' \r")) for cell in cells)


def _is_binary(body: bytes, kind: str) -> bool:
    if kind.startswith(_MEDIA):
        return False
    if CONTROL.search(body):
        return True
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body)  # it may be cut off within a character
    except UnicodeDecodeError:
        return not kind.startswith("text/")
    return False


FindTyped = Callable[[str, str], Iterable[Secret]]
"""Finds the secrets in a content of a type."""
_HEAD_END = re.compile(r"\r?\n\r?\n")


def multipart_secrets(text: str, content_type: str, find: FindTyped) -> Iterator[Secret]:
    """The contents of secret parts, and what `find` finds in others. Bytes are Latin-1 characters."""
    boundary, _ = boundary_of(content_type, text)
    delimiter = re.compile(rf"(?:\A|\r?\n)--{re.escape(boundary)}(?:--)?[ \t]*(?=\r?\n|\Z)")
    begin = 0
    for found in delimiter.finditer(text):
        yield from part_secrets(text, begin, found.start(), find)
        begin = found.end()
    yield from part_secrets(text, begin, len(text), find)


def part_secrets(text: str, begin: int, end: int, find: FindTyped) -> Iterator[Secret]:
    """From the end of one boundary to the next one; also what is before the first and after the last, or a mail."""
    head = _HEAD_END.search(text, begin, min(end, begin + HEAD_MAX))
    if head is None:
        yield from _moved(text_secrets(text[begin:end]), begin)
        return
    yield from _moved(text_secrets(text[begin : head.start()]), begin)
    at = head.end()
    part = part_of(text[begin : head.start()].lstrip("\r\n"))
    if at < end and (is_secret(part.name or "") or is_secret_file(part.file_name or "")):
        yield Secret(at, end)
    elif part.encoding in ("base64", "quoted-printable"):
        plain, _ = decode(part.encoding, text[at:end].encode("latin-1"), complete=False)
        if next(iter(find(plain.decode("latin-1"), part.content_type)), None):
            yield Secret(at, end)
    else:
        yield from _moved(find(text[at:end], part.content_type), at)


def _moved(found: Iterable[Secret], by: int) -> Iterator[Secret]:
    for secret in found:
        yield Secret(secret.begin + by, secret.end + by, secret.text)
