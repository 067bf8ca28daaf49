"""Decodes the text of a body for searching, in addition to the text as sent, if they differ.

Decoding never makes a text longer, so the decoded text is at most a small multiple of the body.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.core.bodies.formats.form import NAMED
from app.core.bodies.media_types import media_type
from app.core.search.readable.mail_parts import MailParts
from app.core.search.readable.notations import (
    ENCODED_WORDS,
    JSON_ESCAPES,
    PARAMETERS,
    UTF8_AS_LATIN1,
    Notation,
    form_notation,
)

JSON_LEVELS = 3
"""Levels of JSON within JSON strings; deeper ones are not decoded."""
MAIL_LEVELS = 3
"""Levels of mails within mails."""
READ_MAX = 128 * 1024 * 1024
"""Maximum characters of a body that are decoded; beyond them only the text as sent is searched."""


class IncrementalDecoder:
    """Decodes a text that arrives in pieces, and returns the texts to search, beginning with the first that differs.

    Each begins with the `overlap` characters before it. With `only_changed`, the whole text must be fed at once.
    """

    def __init__(self, notation: Notation, overlap: int, only_changed: bool = False) -> None:
        self._notation, self._only_changed = notation, only_changed
        self._pending, self._overlap = "", Overlap(overlap)
        self.differs = False

    def feed(self, text: str, final: bool) -> tuple[str, list[str]]:
        """The text decoded so far, and the texts to search."""
        text = self._pending + text
        stop = len(text) if final else self._notation.unfinished(text)
        self._pending = text[stop:]
        decoded = self._notation.read(text[:stop])
        self.differs = self.differs or decoded != text[:stop]
        output = self._overlap.extend(decoded)
        if not self.differs:
            return decoded, []
        return decoded, self._notation.changed(text) if self._only_changed else [output]


class Overlap:
    """Prepends the last `length` characters of a text to its next piece."""

    def __init__(self, length: int) -> None:
        self._length, self._last = length, ""

    def extend(self, text: str) -> str:
        """The piece with the characters before it."""
        if not self._length:
            return text
        output = self._last + text
        self._last = output[-self._length :]
        return output


class ReadableText:
    """Turns the text of a body, as it arrives, into texts to search one by one.

    With `overlap`, each begins with that many characters before it, so that words of this length are found. Without it,
    the whole body is fed at once; `only_changed` then leaves out text that is not changed by decoding, except a few
    characters around the rest. `codec` is the charset of the text.
    """

    def __init__(
        self, content_type: str, codec: str = "utf-8", *, overlap: int = 0, only_changed: bool = False, depth: int = 0
    ) -> None:
        self._content_type, self._codec, self._depth = content_type, codec, depth
        self._overlap, self._only_changed = overlap, only_changed
        self._body_decoder: IncrementalDecoder | None = None
        self._started, self._remaining = False, READ_MAX
        self._json_levels = [IncrementalDecoder(JSON_ESCAPES, overlap) for _ in range(JSON_LEVELS if overlap else 1)]
        self._values: dict[tuple[int, Notation], IncrementalDecoder] = {}
        self._mails: dict[int, _Mail] = {}

    def feed(self, text: str, final: bool) -> Iterator[str]:
        """The texts found so far. Consume them all before feeding more."""
        self._remaining -= len(text)
        if self._remaining < 0:
            return
        if text and not self._started:
            self._start(text)
        if self._body_decoder is not None:
            text, output = self._body_decoder.feed(text, final)
            yield from output
        yield from self._nested_texts(0, text, final)
        for level, decoder in enumerate(self._json_levels, 1):
            if self._only_changed:
                output = JSON_ESCAPES.changed(text)
                yield from output
                if not _may_decode_further(text, output):
                    return
            text, output = decoder.feed(text, final)
            yield from () if self._only_changed else output
            if decoder.differs:
                yield from self._nested_texts(level, text, final)
                if level == len(self._json_levels) < JSON_LEVELS:
                    self._json_levels.append(IncrementalDecoder(JSON_ESCAPES, 0))  # the next iteration

    def _start(self, text: str) -> None:
        self._started = True
        notation = _notation(self._content_type, text, self._codec, guess=not self._depth)
        if notation is not None:
            self._body_decoder = self._decoder(notation)

    def _nested_texts(self, level: int, text: str, final: bool) -> Iterator[str]:
        """The encoded texts within the text of a JSON level."""
        for notation in (ENCODED_WORDS, PARAMETERS):
            key = level, notation
            if key not in self._values and (self._overlap or notation.may_occur(text)):
                self._values[key] = self._decoder(notation)
            if key in self._values:
                yield from self._values[key].feed(text, final)[1]
        if level not in self._mails and (self._overlap or MailParts.may_occur(text)) and self._depth < MAIL_LEVELS:
            self._mails[level] = _Mail(self._content_type, self._codec, self._overlap, self._only_changed, self._depth)
        if level in self._mails:
            yield from self._mails[level].feed(text, final)

    def _decoder(self, notation: Notation) -> IncrementalDecoder:
        return IncrementalDecoder(notation, self._overlap, self._only_changed)


class _Mail:
    """The texts of the parts of a mail, and the texts encoded in those."""

    def __init__(self, content_type: str, codec: str, overlap: int, only_changed: bool, depth: int) -> None:
        self._parts = MailParts(content_type, codec)
        self._overlap, self._only_changed, self._depth = overlap, only_changed, depth + 1
        self._pieces: list[str] = []
        self._overlap_before = Overlap(overlap)
        self._inner: ReadableText | None = None

    def feed(self, text: str, final: bool) -> Iterator[str]:
        for kind, content in self._parts.feed(text, final):
            if kind == "begin":
                self._overlap_before = Overlap(self._overlap)
                self._inner = ReadableText(
                    content, overlap=self._overlap, only_changed=self._only_changed, depth=self._depth
                )
            elif self._inner is None:
                continue
            elif kind == "end":
                complete_text, self._pieces = "".join(self._pieces), []
                if complete_text:
                    yield complete_text
                yield from self._inner.feed(complete_text, True)
            elif self._overlap:
                yield self._overlap_before.extend(content)
                yield from self._inner.feed(content, False)
            else:
                self._pieces.append(content)


def readable_texts(content_type: str, text: str, codec: str, *, only_changed: bool = False) -> list[str]:
    """The texts of a complete body, to be searched one by one."""
    if (
        not JSON_ESCAPES.may_occur(text)
        and not _may_contain_encoded(text)
        and _notation(content_type, text, codec) is None
    ):
        return []
    return list(ReadableText(content_type, codec, only_changed=only_changed).feed(text, True))


def _may_decode_further(text: str, changed: list[str]) -> bool:
    """Whether a decoded text can contain more encoded text; `changed` is what decoding changed."""
    if any(map(JSON_ESCAPES.may_occur, changed)):
        return True
    return bool(changed) and any(map(_may_contain_encoded, (text, *changed)))


def _may_contain_encoded(text: str) -> bool:
    """Whether the text can contain encoded text other than JSON's escapes."""
    return ENCODED_WORDS.may_occur(text) or PARAMETERS.may_occur(text) or MailParts.may_occur(text)


def _notation(content_type: str, text: str, codec: str, *, guess: bool = True) -> Notation | None:
    """The notation of a body that begins with `text`: by its type, or with `guess` also by its content."""
    kind = media_type(content_type)
    if kind.startswith("multipart/"):
        return UTF8_AS_LATIN1 if codec == "latin-1" else None
    return form_notation(content_type, kind, text) if guess or kind == NAMED else None
