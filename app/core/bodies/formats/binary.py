"""Shared by the binary formats: a stream of bytes arriving in pieces, and a formatter whose parser can wait."""

from __future__ import annotations

from collections.abc import Callable, Generator

from app.core.bodies.lines import Line, LineBuilder

INDENT = 2
DEEPEST_INDENT = 40
"""Levels beyond this are not indented further."""
HEX_MAX = 64
"""Bytes of a value shown in hexadecimal; the hex view shows all of them."""

Steps = Generator[bool, None, None]
"""A running parser: yields True after writing something, False when it needs more bytes."""


class InvalidError(Exception):
    """The bytes do not match the format; `str()` says why."""


class TruncatedError(Exception):
    """The bytes end in the middle of a value."""


class ByteStream:
    """Bytes in the order they arrive, read by a generator that can wait for more."""

    def __init__(self, data: bytes = b"", *, final: bool = False) -> None:
        self._data, self._at = data, 0
        self._passed = 0
        self.final = final

    @property
    def available(self) -> int:
        """Available bytes that were not read yet."""
        return len(self._data) - self._at

    @property
    def offset(self) -> int:
        """Of the next byte, from the beginning of the body."""
        return self._passed + self._at

    @property
    def ended(self) -> bool:
        """Whether everything was read and no more bytes follow."""
        return self.final and not self.available

    def feed(self, data: bytes, final: bool) -> None:
        """`final` marks the last piece."""
        self._passed += self._at
        self._data, self._at = self._data[self._at :] + data, 0
        self.final = self.final or final

    def read(self, count: int) -> Generator[bool, None, bytes]:
        """Exactly `count` bytes; raises TruncatedError if the body ends before."""
        while self.available < count:
            if self.final:
                raise TruncatedError
            yield False
        return self.read_available(count)

    def read_available(self, count: int) -> bytes:
        """At most `count` of the available bytes."""
        data = self._data[self._at : self._at + count]
        self._at += len(data)
        return data

    def skip(self, count: int) -> Generator[bool, None, None]:
        """Raises TruncatedError if the body ends before."""
        while count:
            if not self.available:
                if self.final:
                    raise TruncatedError
                yield False
            count -= len(self.read_available(count))


class BinaryFormatter:
    """A formatter that is fed bytes as characters. `sure`: the content type named the format.

    A truncated body of a declared format is shown as far as it goes, with a line that says so; for a guessed format it
    is an error. After an error nothing more is written.
    """

    notes: tuple[str, ...] = ()

    def __init__(self, name: str, parse: Callable[[ByteStream, LineBuilder], Steps], *, sure: bool) -> None:
        self.error: str | None = None
        self._name, self._sure = name, sure
        self._stream, self._lines = ByteStream(), LineBuilder()
        self._steps = parse(self._stream, self._lines)
        self._ended, self._waits = False, True

    @property
    def needs_input(self) -> bool:
        return not len(self._lines) and (self._ended or self._waits)

    def feed(self, text: str, final: bool) -> None:
        """Bytes as Latin-1 characters; `final` marks the last piece."""
        if not self._ended:
            self._stream.feed(text.encode("latin-1"), final)
            self._waits = False

    def next_lines(self, limit: int) -> list[Line]:
        while not self._ended and not self._waits and len(self._lines) < limit:
            try:
                self._waits = not next(self._steps)
            except StopIteration:
                self._end()
            except TruncatedError:
                self._end_early()
            except InvalidError as error:
                self._fail(str(error))
        return self._lines.next_lines(limit)

    def _end_early(self) -> None:
        if not self._sure:
            self._fail("it ends too early")
            return
        self._add_remark("The body ends in the middle of a value.")
        self._end()

    def _fail(self, why: str) -> None:
        self.error = f"Not valid {self._name} at byte {self._stream.offset:,}: {why}."
        self._add_remark("The rest is not valid. See it in Hex.")
        self._end()

    def _add_remark(self, remark: str) -> None:
        if not self._lines.empty:
            self._lines.end_line()
        self._lines.add("control", f"⋯ {remark}")

    def _end(self) -> None:
        self._ended = True
        if not self._lines.empty:
            self._lines.end_line()


def indent(depth: int) -> int:
    """Spaces before a line at this depth."""
    return INDENT * min(depth, DEEPEST_INDENT)


def hex_text(data: bytes) -> str:
    """`0f a0 ff`."""
    return data.hex(" ")


def sized(count: int) -> str:
    """`1 byte`, `1,200 bytes`."""
    return "1 byte" if count == 1 else f"{count:,} bytes"
