"""One-time codes in English sentences, such as `Use code 482913 to sign in` and `482913 is your login code`.

Coupons, errors and countries have codes, too. The words before `code`, and what the sentence says it is for, tell them
apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.core.redaction.secret import Secret

_ASKING = frozenset({"use", "enter", "type", "input", "submit", "provide", "insert", "paste", "your"})
_FILLING = frozenset({"in", "the", "this", "following", "new", "temporary", "unique", "confirmation", "numeric"})
"""What may be between one of those and `code`."""
_SECRET_KINDS = frozenset(
    {
        *("verification", "security", "login", "log-in", "sign-in", "authentication", "access", "otp", "2fa", "mfa"),
        *("totp", "sms", "two-factor", "one-time", "single-use", "recovery", "backup", "activation", "6-digit"),
    }
)
"""A code with such a word before it needs no other sign."""
_OTHER_KINDS = frozenset(
    {
        *("zip", "postal", "area", "country", "city", "state", "dialing", "dialling", "product", "item", "tax", "sort"),
        *("promo", "promotional", "coupon", "discount", "voucher", "gift", "referral", "booking", "order", "tracking"),
        *("error", "status", "exit", "return", "response", "swift", "color", "colour"),
    }
)
_SPACE = r"(?:[ -]|\xc2?\xa0)"
_LONG = rf"(?:[A-Z]-)?(?:\d{{6,10}}|\d{{3}}{_SPACE}\d{{3}}|\d{{4}}{_SPACE}\d{{4}})"
_SHORT = r"\d{4,5}"
_MIXED = r"(?=[A-Za-z0-9-]{5})(?=[A-Za-z-]*\d|[A-Z]{4}-)[A-Za-z0-9]{2,8}(?:-[A-Za-z0-9]{2,8}){0,3}"
_MARKS = r"[*_`\"'(<\[]{0,3}"
_CODE = rf"{_MARKS}(?P<code>{_LONG}|{_SHORT}|{_MIXED})(?![A-Za-z0-9]|[-.,:/]\w|[ ]?%)"
_NEXT = re.compile(rf"(?:[ ](?:is|was))?(?:[ ]?[:=])?[ ]{{1,4}}{_CODE}", re.ASCII)
_BELOW = re.compile(
    rf"[^\r\n.!?]{{0,60}}[:.]?[ \t]*(?:\r?\n[ \t>]*){{1,3}}{_CODE}[*_`]{{0,3}}[ \t]*(?:\r?\n|\Z)", re.ASCII
)
"""Alone on a line below the words that ask for it."""
_TOLD = " is your "
_BEFORE = re.compile(rf"(?<![\w.,:/-])(?P<code>{_LONG}|{_SHORT})[*_`\"']{{0,3}}{_TOLD}(?:[\w-]+[ ]){{0,4}}\Z", re.ASCII)
_LONG_CODE = re.compile(_LONG, re.ASCII)
_SENTENCE_END = re.compile(r"[.!?\n]")
_SIGNING_IN = re.compile(
    r"\b(?:sign(?:ing)?|log(?:ging)?)[ -]?(?:in|on)\b|verif|authenticat|confirm|reset|unlock|recover|identity|password"
)
_BUYING = re.compile(
    r"checkout|check out|discount|\boff\b|%|coupon|promo|voucher|\bsav(?:e|ing)|\bfree\b|\bcart\b|basket|purchase"
    r"|\borders?\b|gift|referr|\bdeals?\b|\bsale\b|price|shipping"
)
_BEFORE_MAX, _REST_MAX = 60, 80
"""Characters before `code` and after its value that are read."""
_ENDS = frozenset({f" {word} "[-4:] for word in (*_ASKING, *_FILLING, *_SECRET_KINDS)})
"""Of the word before `code`; quick."""


def code_secrets(text: str, lower: str) -> Iterator[Secret]:
    """The codes in a text, in order; `lower` is the text in small letters."""
    reached, place = 0, lower.find("code")
    is_told = place >= 0 and _TOLD in lower
    while place >= 0:
        if (lower[place - 4 : place] in _ENDS or is_told) and (
            found := _code(text, lower, max(reached, place - _BEFORE_MAX), place)
        ):
            yield Secret(*found.span("code"))
            reached = found.end("code")
        place = lower.find("code", max(reached, place + 4))


def _code(text: str, lower: str, begin: int, place: int) -> re.Match[str] | None:
    """The code that the word at `place` is about; what is before `begin` is not read."""
    before = lower[begin:place]
    if _TOLD in before and (found := _BEFORE.search(text, begin, place)):
        kinds = lower[found.end("code") : place].split()
        is_secret = not _SECRET_KINDS.isdisjoint(kinds) or kinds == ["is", "your"]
        return found if is_secret or (_is_long(found) and _OTHER_KINDS.isdisjoint(kinds)) else None
    words = before.split()
    is_asked, is_secret = _meaning(words)
    if not (is_asked or is_secret):
        return None
    found = _NEXT.match(text, place + 4) or (_BELOW.match(text, place + 4) if is_asked else None)
    if found is None:
        return None
    rest = _SENTENCE_END.split(lower[found.end("code") : found.end("code") + _REST_MAX], maxsplit=1)[0]
    is_coupon = _BUYING.search(before + rest) is not None
    if _is_long(found) and _SIGNING_IN.search(before + rest):
        return found
    is_told = _is_long(found) or is_secret or (words[-1] == "your" and not rest.strip(" .!*_`\"'"))
    return found if not is_coupon and (is_told or _SIGNING_IN.search(rest)) else None


def _meaning(before: list[str]) -> tuple[bool, bool]:
    """Whether the words before `code` ask for it or say whose it is, and whether they name a secret."""
    is_asked = is_secret = False
    for word in reversed(before):
        if word in _SECRET_KINDS:
            is_secret = True
        elif word in _ASKING:
            is_asked = True
        elif word not in _FILLING:
            break
    return is_asked, is_secret


def _is_long(found: re.Match[str]) -> bool:
    return _LONG_CODE.fullmatch(found["code"]) is not None
