"""gzip and deflate undone in bounded steps."""

from __future__ import annotations

import zlib


class Inflate:
    """gzip (of any number of members) or deflate (with zlib's wrapper or, as some send it, without)."""

    def __init__(self, name: str) -> None:
        self._gzip = name != "deflate"
        self._wbits = 31 if self._gzip else 15
        self._zlib = zlib.decompressobj(self._wbits)
        self._rest = b""
        self._more = self._fresh = False
        self._begun = False
        self.error: str | None = None

    @property
    def needs_input(self) -> bool:
        # zlib's wrapper is told from its absence by two bytes.
        enough = len(self._rest) >= 2 or (self._begun and self._rest)
        return self.error is not None or not (enough or self._more)

    @property
    def ended(self) -> bool:
        return self._zlib.eof or self._fresh or not (self._begun or self._rest)

    def feed(self, data: bytes) -> None:
        self._rest += data

    def read(self, limit: int) -> bytes:
        if self.needs_input:
            return b""
        if self._zlib.eof:
            return self._next_member()
        try:
            taken = self._zlib.decompress(self._rest, limit)
        except zlib.error as error:
            return self._mend(error, limit)
        self._begun, self._fresh = True, False
        self._rest = self._zlib.unused_data if self._zlib.eof else self._zlib.unconsumed_tail
        # With all input taken in, zlib may still hold output back when the limit was reached.
        self._more = len(taken) == limit and not self._zlib.eof
        return taken

    def _next_member(self) -> bytes:
        """gzip may go on with another member; anything else after the end is left alone, as gunzip does."""
        self._more = False
        if self._gzip and self._rest.startswith(b"\x1f"):
            self._zlib = zlib.decompressobj(self._wbits)
            self._fresh = True
        else:
            self._rest = b""
        return b""

    def _mend(self, error: zlib.error, limit: int) -> bytes:
        if self._wbits == 15 and not self._begun:
            self._wbits = -15
            self._zlib = zlib.decompressobj(self._wbits)
            return self.read(limit)
        self.error = f"The body is not what its Content-Encoding says: {error}."
        return b""
