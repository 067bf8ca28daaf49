"""The notations decoded for searching: JSON's escapes, percent-encoding, encoded words (RFC 2047), parameters such as
`filename*` (RFC 5987), and UTF-8 read as Latin-1.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from app.core.bodies.charset import declared_codec
from app.core.bodies.formats.form import escape_codec, fit
from app.core.record import Headers

AROUND = 24
"""Characters kept on either side of decoded text: usually the rest of the word."""


@dataclass(slots=True, eq=False)
class Notation:
    """A way to encode characters. `pattern` matches text that `decode` decodes; every match contains one of `hints`.

    `unfinished` finds where, at the end of an incomplete text, the beginning of a match can be.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    decode: Callable[[re.Match[str]], str]
    unfinished: Callable[[str], int]

    def may_occur(self, text: str) -> bool:
        """Whether `text` contains a hint: faster than searching for a match."""
        for hint in self.hints:  # noqa: SIM110 - a generator takes twice as long, and every request is checked
            if hint in text:
                return True
        return False

    def read(self, text: str) -> str:
        return self.pattern.sub(self.decode, text) if self.may_occur(text) else text

    def changed(self, text: str) -> list[str]:
        """The parts of the decoded text that differ from `text`, each with `AROUND` characters on either side."""
        found: list[str] = []
        parts: list[str] = []
        at = 0
        for match in self.pattern.finditer(text) if self.may_occur(text) else ():
            begin = match.start()
            if parts and begin - at > 2 * AROUND:
                found.append("".join([*parts, text[at : at + AROUND]]))
                parts = []
            parts += [text[at:begin] if parts else text[max(at, begin - AROUND) : begin], self.decode(match)]
            at = match.end()
        return [*found, "".join([*parts, text[at : at + AROUND]])] if parts else found


def _end_like(pattern: re.Pattern[str], most: int) -> Callable[[str], int]:
    """Finds where a match begins that ends the text and has at most `most` characters; without one, the text's end."""

    def begin(text: str) -> int:
        match = pattern.search(text, max(0, len(text) - most))
        return match.start() if match else len(text)

    return begin


_JSON_SHORT = str.maketrans("bfnrt", "\b\f\n\r\t")
_JSON_LONGEST = len(r"\ud83d\ude00")
_JSON_ESCAPES = re.compile(r'\\(?:u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*|["\\/bfnrt](?:\\["\\/bfnrt])*)')
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_JSON_START = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")


def _decode_json(match: re.Match[str]) -> str:
    escapes = match.group()
    if escapes[1] == "u":
        # A lone surrogate becomes U+FFFD: text cannot contain it.
        return bytes.fromhex(escapes.replace("\\u", "")).decode("utf-16-be", "replace")
    return escapes[1::2].translate(_JSON_SHORT)


def _unfinished_json(text: str) -> int:
    """In a run of backslashes every second one is escaped itself."""
    at = text.rfind("\\", max(0, len(text) - _JSON_LONGEST))
    if at < 0:
        return len(text)
    run = _backslashes(text, at)
    if not run % 2:
        return len(text)
    if _HIGH_SURROGATE.match(text, at):
        return at
    if not _JSON_START.match(text, at):
        return len(text)
    before = at - len(r"\ud83d")
    half = run == 1 and before >= 0 and _HIGH_SURROGATE.match(text[:at], before) and _backslashes(text, before) % 2
    return before if half else at


def _backslashes(text: str, at: int) -> int:
    """How many end with the one at `at`."""
    return at + 1 - len(text[: at + 1].rstrip("\\"))


JSON_ESCAPES = Notation(("\\",), _JSON_ESCAPES, _decode_json, _unfinished_json)


FORM_HEAD = 1_024
"""Characters that decide whether a body of another type is a form."""
FORM_LIKELY = 0.4
"""Minimum `fit` of a form. Bodies declared as forms pass even if they begin like something else."""
_PERCENT_RUN = "%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*"
_PERCENT_ESCAPES = re.compile(_PERCENT_RUN)
_FIELD_ESCAPES = re.compile(rf"\++|{_PERCENT_RUN}")
_STRAY = re.compile("[\udc80-\udcff]+")
# The last character of a run, which can have more bytes, and an incomplete escape.
_UNFINISHED = re.compile(r"(?:%[0-7c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){0,3})?(?:%[0-9a-fA-F]?)?\Z")


def _decode_escapes(escapes: str, codec: str) -> str:
    """Bytes that are not text stay escaped."""
    data = bytes.fromhex(escapes.replace("%", ""))
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        text = data.decode(codec, "surrogateescape")
        return _STRAY.sub(_as_sent, text)


def _as_sent(match: re.Match[str]) -> str:
    octets = match.group().encode("ascii", "surrogateescape")
    return "%" + octets.hex("%").upper()


@lru_cache(64)
def _form_fields(content_type: str) -> Notation:
    """The notation of a form of this type, which names the charset of its escapes."""
    codec = escape_codec(content_type)

    def decoded(match: re.Match[str]) -> str:
        escapes = match.group()
        return escapes.replace("+", " ") if escapes[0] == "+" else _decode_escapes(escapes, codec)

    return Notation(("%", "+"), _FIELD_ESCAPES, decoded, _end_like(_UNFINISHED, 14))


