"""Every run of three characters of a request's text. The index only leaves requests out; what it gives is looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.core.model import Headers

GRAM = 3
"""Characters of a run, as the index holds them."""
LAST_RUN = "\n" * GRAM
"""Ends every text: its last characters begin a run too, its last header ends like the others."""
ALWAYS = "\U000f0001\U000f0002\U000f0003"
"""A run of characters that are for private use, on what is looked at in every search."""
INDEXED = 200_000
"""Characters of a request that are indexed; one that has more is looked at in each search."""
LITERAL = re.compile(r"[ !#-%(-*,\-.0-;?-\[\]-~]+")
"""What JSON writes as it is, or as an escape that is looked at in every search: no quote or stroke, no other alphabet,
and none of the signs that many programs escape so that a page can hold them."""
_PLAIN = "2[0-13-58-ac-e]|3[0-9abf]|[46].|5[0-9abd-f]|7[0-9a-e]|df"
_ESCAPED = re.compile(rf"\\u(?:00(?:{_PLAIN})|0130|0149|017f|01f0|1e9[6-9ae]|212a|fb0[0-6])")
"""JSON may write these characters so, and letters that become one of them when case is folded."""


def indexed_text(text: str, readable: Sequence[str], headers: Headers) -> str:
    """What words are looked for in, case folded, as the index takes it: as it was sent, and as it reads."""
    odd = any(value != value.strip() for _, value in headers)
    whole = LAST_RUN.join((text, *readable))
    always = odd or len(whole) > INDEXED or ("\\u" in text and _ESCAPED.search(text))
    return (ALWAYS if always else "") + "\n" + plain(whole[:INDEXED]) + LAST_RUN


def plain(text: str) -> str:
    """Without what the index would end at or write differently."""
    return text.replace("\0", "\x1f").replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
