"""gzip (RFC 1952), deflate (RFC 1950 or 1951), Brotli (RFC 7932) and Zstandard (RFC 8878), decoded in bounded steps."""

from __future__ import annotations

import re
import sys
import zlib

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

WINDOW_LOG = 23
"""What a decoder needs to remember at most, as a power of two: RFC 9659 allows senders 8 MiB."""
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
_ZSTD_MAGIC = b"\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
# Each of thousands of tiny members or frames copies what follows it.
_STEP = 16 * 1024


class ZstdStage:
    """Any number of frames; bytes after them that are no frame are left alone."""

    def __init__(self) -> None:
        self._engine = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
        self._rest, self._at = b"", 0
        self._more = self._begun = self._over = False
        self._dropped = 0
        self.error: str | None = None

    @property
    def needs_input(self) -> bool:
        # Four bytes show whether another frame begins.
        needed = 4 if self._engine.eof else 1
        return self.error is not None or not (self._more or self._left >= needed)

    @property
    def ended(self) -> bool:
        return self._engine.eof or not (self._begun or self._left)

    @property
    def trailing(self) -> int:
        return self._dropped + (self._left if self._engine.eof else 0)

    @property
    def _left(self) -> int:
        return len(self._rest) - self._at

    def feed(self, data: bytes) -> None:
        if self._over:
            self._dropped += len(data)
        else:
            self._rest, self._at = self._rest[self._at :] + data, 0

    def read(self, limit: int) -> bytes:
        if self.needs_input:
            return b""
        if self._engine.eof:
            return self._next_frame()
        data = b"" if self._more else self._rest[self._at : self._at + _STEP]
        self._begun = True
        try:
            taken: bytes = self._engine.decompress(data, limit)
        except zstd.ZstdError as error:
            self.error = f"The body is not what its Content-Encoding says: {_zstd_reason(error)}."
            return b""
        self._at += len(data)
        if self._engine.eof:
            self._at -= len(self._engine.unused_data)
            self._more = False
        else:
            self._more = not self._engine.needs_input
        return taken

    def _next_frame(self) -> bytes:
        magic = self._rest[self._at : self._at + 4]
        if magic[1:] == (_ZSTD_MAGIC if magic[0] == 0x28 else _ZSTD_SKIPPABLE):
            self._engine = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
        else:
            self._over, self._dropped = True, self._left
            self._rest, self._at = b"", 0
        return b""


def _zstd_reason(error: Exception) -> str:
    text = str(error)
    if "memory" in text.lower() or "window" in text.lower():
        return "its Zstandard data asks for more than the 8 MiB of memory that senders may ask for"
    return "it is not Zstandard data"


_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_NO_PADDING = re.compile(rb"[^\0]")


class InflateStage:
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
        return f"The body is not what its Content-Encoding says: it is not {name} data."


def has_zlib_wrapper(start: bytes) -> bool:
    """Whether these first two bytes are zlib's: the method in the low half of the first, and a multiple of 31.

    Raw deflate cannot begin so: it would be a stored block whose padding is not zero, which no encoder writes.
    """
    return len(start) >= 2 and start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0


NO_BROTLI = "The body is not what its Content-Encoding says: it is not Brotli data."


class BrotliStage:
    """One stream. Bytes after its end are an error: the library drops its output when they come with the stream."""

    trailing = 0

    def __init__(self) -> None:
        self._engine = brotli.Decompressor()
        self._rest = b""
        # The library's bound is by blocks: what it gives beyond the limit waits here.
        self._over = b""
        self._more = self._begun = self._ended = False
        self.error: str | None = None

    @property
    def needs_input(self) -> bool:
        return not self._over and (self.error is not None or not (self._rest or self._more))

    @property
    def ended(self) -> bool:
        return not self._begun or self._ended

    def feed(self, data: bytes) -> None:
        self._rest += data

    def read(self, limit: int) -> bytes:
        if self.needs_input:
            return b""
        if not self._over:
            self._over = self._step(limit)
        taken, self._over = self._over[:limit], self._over[limit:]
        return taken

    def _step(self, limit: int) -> bytes:
        if self._ended:
            # An error in any piece, since it is one for the library in the same piece.
            self.error = NO_BROTLI
            return b""
        data, self._rest = (b"", self._rest) if self._more else (self._rest, b"")
        self._begun = True
        try:
            given = bytes(self._engine.process(data, output_buffer_limit=limit))
        except brotli.error:
            self.error = NO_BROTLI
            return b""
        self._ended = bool(self._engine.is_finished())
        # Having reached the limit it may hold output back while it says that it would take more input.
        self._more = not self._ended and (len(given) >= limit or not self._engine.can_accept_more_data())
        return given