def form_notation(content_type: str, media_type: str, text: str) -> Notation | None:
    """None unless `text` is the beginning of a form."""
    if media_type.endswith("json") or fit(media_type, text[:FORM_HEAD].encode("utf-8", "replace")) < FORM_LIKELY:
        return None
    return _form_fields(content_type)


def readable_targets(target: str) -> list[str]:
    """A decoded target, also with spaces for the plus signs in its query."""
    path, question, query = target.partition("?")
    found = [_decode_percent(target)] if "%" in target else []
    if question and "+" in query:
        found.append(f"{_decode_percent(path)}?{_decode_percent(query.replace('+', ' '))}")
    return [text for text in found if text != target]


def _decode_percent(text: str) -> str:
    return _PERCENT_ESCAPES.sub(lambda match: _decode_escapes(match.group(), "utf-8"), text)


WORD_MAX = 1_000
"""Maximum characters of an encoded word or parameter; longer ones are not decoded."""
_WORD = rf"=\?[\w.:-]{{1,40}}(?:\*[\w-]{{0,20}})?\?[bBqQ]\?[^?\s]{{0,{WORD_MAX}}}\?="
_WORDS = re.compile(rf"{_WORD}(?:[ \t\r\n]{{1,8}}{_WORD})*")
_WORD_START = re.compile(
    rf"=(?:\?(?:[\w.:*-]{{1,62}}(?:\?(?:[bBqQ](?:\?(?:[^?\s]{{0,{WORD_MAX}}}(?:\?(?:=[ \t\r\n]{{0,8}})?)?)?)?)?)?)?)?\Z"
)
"""The last word can continue, or be followed by another."""
_EACH = re.compile(r"=\?([\w.:-]+)(?:\*[\w-]*)?\?([bBqQ])\?([^?\s]*)\?=")
_PARAMETER = re.compile(rf"\*=\"?([\w.:-]{{1,40}})'[\w-]{{0,20}}'([^\s;,\"]{{1,{WORD_MAX}}})")
_PERCENT_BYTES = re.compile(r"(?:%[0-9a-fA-F]{2})+")


@lru_cache(64)
def _codec(charset: str) -> str | None:
    return declared_codec(f"text/plain; charset={charset}")


def _decode_bytes(data: bytes, charset: str) -> str | None:
    codec = _codec(charset)
    return data.decode(codec, "replace") if codec else None


def _decode_words(match: re.Match[str]) -> str:
    """Joins the bytes of adjacent words in one charset first: some senders split characters."""
    runs: list[tuple[str, bytes]] = []
    for charset, encoding, text in _EACH.findall(match.group()):
        data = _word_bytes(encoding, text)
        if runs and runs[-1][0] == charset.lower():
            runs[-1] = (runs[-1][0], runs[-1][1] + data)
        else:
            runs.append((charset.lower(), data))
    decoded = [_decode_bytes(data, charset) for charset, data in runs]
    return match.group() if None in decoded else "".join(text for text in decoded if text)


def _word_bytes(encoding: str, text: str) -> bytes:
    octets = text.encode("ascii", "replace")
    if encoding in "qQ":
        return binascii.a2b_qp(octets, header=True)
    try:
        return binascii.a2b_base64(octets + b"=" * (-len(octets) % 4))
    except binascii.Error:
        return octets


def _decode_parameter(match: re.Match[str]) -> str:
    charset, value = match.groups()
    data = _PERCENT_BYTES.sub(lambda run: bytes.fromhex(run.group().replace("%", "")).decode("latin-1"), value)
    try:
        decoded = _decode_bytes(data.encode("latin-1"), charset)
    except UnicodeEncodeError:
        decoded = None
    return match.group() if decoded is None else f"*={decoded}"


def _unfinished_parameter(text: str) -> int:
    at = text.rfind("*=", max(0, len(text) - WORD_MAX - 80))
    unfinished = at >= 0 and not re.search(r"[\s;,]", text[at:])
    return at if unfinished else len(text) - text.endswith("*")


ENCODED_WORDS = Notation(("=?",), _WORDS, _decode_words, _end_like(_WORD_START, WORD_MAX + 80))
PARAMETERS = Notation(("*=",), _PARAMETER, _decode_parameter, _unfinished_parameter)
_ENCODED = (ENCODED_WORDS, PARAMETERS)


def readable_headers(headers: Headers) -> Iterable[str]:
    """The headers that change when decoded, as lines; raw bytes count as UTF-8."""
    for name, value in headers:
        if "=" not in value and value.isascii():
            continue
        text = value if value.isascii() else _as_utf8(value)
        for notation in _ENCODED:
            text = notation.read(text)
        if text != value:
            yield f"{name}: {text}"


def _as_utf8(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


# A body with UTF-8 and other bytes, such as a form with a picture, is read as Latin-1.
_UTF8_RUN = re.compile(r"(?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+")
_UTF8_START = re.compile(r"[\xc2-\xf4][\x80-\xbf]{0,2}\Z")


def _decode_utf8(match: re.Match[str]) -> str:
    return match.group().encode("latin-1").decode("utf-8", "replace")


UTF8_AS_LATIN1 = Notation(tuple(map(chr, range(0xC2, 0xF5))), _UTF8_RUN, _decode_utf8, _end_like(_UTF8_START, 3))
