"""Decodes JSON's escapes anywhere in a text: JSON is put into form fields, log lines and strings of other JSON."""

from __future__ import annotations

import re

from app.core.search.readable.notation import Notation

_PLAIN = str.maketrans("bfnrt", "\b\f\n\r\t")
_LONGEST = len(r"\ud83d\ude00")
_ESCAPES = re.compile(r'\\(?:u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*|["\\/bfnrt](?:\\["\\/bfnrt])*)')
_HIGH = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_BEGUN = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")


def _decoded(match: re.Match[str]) -> str:
    escapes = match.group()
    if escapes[1] == "u":
        # A lone surrogate becomes U+FFFD: text cannot contain it.
        return bytes.fromhex(escapes.replace("\\u", "")).decode("utf-16-be", "replace")
    return escapes[1::2].translate(_PLAIN)


def _unfinished(text: str) -> int:
    """In a run of backslashes every second one is escaped itself."""
    at = text.rfind("\\", max(0, len(text) - _LONGEST))
    if at < 0:
        return len(text)
    run = at + 1 - len(text[: at + 1].rstrip("\\"))
    if not run % 2:
        return len(text)
    if _HIGH.match(text, at):
        return at
    if not _BEGUN.match(text, at):
        return len(text)
    before = at - len(r"\ud83d")
    return before if run == 1 and before >= 0 and _HIGH.match(text[:at], before) else at


JSON_ESCAPES = Notation(("\\",), _ESCAPES, _decoded, _unfinished)
