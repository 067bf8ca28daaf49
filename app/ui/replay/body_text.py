"""Tells whether a body can be edited as text, so that what was not edited stays byte for byte as it was."""

from __future__ import annotations

from typing import NamedTuple

from app.core.bodies.charset import declared_codec

EDITABLE_MAX = 1024 * 1024
"""Bytes."""
_UNSAFE = ("\0", "\u2028", "\u2029", "\ufdd0", "\ufdd1")
"""Characters that Qt's text editors drop or replace."""


class EditableText(NamedTuple):
    """`text` has line feeds only; `encode` puts `newline` back."""

    text: str
    charset: str
    newline: str

    def encode(self, text: str) -> bytes:
        """Raises UnicodeEncodeError."""
        return text.replace("\n", self.newline).encode(self.charset)


def editable_text(body: bytes, content_type: str) -> EditableText | str:
    """The text, or why it cannot be edited as text."""
    if len(body) > EDITABLE_MAX:
        return "This body is too large to edit as text."
    for charset in dict.fromkeys(("utf-8", declared_codec(content_type) or "utf-8")):
        try:
            text = body.decode(charset)
        except UnicodeDecodeError:
            continue
        if text.encode(charset) == body and not any(character in text for character in _UNSAFE):
            return _with_line_feeds(text, charset)
    return "This body is not text."


def _with_line_feeds(text: str, charset: str) -> EditableText | str:
    if "\r" not in text:
        return EditableText(text, charset, "\n")
    plain = text.replace("\r\n", "\n")
    if "\r" in plain or plain.replace("\n", "\r\n") != text:
        return "This body mixes kinds of line breaks, which an editor would change."
    return EditableText(plain, charset, "\r\n")
