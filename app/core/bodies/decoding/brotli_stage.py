"""Brotli (RFC 7932) undone in bounded steps."""

from __future__ import annotations

import brotli

NO_BROTLI = "The body does not match its Content-Encoding: it is not Brotli data."


class UnBrotli:
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
