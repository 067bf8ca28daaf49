"""Changes to the bytes of requests that break them, or nearly."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

_PIECES = (
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\r\n",
    b"\r\n\r\n",
    b"\n\n",
    b"\0",
    b" ",
    b"\t",
    b":",
    b"\x0b",
    b"\x7f",
    b"\xff",
    b"\xc0\xaf",
    b"0\r\n\r\n",
    b"HTTP/1.1",
    b"HTTP/2.0",
    b"HTTP/9.9",
    b"GET / HTTP/1.1\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"{{7*7}}",
    b"%0d%0a",
    b"-1",
    b"99999999999999999999999",
    b"ffffffffffffffffff",
)
_LINES = (
    b"Content-Length: 0",
    b"Content-Length: 5",
    b"Content-Length: +5",
    b"Content-Length: -1",
    b"Content-Length: 5, 5",
    b"Content-Length: 5, 6",
    b"Content-Length: 0x5",
    b"Content-Length: 1e1",
    b"Content-Length:",
    b"Content-Length: 1 0",
    b"Content-Length: 99999999999999999999999999",
    b"Content-Length: " + b"0" * 5_000 + b"1",
    b"Content_Length: 3",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: chunked, gzip",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding:\x0bchunked",
    b" Transfer-Encoding: chunked",
    b"X: a\r\n folded",
    b"X: a\r\n\tTransfer-Encoding: chunked",
    b'Transfer-Encoding: "chunked"',
    b"Transfer-Encoding: chunked\0",
    b"Host: other.host",
    b"Host:",
    b"Connection: close",
    b"Connection: keep-alive, upgrade",
    b"Upgrade: websocket",
    b"no colon here",
    b": no name",
    b"X-Nul: a\0b",
    b"X Space: 1",
    b"X-Cr: a\rb",
    b"X-Lf: a\nb",
    b"Expect: 100-continue",
    b"Expect: nonsense",
    b"Sec-WebSocket-Key1: 1 2",
    b"X-Big: " + b"b" * 70_000,
    b"Content-Encoding: gzip",
    b"Authorization: Basic !!!",
    b"Trailer: X",
    b"\r\n".join(b"X-Many-%d: 1" % number for number in range(1_100)),
    b"X-Hookline-Forwarded-By: x",
    b"\xe9\xe9: 1",
)
_NUMBER = re.compile(rb"\d+")
_CHUNK = re.compile(rb"\r\n[0-9a-fA-F]+(?=[;\r])")
_SIZES = (
    b"0",
    b"1",
    b"7fffffff",
    b"80000000",
    b"ffffffffffffffff",
    b"10000000000000000",
    b"-1",
    b"+1",
    b"0x1",
    b"",
    b" 1",
    b"1 ",
    b"g",
    b"1_0",
    b"\xd9\xa1",
)
_LENGTHS = (
    b"0",
    b"1",
    b"-1",
    b"+1",
    b"007",
    b"4294967296",
    b"9223372036854775808",
    b"1048577",
    b"104857601",
    b"1.0",
    b"",
    b"\xc2\xb2",
    b"1_0",
)
MOST = 6_000_000
"""Bytes that a mutated stream may have."""

Mutation = Callable[[Random, bytes], bytes]


def mutated(random: Random, data: bytes, other: bytes) -> bytes:
    """`data` after one to four changes; some splice in parts of `other`."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        if random.random() < 0.12:
            data = data[: _at(random, data)] + other[_at(random, other) :]
        else:
            data = random.choice(_MUTATIONS)(random, data)
        data = data[:MOST] or b"\r\n"
    return data


def _at(random: Random, data: bytes) -> int:
    """A place in `data`, more often in its head than in a long body."""
    head = data.find(b"\r\n\r\n") + 4
    return random.randrange((head if head >= 4 and random.random() < 0.7 else len(data)) + 1)


def _flip(random: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[min(_at(random, data), len(data) - 1)] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(random: Random, data: bytes) -> bytes:
    at = _at(random, data)
    return data[:at] + data[at + random.choice((1, 1, 2, 10, 200)) :]


def _end(random: Random, data: bytes) -> bytes:
    return data[: _at(random, data)]


def _insert(random: Random, data: bytes) -> bytes:
    at = _at(random, data)
    return data[:at] + random.choice(_PIECES) + data[at:]


def _insert_random(random: Random, data: bytes) -> bytes:
    at = _at(random, data)
    return data[:at] + random.randbytes(random.choice((1, 2, 30, 3_000))) + data[at:]


def _line_end(random: Random, data: bytes) -> bytes:
    """Another end for one line, or for all of them."""
    new = random.choice((b"\n", b"\r", b"\r\r\n", b"\n\r", b" \r\n", b"\0\r\n", b"\r\n ", b""))
    if random.random() < 0.3:
        return data.replace(b"\r\n", new)
    places = [found.start() for found in re.finditer(b"\r\n", data[:20_000])]
    if not places:
        return data + new
    at = random.choice(places)
    return data[:at] + new + data[at + 2 :]


def _add_line(random: Random, data: bytes) -> bytes:
    places = [found.end() for found in re.finditer(b"\r\n", data[: max(data.find(b"\r\n\r\n"), 0) + 2])]
    at = random.choice(places or [0])
    return data[:at] + random.choice(_LINES) + b"\r\n" + data[at:]


def _repeat(random: Random, data: bytes) -> bytes:
    at, length = _at(random, data), random.choice((1, 4, 60, 1_000))
    return data[:at] + data[at : at + length] * random.choice((2, 3, 50)) + data[at + length :]


def _swap(random: Random, data: bytes) -> bytes:
    a, b, c = sorted(_at(random, data) for _ in range(3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _length(random: Random, data: bytes) -> bytes:
    return _replace_one(random, data, re.compile(rb"(?<=ontent-[Ll]ength: )\d+"), random.choice(_LENGTHS))


def _number(random: Random, data: bytes) -> bytes:
    return _replace_one(random, data, _NUMBER, random.choice((*_LENGTHS, *_SIZES)))


def _chunk_size(random: Random, data: bytes) -> bytes:
    return _replace_one(random, data, _CHUNK, b"\r\n" + random.choice(_SIZES))


def _replace_one(random: Random, data: bytes, pattern: re.Pattern[bytes], new: bytes) -> bytes:
    places = list(pattern.finditer(data[:20_000]))
    if not places:
        return _flip(random, data)
    found = random.choice(places)
    return data[: found.start()] + new + data[found.end() :]


def _garbage(random: Random, data: bytes) -> bytes:
    alone = random.randbytes(random.randrange(1, 200))
    return random.choice((data + random.randbytes(40), alone, random.choice(_PIECES) + data))


_MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _flip,
    _cut,
    _end,
    _insert,
    _insert,
    _insert_random,
    _line_end,
    _add_line,
    _add_line,
    _add_line,
    _repeat,
    _swap,
    _length,
    _number,
    _chunk_size,
    _chunk_size,
    _garbage,
)
