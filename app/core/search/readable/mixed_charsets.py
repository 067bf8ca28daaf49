"""Decodes UTF-8 in a body that was read as Latin-1 because other bytes are in it, such as a form with a picture."""

from __future__ import annotations

import re

from app.core.search.readable.notation import Notation

_RUN = re.compile(r"(?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+")
_BEGUN = re.compile(r"[\xc2-\xf4][\x80-\xbf]{0,2}\Z")


def _decoded(match: re.Match[str]) -> str:
    return match.group().encode("latin-1").decode("utf-8", "replace")


def _unfinished(text: str) -> int:
    match = _BEGUN.search(text, max(0, len(text) - 3))
    return match.start() if match else len(text)


UTF8_AS_LATIN1 = Notation(tuple(map(chr, range(0xC2, 0xF5))), _RUN, _decoded, _unfinished)
