"""Which elements of an XML text are open at an offset. Regular expressions remove elements that begin and end within a
piece, innermost first; only the rest is read tag by tag."""

from __future__ import annotations

import re

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
    """`feed` it bytes in an ASCII-compatible charset; `stack` names the elements open after the first
    `offset` of them, the outermost first. `broken` once the text is not well-formed: nothing is known then."""

    def __init__(self, offset: int = 0, stack: tuple[bytes, ...] = ()) -> None:
        self.offset, self.stack = offset, stack
        self.waiting = b""
        self.broken = False

    def feed(self, data: bytes) -> None:
        """An incomplete tag or comment is held back until more follows."""
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
