"""gzip (RFC 1952) and deflate (RFC 1950, or RFC 1951 as some send it) undone in bounded steps."""

from __future__ import annotations

import re
import zlib

_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_NO_PADDING = re.compile(rb"[^\0]")
# Of thousands of tiny members, each takes a copy of what follows it.
_STEP = 16 * 1024


class Inflate:
    """gzip of any number of members, or deflate with or without zlib's wrapper."""

    def __init__(self, name: str) -> None:
        self._is_gzip = name != "deflate"
        self._engine: zlib._Decompress | None = None
        self._rest, self._at = b"", 0
        self._more = self._recognised = self._over = False
        self._members = self._dropped = 0
        self.error: str | None = None

    @property
    def needs_input(self) -> bool:
        # Two bytes show zlib's wrapper, or that another member of gzip begins.
        needed = 2 if self._engine is None else 1
        return self.error is not None or not (self._more or self._left >= needed)

    @property
    def ended(self) -> bool:
        return self._engine is None and (self._members > 0 or not self._left)

    @property
    def trailing(self) -> int:
        is_padding = self._is_gzip and self._rest.endswith(b"\0")
        return self._dropped + (self._left if self._members and self.ended and not is_padding else 0)

    def feed(self, data: bytes) -> None:
        if self._over:
            self._dropped += len(data)
        else:
            self._rest, self._at = self._rest[self._at :] + data, 0

    def read(self, limit: int) -> bytes:
        if self.needs_input:
            return b""
        if self._engine is None:
            self._begin_member()
            return b""
        data = self._rest[self._at : self._at + _STEP]
        try:
            taken = self._engine.decompress(data, limit)
        except zlib.error:
            self.error = self._reason()
            return b""
        self._recognised = self._recognised or bool(taken)
        ended = self._engine.eof
        self._at += len(data) - len(self._engine.unused_data if ended else self._engine.unconsumed_tail)
        # With all input taken in, zlib may still hold output back when the limit was reached.
        self._more = len(taken) == limit and not ended
        if ended:
            self._engine = None
            self._members += 1
        return taken

    @property
    def _left(self) -> int:
        return len(self._rest) - self._at

    def _begin_member(self) -> None:
        if self._members and self._is_gzip:
            found = _NO_PADDING.search(self._rest, self._at)
            self._at = found.start() if found else len(self._rest)
            if self._left < 2:
                return
        start = self._rest[self._at : self._at + 2]
        if self._members and not (self._is_gzip and start == _GZIP_MAGIC):
            self._over, self._dropped = True, self._left
            self._rest, self._at = b"", 0
        elif self._is_gzip:
            self._recognised = start == _GZIP_MAGIC
            self._engine = zlib.decompressobj(_GZIP)
        else:
            self._recognised = has_zlib_wrapper(start)
            self._engine = zlib.decompressobj(_ZLIB if self._recognised else _RAW)

    def _reason(self) -> str:
        name = "gzip" if self._is_gzip else "deflate"
        if self._recognised:
            return f"The body's {name} data is damaged."
        return f"The body does not match its Content-Encoding: it is not {name} data."


def has_zlib_wrapper(start: bytes) -> bool:
    """Whether these first two bytes are zlib's: the method in the low half of the first, and a multiple of 31.

    Raw deflate cannot begin so: it would be a stored block whose padding is not zero, which no encoder writes.
    """
    return len(start) >= 2 and start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
