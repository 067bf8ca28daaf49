"""Undoes content codings piece by piece, so that a small body that swells to gigabytes costs no memory."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator

from app.core.bodies.decoding.decompressor import Decompressor
from app.core.model import PART_SIZE, Headers

_GZIP, _RAW = 16 + zlib.MAX_WBITS, -zlib.MAX_WBITS
_STEP = 64 * 1024  # of thousands of tiny gzip members, each takes a copy of what follows it
_ZLIB = frozenset({"gzip", "x-gzip", "deflate"})
_OTHERS = {"br": "Brotli", "zstd": "Zstandard"}


class DecodeError(Exception):
    """The body cannot be decoded; `str()` of it says why, in a sentence."""


def codings_of(headers: Headers) -> list[str]:
    """The content codings to undo, outermost first; DecodeError for one that is not known here."""
    values = [value for name, value in headers if name.lower() == "content-encoding"]
    named = [coding.strip().lower() for value in values for coding in value.split(",")]
    codings = [coding for coding in named if coding not in ("", "identity")]
    for coding in codings:
        if coding not in _ZLIB and coding not in _OTHERS:
            raise DecodeError(f"Its content coding is {coding!r}; gzip, deflate, br and zstd can be decoded.")
    return codings[::-1]


async def decoded_parts(parts: AsyncIterator[bytes], codings: list[str]) -> AsyncIterator[bytes]:
    """`parts` with `codings` undone, in pieces of at most `PART_SIZE` bytes; DecodeError when they are broken."""
    for coding in codings:
        parts = _inflated(parts, coding)
    async for part in parts:
        yield part


async def _inflated(parts: AsyncIterator[bytes], coding: str) -> AsyncIterator[bytes]:
    inflater = Other(coding) if coding in _OTHERS else Inflater(coding)
    async for part in parts:
        for start in range(0, len(part), _STEP):
            inflater.push(part[start : start + _STEP])
            while piece := await asyncio.to_thread(inflater.pull):
                yield piece
    inflater.finish()


class Inflater:
    """One coding, pushed in and pulled out: gzip of one or more members, or deflate with or without zlib's header."""

    def __init__(self, coding: str) -> None:
        self._coding = "deflate" if coding == "deflate" else "gzip"
        self._waiting = b""
        self._engine: zlib._Decompress | None = None

    def push(self, data: bytes) -> None:
        """Take `data`; all that is inside must be pulled before more is pushed."""
        self._waiting += data

    def pull(self) -> bytes:
        """The next piece, empty when more must be pushed first."""
        while True:
            if self._engine is not None and self._engine.eof:
                # Zeros may pad a gzip file; anything else after its end must be another member.
                self._waiting, self._engine = self._waiting.lstrip(b"\0"), None
            if self._engine is None:
                if not self._waiting:
                    return b""
                self._engine = zlib.decompressobj(self._window())
            try:
                piece = self._engine.decompress(self._waiting, PART_SIZE)
            except zlib.error as error:
                raise DecodeError(f"It is not proper {self._coding} data ({error}).") from None
            self._waiting = self._engine.unused_data if self._engine.eof else self._engine.unconsumed_tail
            if piece or not self._engine.eof:
                return piece

    def finish(self) -> None:
        """DecodeError when the data broke off."""
        if self._engine is not None and not self._engine.eof:
            raise DecodeError(f"Its {self._coding} data breaks off before its end.")

    def _window(self) -> int:
        if self._coding == "gzip":
            return _GZIP
        first = int.from_bytes(self._waiting[:2], "big")
        return zlib.MAX_WBITS if first & 0x0F00 == 0x0800 and first % 31 == 0 else _RAW


class Other:
    """Brotli or Zstandard, pushed in and pulled out as by `Inflater`."""

    def __init__(self, coding: str) -> None:
        self._name = _OTHERS[coding]
        self._unpacker = Decompressor((coding,))

    def push(self, data: bytes) -> None:
        """Take `data`; all that is inside must be pulled before more is pushed."""
        self._unpacker.feed(data)

    def pull(self) -> bytes:
        """The next piece, empty when more must be pushed first."""
        piece = self._unpacker.read(PART_SIZE)
        if not piece and self._unpacker.error:
            raise DecodeError(f"It is not proper {self._name} data.")
        return piece

    def finish(self) -> None:
        """DecodeError when the data broke off."""
        if self._unpacker.finish() is not None:
            raise DecodeError(f"Its {self._name} data breaks off before its end.")
