"""What binary formats have in common: bytes that come in pieces, and a parser that waits for them and makes lines."""

from __future__ import annotations

from collections.abc import Callable, Generator

from app.core.bodies.lines import Line, LineBuilder

INDENT = 2
DEEPEST_INDENT = 40
"""Levels that are still indented."""
HEX_MAX = 64
"""Bytes of a value that are shown as hexadecimal; hex shows all of them."""

Steps = Generator[bool, None, None]
"""A parser at work: it yields True when something was said, False when it can say no more before more bytes come."""


class WrongError(Exception):
    """The bytes are not what the format asks for; `str()` says why, in words."""


class BrokenOffError(Exception):
    """The bytes end in the middle of something."""


class ByteStream:
    """Bytes in the order they come, read by a generator that waits."""

    def __init__(self, data: bytes = b"", *, final: bool = False) -> None:
        self._data, self._at = data, 0
        self._passed = 0
        self.final = final

    @property
    def left(self) -> int:
        """Bytes that are there and were not read."""
        return len(self._data) - self._at

    @property
    def offset(self) -> int:
        """Of the next byte, from the beginning of the body."""
        return self._passed + self._at

    @property
    def ended(self) -> bool:
        """Whether all was read and nothing more comes."""
        return self.final and not self.left

    def feed(self, data: bytes, final: bool) -> None:
        """More bytes; `final` with the last of them."""
        self._passed += self._at
        self._data, self._at = self._data[self._at :] + data, 0
        self.final = self.final or final

    def read(self, count: int) -> Generator[bool, None, bytes]:
        """Exactly so many bytes; BrokenOffError where the body ends before."""
        while self.left < count:
            if self.final:
                raise BrokenOffError
            yield False
        return self.take(count)

    def take(self, count: int) -> bytes:
        """At most so many of the bytes that are there."""
        taken = self._data[self._at : self._at + count]
        self._at += len(taken)
        return taken

    def skip(self, count: int) -> Generator[bool, None, None]:
        """Pass so many bytes by, however many."""
        while count:
            if not self.left:
                if self.final:
                    raise BrokenOffError
                yield False
            count -= len(self.take(count))


class BinaryFormatter:
    """A formatter that is fed bytes as characters. `sure` tells that the content type named the format.

    Where that is so, bytes that break off are shown as far as they come, with a line that says so; where the format was
    only guessed, they are an error like any other. After an error nothing more is said.
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
        """Whether it can say nothing more before more is fed."""
        return not len(self._lines) and (self._ended or self._waits)

    def feed(self, text: str, final: bool) -> None:
        """More bytes, each the character of its number; `final` with the last of them."""
        if not self._ended:
            self._stream.feed(text.encode("latin-1"), final)
            self._waits = False

    def take(self, limit: int) -> list[Line]:
        """The next lines, at most `limit`."""
        while not self._ended and not self._waits and len(self._lines) < limit:
            try:
                self._waits = not next(self._steps)
            except StopIteration:
                self._end()
            except BrokenOffError:
                self._break_off()
            except WrongError as error:
                self._fail(str(error))
        return self._lines.take(limit)

    def _break_off(self) -> None:
        if not self._sure:
            self._fail("it ends too early")
            return
        self._say("The body breaks off here.")
        self._end()

    def _fail(self, why: str) -> None:
        self.error = f"Not valid {self._name} at byte {self._stream.offset:,}: {why}."
        self._say("What follows is not valid; hex shows it.")
        self._end()

    def _say(self, words: str) -> None:
        if not self._lines.empty:
            self._lines.end_line()
        self._lines.add("control", f"⋯ {words}")

    def _end(self) -> None:
        self._ended = True
        if not self._lines.empty:
            self._lines.end_line()


def indent(depth: int) -> int:
    """Spaces before a line at this depth."""
    return INDENT * min(depth, DEEPEST_INDENT)


def hex_text(data: bytes) -> str:
    """The bytes as hexadecimal, two digits each."""
    return data.hex(" ")


def sized(count: int) -> str:
    """`1 byte`, `1,200 bytes`."""
    return "1 byte" if count == 1 else f"{count:,} bytes"
