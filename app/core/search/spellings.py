"""The ways senders encode a word, so that views can mark it where a search finds it decoded."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Literal

from app.core.bodies.formats.form import NAMED
from app.core.bodies.media_types import media_type

Written = Literal["json", "percent", "form", "mail"]
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


def written_in(content_type: str, views: Iterable[str] = ()) -> tuple[Written, ...]:
    """The possible notations of a body of this type in these views; JSON can be anywhere."""
    kind, names = media_type(content_type), frozenset(views)
    if kind == NAMED or "form" in names:
        return ("json", "form")
    return ("json", "mail") if kind.startswith(("multipart/", "message/")) or "multipart" in names else ("json",)


def spellings(character: str, written: Iterable[Written]) -> list[str]:
    """The ways to write a character, the plain one first, in either letter case."""
    cases = [case for case in (character, character.lower(), character.upper()) if len(case) == 1]
    ways = (way for case in cases for name in written for way in _ways(case, name))
    return list(dict.fromkeys([*cases, *ways]))


def _ways(character: str, written: Written) -> Iterator[str]:
    if written == "json":
        units = character.encode("utf-16-be", "surrogatepass").hex("\\", 2)
        yield from _of_hex(units, "\\", "u")
        if character in _SHORT:
            yield _SHORT[character]
        return
    sign = "=" if written == "mail" else "%"
    for charset in ("utf-8", "latin-1"):
        try:
            yield from _of_hex(character.encode(charset).hex(sign), sign, "")
        except UnicodeEncodeError:
            continue
    if written == "form" and character == " ":
        yield "+"


def _of_hex(digits: str, sign: str, mark: str) -> Iterator[str]:
    """With the prefix before each group of hexadecimal digits, in either case."""
    for case in (digits, digits.upper()):
        yield sign + mark + case.replace(sign, sign + mark)


def pattern_of(words: Iterable[str], written: Iterable[Written] = ()) -> re.Pattern[str] | None:
    """A pattern for any of the words, ignoring case, the longer ones first; None without words."""
    names = tuple(written)
    longest_first = sorted({word for word in words if word}, key=len, reverse=True)
    return (
        re.compile("|".join(_pattern(word, names) for word in longest_first), re.IGNORECASE) if longest_first else None
    )


def _pattern(word: str, written: tuple[Written, ...]) -> str:
    """Lines of quoted-printable can end in the middle of a word."""
    if not written:
        return re.escape(word)
    return ("(?:=\n)?" if "mail" in written else "").join(_any_spelling(character, written) for character in word)


def _any_spelling(character: str, written: tuple[Written, ...]) -> str:
    """JSON in JSON strings doubles backslashes at each level."""
    cases = (way.lower() if way.isascii() else way for way in spellings(character, written))
    ways = {re.escape(way).replace(r"\\", r"\\+") for way in cases}
    return f"(?:{'|'.join(sorted(ways, key=len, reverse=True))})"


def may_be_written(text: str, written: Iterable[Written]) -> bool:
    """Whether one of the notations can occur in `text`: searching for all spellings is slower."""
    return any(sign in text for name in written for sign in _SIGNS[name])


BASE64_MAX = 256 * 1024
"""Maximum characters of base64 that are decoded."""
_BASE64_HINT = "ransfer-"
_BASE64_PART = re.compile(
    r"^content-transfer-encoding[ \t]*:[ \t]*\"?base64\b[^\n]{0,200}\n(?:[^\n]{1,2000}\n){0,50}?\n([A-Za-z0-9+/=\n]+)",
    re.IGNORECASE | re.MULTILINE,
)


def base64_places(text: str, words: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Start and end of the base64 characters that encode a match of `words`."""
    left = BASE64_MAX if _BASE64_HINT in text.lower() else 0
    for part in _BASE64_PART.finditer(text) if left else ():
        begin, stop = part.span(1)
        left -= stop - begin
        if left < 0:
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
