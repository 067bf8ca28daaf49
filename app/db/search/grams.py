"""What the index holds of a request: every run of three characters of its text, and of tags for what never changes.

The index only leaves requests out; whatever it gives is looked at again.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import lru_cache

from app.core.model import Headers, Record
from app.db.search.text import haystack
from app.db.search.wanted import LAST_RUN

INDEXED = 200_000
"""Characters of a request that are indexed; one that has more is looked at in each search."""
MOST_BITS = 32
"""Larger sizes count as this one."""
_ASIDE = {sign: 0xF0000 + sign for sign in range(128)}
"""Tags are written in characters of their own, for private use: no word finds them."""
_ESCAPED = re.compile(r"\\u(?:00|0130|0149|017f|01f0|1e9[6-9ae]|212a|fb0[0-6])")
"""JSON may write plain letters so, and letters that become plain ones when case is folded."""


class Columns(Record, frozen=True):
    """What the index holds of a request's columns. `provider` and `event` are set later, if not yet (None)."""

    method: str
    status: int
    source: str
    size: int
    complete: bool
    provider: str | None
    event: str | None


def indexed_text(target: str, headers: Headers, content_type: str, data: bytes, columns: Columns) -> str:
    """A request as the index takes it."""
    text = haystack(target, headers, content_type, data)
    odd = any(value != value.strip() for _, value in headers)
    always = odd or len(text) > INDEXED or ("\\u" in text and _ESCAPED.search(text))
    return "".join(_tags(columns)) + (ALWAYS if always else "") + "\n" + plain(text[:INDEXED]) + LAST_RUN


def _tags(columns: Columns) -> Iterator[str]:
    yield tag("m", columns.method)
    yield tag("s", str(columns.status))
    yield tag("s", f"{columns.status // 100}xx")
    yield tag("z", str(size_bits(columns.size)))
    for address in _spellings(columns.source):
        yield tag("f", address)
    if not columns.complete:
        yield tag("i", "incomplete")
    if columns.provider is None:
        yield UNKNOWN
    else:
        yield tag("p", columns.provider)
        yield tag("e", columns.event or "")


def plain(text: str) -> str:
    """Without what the index would end at or write differently."""
    return text.replace("\0", "\x1f").replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")


def tag(kind: str, value: str, *, whole: bool = True) -> str:
    """A tag, or only the beginning of one."""
    return plain(f"\x02{kind}:{value.casefold()}{chr(3) if whole else ''}".translate(_ASIDE))


def size_bits(size: int) -> int:
    """Sizes of as many bits have one tag."""
    return min(size.bit_length(), MOST_BITS)


ALWAYS = tag("a", "")
"""On what is looked at in every search."""
UNKNOWN = tag("u", "")
"""On what nobody has looked at yet to find out who sent it."""


@lru_cache(4096)
def _spellings(source: str) -> tuple[str, ...]:
    """An address as it was stored, and as networks are compared with it."""

    def found() -> Iterator[str]:
        yield source
        try:
            address = ipaddress.ip_address(source)
        except ValueError:
            return
        yield str(getattr(address, "ipv4_mapped", None) or address)

    return tuple(dict.fromkeys(found()))
