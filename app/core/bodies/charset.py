"""Detects the charset of a text: byte order mark, declaration, UTF-8, or else Latin-1 with a note."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from app.core.bodies.media_types import parameter

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Python's codecs that are not charsets: they interpret the text, or turn bytes into other bytes.
_NO_CHARSET = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem", "utf-7"}

CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
"""Found in binary data, and in few texts whose characters have single bytes."""
_LOW_FIRST = re.compile(rb'[<{\["]\x00[^\x00]\x00')
_HIGH_FIRST = re.compile(rb'\x00[<{\["]\x00[^\x00]')
_IN_XML = re.compile(rb"<\?xml[^>]*?\sencoding\s*=\s*[\"']([A-Za-z][\w.-]*)[\"']")
_IN_HTML = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?([A-Za-z][\w.-]*)", re.IGNORECASE)


class Charset(NamedTuple):
    """A charset that Python knows; the first `skip` bytes are its byte order mark. `note` explains a guess.

    `label` is its name for people, `source` how it was determined: "declared", "detected" and so on.
    """

    name: str
    skip: int = 0
    note: str | None = None
    label: str = ""
    source: str = ""

    def decoder(self) -> codecs.IncrementalDecoder:
        """Replaces invalid bytes by U+FFFD."""
        return codecs.getincrementaldecoder(self.name)("replace")

    def decode(self, data: bytes, complete: bool = True) -> str:
        """The text that begins with `data`, without its byte order mark; unless `complete`, `data` can end within a
        character, which is left out then."""
        return self.decoder().decode(data[self.skip :], complete)


BYTES = Charset("latin-1")
"""For formats that are not text."""


def declared_charset(content_type: str) -> str | None:
    """The value of `charset`, as written."""
    value = parameter(content_type, "charset")
    return value.strip() if isinstance(value, str) and value.strip() else None


def declared_codec(content_type: str) -> str | None:
    """Python's name of the declared charset, if it is one that Python knows."""
    declared = declared_charset(content_type)
    return _python_name(declared) if declared else None


def charset_in_text(head: bytes) -> str | None:
    """The charset named in an XML declaration or HTML <meta>; UTF-16 if JSON or markup begins with its zeros."""
    if _LOW_FIRST.match(head):
        return "utf-16-le"
    if _HIGH_FIRST.match(head):
        return "utf-16-be"
    match = _IN_XML.match(head) or _IN_HTML.search(head[:1_024])
    return match.group(1).decode("ascii") if match else None


def detect(content_type: str, head: bytes, complete: bool) -> Charset:
    """The charset of a text that begins with `head`; unless `complete`, it can end within a character."""
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return Charset(name, len(mark), label=_display_name(name), source="from its byte order mark")
    declared, written = declared_charset(content_type), charset_in_text(head)
    for name in filter(None, (declared, written, "UTF-8")):
        known = _python_name(name)
        if known and not _is_ascii_after_all(head, known) and decodes(head, known, complete):
            is_other = declared and name != declared
            note = f"Declared as {declared}, which is wrong; read as {name}." if is_other else None
            source = "declared" if name == declared else "named in the text" if name == written else "detected"
            return Charset(known, note=note, label=_display_name(name), source=source)
    wrong = f"Not {declared}, as declared, and not UTF-8" if declared else "Not UTF-8"
    return Charset("latin-1", note=f"{wrong}; read as Latin-1.", label="Latin-1", source="guessed")


def in_single_bytes(charset: Charset, head: bytes) -> bytes:
    """`head` in UTF-8 if the charset uses two or four bytes for each character: its zeros would look binary."""
    if not charset.name.startswith(("utf-16", "utf-32")):
        return head
    text = charset.decode(head, complete=False)
    return head if "\ufffd" in text else text.removeprefix("\ufeff").encode()


def _display_name(name: str) -> str:
    return name[:40].upper() if name.lower().startswith(("utf", "iso")) else name[:40]


def _is_ascii_after_all(head: bytes, name: str) -> bool:
    """Whether text declared as UTF-16 or UTF-32 begins like single-byte JSON or markup (any bytes are valid UTF-16)."""
    return name.startswith(("utf-16", "utf-32")) and head[:1] in (b"<", b"{", b"[", b'"') and b"\0" not in head[:4]


def _python_name(name: str) -> str | None:
    try:
        found = codecs.lookup(name).name
        is_text = found not in _NO_CHARSET and isinstance(codecs.getincrementaldecoder(found)().decode(b""), str)
    except (LookupError, ValueError, TypeError, AttributeError):
        return None
    return found if is_text else None


def decodes(head: bytes, name: str, complete: bool) -> bool:
    """Whether `head` is text in this charset; unless `complete`, it can end within a character."""
    try:
        codecs.getincrementaldecoder(name)("strict").decode(head, complete)
    except UnicodeError:
        return False
    return True
