"""Finds words also where senders encoded them, as a search of the stored requests does: in the text of a view, which
marks them, and in a body of any size, piece by piece."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from app.core.bodies.media_types import FORM, media_type

Encoding = Literal["json", "percent", "form", "mail"]
"""JSON escapes, percent-encoding, the same with plus signs for spaces, quoted-printable."""

_SHORT = {
    '"': '\\"',
    "/": "\\/",
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_SIGNS = {"json": "\\", "percent": "%", "form": "%+", "mail": "="}


def encodings_of(content_type: str, views: Iterable[str] = ()) -> tuple[Encoding, ...]:
    """The possible encodings in a body of this type in these views; JSON can be anywhere."""
    kind, names = media_type(content_type), frozenset(views)
    if kind == FORM or "form" in names:
        return ("json", "form")
    return ("json", "mail") if kind.startswith(("multipart/", "message/")) or "multipart" in names else ("json",)


def _spellings(character: str, encodings: Iterable[Encoding]) -> list[str]:
    """The character itself first, then encoded, in either letter case."""
    cases = [case for case in (character, character.lower(), character.upper()) if len(case) == 1]
    found = (spelling for case in cases for name in encodings for spelling in _escapes_of(case, name))
    return list(dict.fromkeys([*cases, *found]))


def _escapes_of(character: str, encoding: Encoding) -> Iterator[str]:
    if encoding == "json":
        units = character.encode("utf-16-be", "surrogatepass").hex("\\", 2)
        yield from _of_hex(units, "\\", "u")
        if character in _SHORT:
            yield _SHORT[character]
        return
    sign = "=" if encoding == "mail" else "%"
    for charset in ("utf-8", "latin-1"):
        try:
            yield from _of_hex(character.encode(charset).hex(sign), sign, "")
        except UnicodeEncodeError:
            continue
    if encoding == "form" and character == " ":
        yield "+"


def _of_hex(digits: str, sign: str, mark: str) -> Iterator[str]:
    """With the prefix before each group of hexadecimal digits, in either case."""
    for case in (digits, digits.upper()):
        yield sign + mark + case.replace(sign, sign + mark)


def pattern_of(words: Iterable[str], encodings: Iterable[Encoding] = ()) -> re.Pattern[str] | None:
    """A pattern for any of the words, ignoring case, the longer ones first; None without words."""
    names = tuple(encodings)
    longest_first = sorted({word for word in words if word}, key=len, reverse=True)
    return (
        re.compile("|".join(_pattern(word, names) for word in longest_first), re.IGNORECASE) if longest_first else None
    )


def _pattern(word: str, encodings: tuple[Encoding, ...]) -> str:
    """Lines of quoted-printable can end in the middle of a word."""
    if not encodings:
        return re.escape(word)
    return ("(?:=\n)?" if "mail" in encodings else "").join(_any_spelling(character, encodings) for character in word)


def _any_spelling(character: str, encodings: tuple[Encoding, ...]) -> str:
    """JSON in JSON strings doubles backslashes at each level."""
    cases = (spelling.lower() if spelling.isascii() else spelling for spelling in _spellings(character, encodings))
    found = {re.escape(spelling).replace(r"\\", r"\\+") for spelling in cases}
    return f"(?:{'|'.join(sorted(found, key=len, reverse=True))})"


def may_be_encoded(text: str, encodings: Iterable[Encoding]) -> bool:
    """Whether one of the encodings can occur in `text`: searching for all spellings is slower."""
    return any(sign in text for name in encodings for sign in _SIGNS[name])


BASE64_MAX = 256 * 1024
"""Maximum characters of base64 that are decoded."""
_BASE64_HINT = "ransfer-"
_BASE64_PART = re.compile(
    r"^content-transfer-encoding[ \t]*:[ \t]*\"?base64\b[^\n]{0,200}\n(?:[^\n]{1,2000}\n){0,50}?\n([A-Za-z0-9+/=\n]+)",
    re.IGNORECASE | re.MULTILINE,
)


def base64_matches(text: str, words: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Start and end of the base64 characters that encode a match of `words`."""
    remaining = BASE64_MAX if _BASE64_HINT in text.lower() else 0
    for part in _BASE64_PART.finditer(text) if remaining else ():
        begin, stop = part.span(1)
        remaining -= stop - begin
        if remaining < 0:
            return
        digits = [at for at in range(begin, stop) if text[at] != "\n"]
        plain, codec = _decode_base64("".join(text[at] for at in digits))
        for match in words.finditer(plain):
            first = len(plain[: match.start()].encode(codec)) * 4 // 3
            last = -(-len(plain[: match.end()].encode(codec)) * 4 // 3)
            if first < last:
                yield digits[first], digits[min(last, len(digits)) - 1] + 1


def _decode_base64(digits: str) -> tuple[str, str]:
    """UTF-8, or else Latin-1."""
    try:
        data = binascii.a2b_base64(digits[: len(digits) // 4 * 4])
    except binascii.Error:
        return "", "utf-8"
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


SPACES_MAX = 64
"""White space that one space of the text matches in formatted JSON, as far as it can cross pieces."""
_BESIDE = frozenset(':,{}[]"')


class BodySearch:
    """Finds `text` in pieces given to `search` in order, ignoring case and in all `encodings`. The first
    piece begins at the byte `begin`.

    With `indented`, a space beside punctuation matches any amount of white space.
    """

    def __init__(
        self, charset: str, text: str, begin: int = 0, encodings: Sequence[Encoding] = (), *, indented: bool = False
    ) -> None:
        self._offset = begin
        self._overlap = b""
        self._unit = 4 if charset.startswith("utf-32") else 2 if charset.startswith("utf-16") else 1
        parts, self._longest = [], 0
        # A character that the charset lacks cannot occur.
        self.possible = bool(text)
        for number, character in enumerate(text):
            if indented and character == " " and _BESIDE & {*text[max(0, number - 1) : number + 2]}:
                parts.append(rb"[ \t\r\n\x00]*")
                self._longest += SPACES_MAX
                continue
            encoded = _encoded_spellings(character, charset, encodings)
            self.possible = self.possible and bool(encoded)
            parts.append(b"(?:%s)" % b"|".join(map(re.escape, encoded)))
            self._longest += max(map(len, encoded), default=0)
        self._pattern = re.compile(b"".join(parts) if self.possible else b"(?!)")

    def search(self, piece: bytes) -> list[int]:
        """The offsets in the body where the text begins, if it ends within this piece."""
        data = self._overlap + piece
        found, done = [], 0
        for match in self._pattern.finditer(data):
            if match.end() > match.start() and (self._offset + match.start()) % self._unit == 0:
                found.append(self._offset + match.start())
                done = match.end()
        keep = max(done, len(data) - max(0, self._longest - 1))
        self._overlap = data[keep:]
        self._offset += keep
        return found


def _encoded_spellings(character: str, charset: str, encodings: Sequence[Encoding]) -> list[bytes]:
    found = []
    for spelling in dict.fromkeys([*_spellings(character, encodings), character.lower(), character.upper()]):
        try:
            found.append(spelling.encode(charset))
        except UnicodeError:
            continue
    return found
