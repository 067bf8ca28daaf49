"""Removes content codings in bounded steps, so that a decompression bomb yields no more than was requested.

gzip (RFC 1952), deflate (RFC 1950, or RFC 1951 as some senders have it), Brotli (RFC 7932), Zstandard (RFC 8878).
"""

from __future__ import annotations

import re
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Protocol

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_CODINGS = 3
MEMBERS_MAX, CONTENT_LEAST = 1_000, 16
"""Beyond this many members or frames, each must hold this many bytes on average: opening one takes as long as unpacking
kilobytes, and a megabyte can hold a hundred thousand."""
BETWEEN_MAX, BETWEEN_FACTOR = 64 * 1024, 4
"""Bytes passed from coding to coding without content, and for each byte of content: padding and empty members of an
inner coding may unpack to terabytes that never become content."""
HOLLOW = "The compressed body holds almost nothing."


WINDOW_LOG = 23
"""The largest window, as a power of two: RFC 9659 allows senders 8 MiB."""
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
_ZSTD_MAGIC = b"\xb5\x2f\xfd"
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
_STEP = 16 * 1024
"""Bytes unpacked at once: each of thousands of tiny members or frames copies what follows it."""


class Engine(Protocol):
    """Unpacks one member, frame or stream. It keeps what it was given while it holds back output: unless it
    `needs_input`, it is given nothing more. At `eof` it has `unused_data`."""

    @property
    def needs_input(self) -> bool: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _InflateEngine:
    needs_input, eof, unused_data = True, False, b""

    def __init__(self, wbits: int) -> None:
        self._engine = zlib.decompressobj(wbits)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        output = self._engine.decompress(self._engine.unconsumed_tail + data, max_length)
        # After all input is consumed, zlib can still hold back output if the limit was reached.
        self.needs_input = len(output) < max_length
        self.eof, self.unused_data = self._engine.eof, self._engine.unused_data
        return output


class _BrotliEngine:
    needs_input, eof, unused_data = True, False, b""

    def __init__(self) -> None:
        self._engine = brotli.Decompressor()
        # The library's limit is per block: output beyond the requested limit waits here.
        self._excess = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        if not self._excess:
            self._excess = bytes(self._engine.process(data, output_buffer_limit=max_length))
            # At the limit it can hold back output even though it accepts more input.
            self._more = len(self._excess) >= max_length or not self._engine.can_accept_more_data()
        output, self._excess = self._excess[:max_length], self._excess[max_length:]
        self.eof = bool(self._engine.is_finished()) and not self._excess
        self.needs_input = not (self._excess or self._more)
        return output


class Stage(ABC):
    """Removes one coding: any number of members or frames, each with an engine of its own; bytes after them that begin
    none are not decoded. `error` says what is wrong, in a sentence."""

    first_least = next_least = 2
    """Bytes that show whether the first member begins, or another."""
    step = _STEP

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._pending, self._at = b"", 0
        self._members = self._content = self._trailing = 0
        self.error: str | None = None

    @property
    def needs_input(self) -> bool:
        """Whether `read` returns nothing more before more is fed, or ever."""
        if self.error is not None:
            return True
        if self._engine is not None:
            return self._engine.needs_input and not self._remaining
        return self._remaining < (self.next_least if self._members else self.first_least)

    @property
    def ended(self) -> bool:
        """Whether the data may end here."""
        return self._engine is None and (self._members > 0 or not self._remaining)

    @property
    def trailing(self) -> int:
        """Bytes so far after the end of the data."""
        return self._trailing + (self._remaining if self._engine is None and self._members else 0)

    @property
    def _remaining(self) -> int:
        return len(self._pending) - self._at

    def feed(self, data: bytes) -> None:
        """The next piece of the compressed data."""
        if self._trailing:
            self._trailing += len(data)
        else:
            self._pending, self._at = self._pending[self._at :] + data, 0

    def read(self, limit: int) -> bytes:
        """At most `limit` decoded bytes; can be empty although `needs_input` is false: then call it again."""
        engine = self._engine
        if self.needs_input:
            return b""
        if engine is None:
            if self._members > MEMBERS_MAX + self._content // CONTENT_LEAST:
                self.error = HOLLOW
            else:
                self._begin()
            return b""
        data = self._pending[self._at : self._at + self.step] if engine.needs_input else b""
        try:
            output = engine.decompress(data, limit)
        except (zlib.error, zstd.ZstdError, brotli.error) as error:
            self.error = self._reason(error)
            return b""
        self._at += len(data)
        self._content += len(output)
        if engine.eof:
            self._at -= len(engine.unused_data)
            self._members += 1
            self._engine = None
        return output

    @abstractmethod
    def _begin(self) -> None:
        """Make the engine of the next member, or call `_finish` if none follows."""

    @abstractmethod
    def _reason(self, error: Exception) -> str: ...

    def _finish(self) -> None:
        self._trailing, self._pending, self._at = self._remaining, b"", 0


