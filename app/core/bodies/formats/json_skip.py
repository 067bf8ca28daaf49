"""The state of a JSON text at an offset: open lists and objects, and the line number in its indented form. Reads about
100 MB/s, because regular expressions and byte counts do the work instead of a tokenizer."""

from __future__ import annotations

import re
from typing import NamedTuple

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
STRING_REST = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_SPACES = b" \t\r\n"
_SCALAR = bytes(code if code in b'[]{},:"' else ord("s") for code in range(256))
_NO_BRACKETS = bytes(code for code in range(256) if code not in b"[]{}")
PASSES = 32
"""Levels that are removed as matching pairs; deeper nesting within a piece is processed bracket by bracket."""
_OPENS = {ord("]"): ord("["), ord("}"): ord("{")}


class JsonState(NamedTuple):
    """`offset` bytes were read. `line` is the number of the indented line the next token stands on or begins after."""

    offset: int = 0
    stack: bytes = b""
    line: int = 1
    last: bytes = b""
    """The last two signs outside of strings, `s` for a plain value."""
    in_string: bool = False


class JsonSkip:
    """`feed` it bytes in an ASCII-compatible charset; `state` describes what was read so far.

    `broken`: brackets do not match, and `state` is meaningless.
    """

    def __init__(self, state: JsonState | None = None) -> None:
        self.state = state or JsonState()
        self.broken = False
        self._rest = b""

    @property
    def waiting(self) -> bytes:
        """Fed, but not processed until more follows."""
        return self._rest

    def feed(self, data: bytes) -> None:
        """A backslash at the end is held back until more follows."""
        data = self._rest + data
        self._rest = b""
        offset, stack, line, last, in_string = self.state
        offset += len(data)
        if in_string:
            match = STRING_REST.match(data)
            end = match.end() if match else 0
            if end == len(data):
                self.state = JsonState(offset, stack, line, last, True)
                return
            if data[end : end + 1] != b'"':  # a backslash at the very end
                self._rest = data[end:]
                self.state = JsonState(offset - len(self._rest), stack, line, last, True)
                return
            data, last = data[end + 1 :], (last + b"s")[-2:]
        signs = _STRING.sub(b"s", data)
        opened = signs.find(b'"')
        in_string = opened >= 0
        if in_string:
            trailing = len(signs) - len(signs.rstrip(b"\\"))
            self._rest = b"\\" if trailing % 2 else b""
            signs = signs[:opened]
        signs = signs.translate(_SCALAR, _SPACES)
        line += _breaks(last[-1:] + signs) - _breaks(last[-1:])
        left = self._without_pairs(signs)
        stack = self._after(stack, left)
        tail = re.sub(rb"s+", b"s", last + signs[-64:])[-2:] if len(signs) > 64 else re.sub(rb"s+", b"s", last + signs)
        self.state = JsonState(offset - len(self._rest), stack, line, tail[-2:], in_string)

    def _without_pairs(self, signs: bytes) -> bytes:
        brackets = signs.translate(None, _NO_BRACKETS)
        for _ in range(PASSES):
            fewer = brackets.replace(b"[]", b"").replace(b"{}", b"")
            if len(fewer) == len(brackets):
                break
            brackets = fewer
        return brackets

    def _after(self, stack: bytes, brackets: bytes) -> bytes:
        open_ones = bytearray(stack)
        for sign in brackets:
            if sign in b"[{":
                open_ones.append(sign)
            elif open_ones and open_ones[-1] == _OPENS[sign]:
                open_ones.pop()
            else:
                self.broken = True
                break
        return bytes(open_ones)


def _breaks(signs: bytes) -> int:
    """Line breaks that the indented form has for these."""
    brackets = sum(map(signs.count, (b"[", b"]", b"{", b"}")))
    empty = signs.count(b"[]") + signs.count(b"{}")
    return signs.count(b",") + brackets - 2 * empty
