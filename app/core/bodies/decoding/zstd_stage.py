"""Zstandard (RFC 8878) undone in bounded steps."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

WINDOW_LOG = 23
"""What a decoder needs to remember at most, as a power of two: RFC 9659 allows senders 8 MiB."""
_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
_MAGIC = b"\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"
# Of thousands of tiny frames, each takes a copy of what follows it.
_STEP = 16 * 1024


class UnZstd:
    """Any number of frames; bytes after them that are no frame are left alone."""

    def __init__(self) -> None:
        self._engine = zstd.ZstdDecompressor(options=_OPTIONS)
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
            self.error = f"The body does not match its Content-Encoding: {_reason(error)}."
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
        if magic[1:] == (_MAGIC if magic[0] == 0x28 else _SKIPPABLE):
            self._engine = zstd.ZstdDecompressor(options=_OPTIONS)
        else:
            self._over, self._dropped = True, self._left
            self._rest, self._at = b"", 0
        return b""


def _reason(error: Exception) -> str:
    text = str(error)
    if "memory" in text.lower() or "window" in text.lower():
        return "its Zstandard data needs more than the allowed 8 MiB of memory"
    return "it is not Zstandard data"