class ZstdStage(Stage):
    first_least, next_least = 1, 4

    def _begin(self) -> None:
        start = self._pending[self._at : self._at + 4]
        if not self._members or start[1:] == (_ZSTD_MAGIC if start[0] == 0x28 else _ZSTD_SKIPPABLE):
            self._engine = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
        else:
            self._finish()

    def _reason(self, error: Exception) -> str:
        why = "it is not Zstandard data"
        if "memory" in str(error).lower() or "window" in str(error).lower():
            why = "its Zstandard data needs more than the allowed 8 MiB of memory"
        return f"The body does not match its Content-Encoding: {why}."


_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS
_GZIP_MAGIC = b"\x1f\x8b"
_NO_PADDING = re.compile(rb"[^\0]")


class InflateStage(Stage):
    """gzip with any number of members, or deflate with or without a zlib wrapper."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self._is_gzip, self._recognised = name, name == "gzip", False

    @property
    def trailing(self) -> int:
        is_padding = self._is_gzip and self._pending.endswith(b"\0")
        return self._trailing if is_padding else super().trailing

    def _begin(self) -> None:
        if self._members and self._is_gzip:
            found = _NO_PADDING.search(self._pending, self._at)
            self._at = found.start() if found else len(self._pending)
            if self._remaining < 2:
                return
        start = self._pending[self._at : self._at + 2]
        if self._members and not (self._is_gzip and start == _GZIP_MAGIC):
            self._finish()
        else:
            self._recognised = start == _GZIP_MAGIC if self._is_gzip else has_zlib_wrapper(start)
            self._engine = _InflateEngine(_GZIP if self._is_gzip else _ZLIB if self._recognised else _RAW)

    def _reason(self, error: Exception) -> str:
        if self._recognised or self._content:
            return f"The body's {self._name} data is damaged."
        return f"The body does not match its Content-Encoding: it is not {self._name} data."


def has_zlib_wrapper(start: bytes) -> bool:
    """Whether data beginning like this has a zlib header: method 8 in the low half of the first byte, a multiple of 31.

    Raw deflate cannot begin like this: it would be a stored block with non-zero padding, which no encoder writes.
    """
    return len(start) >= 2 and start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0


NO_BROTLI = "The body does not match its Content-Encoding: it is not Brotli data."
AT_ONCE = "The body's Brotli data unpacks to too much at once."


class BrotliStage(Stage):
    """One stream. Bytes after its end are an error: the library drops its output when they come with the stream.

    Unpacking more than `at_once` bytes in one step is an error.
    """

    first_least = next_least = 1
    step = 4 * 1024
    """The library drops what it made of the bytes among which damage is."""

    def __init__(self, at_once: int | None = None) -> None:
        super().__init__()
        self._at_once = at_once

    def _begin(self) -> None:
        if self._members:
            # The library treats trailing bytes in the same piece as an error, so they are one in any piece.
            self.error, self._pending, self._at = NO_BROTLI, b"", 0
        elif self._at_once is not None and brotli_at_once(self._pending) > self._at_once:
            self.error = AT_ONCE
        else:
            self._engine = _BrotliEngine()

    def _reason(self, error: Exception) -> str:
        return NO_BROTLI


def brotli_at_once(start: bytes) -> int:
    """How many bytes the library unpacks, in up to 80 ms, before it returns the first: the length of the first
    meta-block, at most the window (RFC 7932, 9.1 and 9.2). 0 if it is not known."""
    bits, used = int.from_bytes(start[:8], "little"), 0

    def take(count: int) -> int:
        nonlocal used
        used += count
        return bits >> (used - count) & ((1 << count) - 1)

    window = 16
    if take(1):
        large = take(3)
        small = 0 if large else take(3)
        window = 17 + large if large or not small else 8 + small
    if take(1) and take(1):  # the last block, which is empty
        return 0
    nibbles = 4 + take(2)
    return min(take(4 * nibbles) + 1, 1 << window) if nibbles < 7 else 0


_STAGES: dict[str, Callable[[int | None], Stage]] = {
    "gzip": lambda _: InflateStage("gzip"),
    "x-gzip": lambda _: InflateStage("gzip"),
    "deflate": lambda _: InflateStage("deflate"),
    "br": BrotliStage,
    "zstd": lambda _: ZstdStage(),
}
KNOWN = frozenset(_STAGES)


def codings(headers: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The content codings in the order they were applied, without `identity`."""
    values = [value for name, value in headers if name.lower() == "content-encoding"]
    named = (part.strip().lower() for value in values for part in value.split(","))
    return tuple(name for name in named if name and name != "identity")


