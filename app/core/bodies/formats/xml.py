"""XML, well-formed or not: entities are shown as they were written and nothing is looked up."""

from __future__ import annotations

import re

from app.core.bodies.formats import html
from app.core.bodies.formats.markup import Dialect, MarkupFormatter
from app.core.bodies.media_types import is_xml

_XML = Dialect(strict=True, folds_case=False, instruction_end="?>")
_ELEMENT = re.compile(rb"<[A-Za-z_][\w:.-]*(?:\s[^<>]*)?/?>")


def formatter() -> MarkupFormatter:
    return MarkupFormatter(_XML)


def fit(media_type: str, head: bytes) -> float:
    """Certain if type and first character agree; likely if any text begins with a tag."""
    # Removing zeros makes UTF-16 readable here; the charset is detected elsewhere.
    start = head.replace(b"\0", b"").lstrip(b" \t\r\n\xef\xbb\xbf\xff\xfe")
    if is_xml(media_type):
        return 1.0 if start.startswith(b"<") else 0.45
    if html.begins(start):
        return 0.0
    if start.startswith(b"<?xml"):
        return 0.95
    closed = b"</" in start or b"/>" in start
    return 0.8 if _ELEMENT.match(start) and closed else 0.0


_SPAN = re.compile(
    rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?(?:>|\Z)", re.DOTALL
)
_ENDS = (b"-->", b"]]>", b"?>", b">")
_EMPTY = re.compile(rb"<[^\s/<>!?]+(?:\s[^<>\"']*(?:(?:\"[^\"<>]*\"|'[^'<>]*')[^<>\"']*)*)?/>")
_LEAF = re.compile(rb"<([^\s/<>!?]+)(?:\s[^<>]*)?>[^<]*</\1\s*>")
_TAG = re.compile(rb"<(/?)([^\s/<>!?]+)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?(/?)>")
PASSES = 16
WAITING_MAX = 1024 * 1024
"""Maximum bytes of a comment or similar; longer ones are not skipped."""


class XmlSkip:
    """The elements open after `offset` bytes of an ASCII-compatible charset: `stack`, the outermost first.

    Regular expressions remove elements that begin and end within a piece, innermost first; only the rest is read tag by
    tag. Once the text is not well-formed, it is `broken` and nothing is known.
    """

    def __init__(self, offset: int = 0, stack: tuple[bytes, ...] = ()) -> None:
        self.offset, self.stack = offset, stack
        self.waiting = b""
        self.broken = False

    def feed(self, data: bytes) -> None:
        """Holds back an incomplete tag or comment."""
        data = self.waiting + data
        kept, at, end = [], 0, len(data)
        for span in _SPAN.finditer(data):
            if span.end() == len(data) and not span.group().endswith(_ENDS):
                end = span.start()
                break
            kept.append(data[at : span.start()])
            at = span.end()
        kept.append(data[at:end])
        begun = kept[-1].rfind(b"<")
        if begun >= 0 and b">" not in kept[-1][begun:]:
            end -= len(kept[-1]) - begun
            kept[-1] = kept[-1][:begun]
        self.waiting = data[end:]
        self.offset += end
        self.broken = self.broken or len(self.waiting) > WAITING_MAX
        self._take(b"".join(kept))

    def _take(self, text: bytes) -> None:
        text = _EMPTY.sub(b"", text)
        for _ in range(PASSES):
            fewer = _LEAF.sub(b"", text)
            if len(fewer) == len(text):
                break
            text = fewer
        stack = list(self.stack)
        for closing, name, empty in _TAG.findall(text):
            if not closing:
                stack += [] if empty else [name]
            elif stack and stack[-1] == name:
                stack.pop()
            else:
                self.broken = True
                break
        self.stack = tuple(stack)