def unsupported_reason(names: tuple[str, ...]) -> str | None:
    """Why a body with these codings cannot be decoded, in a sentence; None if it can."""
    unknown = next((name for name in names if name not in KNOWN), None)
    if unknown is not None:
        return f"The body is compressed with {unknown[:40]!r}, which Hookline cannot decode."
    if len(names) > MAX_CODINGS:
        return f"The body is compressed {len(names)} times; Hookline decodes at most {MAX_CODINGS}."
    return None


class Decompressor:
    """Removes one coding after the other. Codings that are not supported are an error, and so is unpacking much more
    than `at_once` bytes in one step, where a library cannot be made to unpack fewer."""

    def __init__(self, names: tuple[str, ...], at_once: int | None = None) -> None:
        self.codings = names
        self._refusal = unsupported_reason(names)
        self._stages = [] if self._refusal else [_STAGES[name](at_once) for name in reversed(names)]
        self._plain = b""
        self._between = self._content = 0
        self._hollow = False

    @property
    def error(self) -> str | None:
        """What is wrong with the body, in a sentence; everything before the damage can be read."""
        if self._refusal or self._hollow:
            return self._refusal or HOLLOW
        return next((stage.error for stage in self._stages if stage.error), None)

    @property
    def note(self) -> str | None:
        """A sentence on the bytes after the end of the compressed data, which are not decoded."""
        trailing = sum(stage.trailing for stage in self._stages)
        if not trailing:
            return None
        count = "1 byte follows" if trailing == 1 else f"{trailing:,} bytes follow"
        return f"{count} the end of the compressed data and {'is' if trailing == 1 else 'are'} left out."

    @property
    def needs_input(self) -> bool:
        """Whether all that was fed has been read (after an error, nothing more can be)."""
        return self.error is not None or (not self._plain and all(stage.needs_input for stage in self._stages))

    def feed(self, data: bytes) -> None:
        """The next piece of the body as sent; only while `needs_input`."""
        if self._stages:
            self._stages[0].feed(data)
        elif not self._refusal:
            self._plain += data

    def read(self, limit: int) -> bytes:
        """At most `limit` decoded bytes; empty only when all that was fed has been read."""
        if not self._stages:
            output, self._plain = self._plain[:limit], self._plain[limit:]
            return output
        while not self.needs_input:
            for stage, following in zip(self._stages, self._stages[1:], strict=False):
                if following.needs_input and not stage.needs_input:
                    data = stage.read(min(limit, _STEP))
                    following.feed(data)
                    self._between += len(data)
            output = self._stages[-1].read(limit)
            self._content += len(output)
            self._hollow = self._between > BETWEEN_MAX + BETWEEN_FACTOR * self._content
            if output:
                return output
        return b""

    def unpack(self, data: bytes, limit: int) -> bytes:
        """Feed it a body, or the beginning of one, and return at most `limit` decoded bytes."""
        self.feed(data)
        plain = bytearray()
        while len(plain) < limit and not self.needs_input:
            plain += self.read(limit - len(plain))
        return bytes(plain)

    def finish(self) -> str | None:
        """Call it after the last byte was fed. Returns the error, or that the body is incomplete."""
        ended = all(stage.ended for stage in self._stages)
        return self.error or (None if ended else "The compressed body is incomplete.")


def for_headers(headers: Iterable[tuple[str, str]]) -> Decompressor:
    """For a body with these headers; one that cannot be decoded is read as sent."""
    names = codings(headers)
    return Decompressor(() if unsupported_reason(names) else names)


def unpacked(data: bytes, coding: str, limit: int) -> bytes | None:
    """Data of one coding; None if it is longer than `limit` or damaged."""
    decompressor = Decompressor((coding,))
    plain = decompressor.unpack(data, limit + 1)
    return plain if len(plain) <= limit and decompressor.finish() is None else None


MESSAGE_MAX = 1024 * 1024
"""Maximum bytes of a decompressed gRPC message."""


def decompress_message(data: bytes) -> bytes | None:
    """A gRPC message, its coding detected; None if it is too large, damaged or of an unknown coding."""
    coding = _coding_of_message(data)
    return None if coding is None else unpacked(data, coding, MESSAGE_MAX)


def _coding_of_message(data: bytes) -> str | None:
    if data.startswith(b"\x1f\x8b"):
        return "gzip"
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    return "deflate" if has_zlib_wrapper(data) else None
