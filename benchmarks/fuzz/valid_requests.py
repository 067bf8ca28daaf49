"""Valid HTTP/1.x requests of many shapes, made from a seeded generator, with what they mean beside their bytes."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from dataclasses import dataclass
from enum import Enum
from random import Random

from app.core.model import METHODS, Auth, EndpointDraft, ResponseSettings

PLAIN, SECURED, INACTIVE, DELAYED = "fuzz-plain", "fuzz-secured", "fuzz-inactive", "fuzz-delayed"
USER, PASSWORD = "fuzz", "s3cret"
ENDPOINTS = (
    EndpointDraft(name="Plain", slug=PLAIN),
    EndpointDraft(name="Secured", slug=SECURED, auth=Auth(kind="basic", name=USER, secret=PASSWORD)),
    EndpointDraft(name="Inactive", slug=INACTIVE, active=False),
    EndpointDraft(
        name="Delayed",
        slug=DELAYED,
        response=ResponseSettings(status=201, headers=(("X-Fuzz", "yes"),), body=None, delay_ms=15),
    ),
)
"""What the program must hold before requests are sent to it."""

Headers = list[tuple[bytes, bytes]]


class Fate(Enum):
    """What must become of a valid request: `EITHER` where capturing and refusing are both right."""

    STORED = "stored"
    REFUSED = "refused"
    EITHER = "either"


@dataclass(frozen=True)
class HttpRequest:
    """A request as read: values without the blanks around them, the body without its framing."""

    method: bytes
    target: bytes
    version: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    trailers: tuple[tuple[bytes, bytes], ...] = ()
    chunked: bool = False


@dataclass(frozen=True)
class ValidRequest:
    """A request, its bytes on the wire, and its fate."""

    request: HttpRequest
    wire: bytes
    fate: Fate


_ODD_SUFFIXES = (
    "/café".encode(),
    "/日本?q=ü".encode(),
    b"/a#fragment",
    b'/"quoted"<x>',
    b"/{a}|b^c`d",
    b"/a\\b",
    b"/%zz%",
    b"/\xff\xfe",
)
_SUFFIXES = (
    b"",
    b"/",
    b"/a/b/c",
    b"/%2F%2e%2e/x",
    b"/../../admin",
    b"/..%2f..%2fadmin",
    b"//double//slash",
    b"/./x",
    b"/;p=1;q",
    b"?",
    b"?a=1&a=2&b",
    b"/x?next=http://host/path?x=1",
    b"?%00%0d%0a",
    b"/*",
    b"/@:!$&'()+,;=~",
)
_TYPES = (
    b"application/json",
    b"text/plain; charset=utf-8",
    b"application/x-www-form-urlencoded",
    b"multipart/form-data; boundary=x",
    b"",
    b"nonsense;;;",
)
_VALUES = (
    b"",
    b"1",
    b"a b\tc",
    b'"quoted, comma"',
    b"\xe9\xff\x80",
    b"x" * 300,
    b"a:b:c",
    b"{}",
    b"\xe2\x82\xac",
    b"=?utf-8?q?x?=",
)
_SINGLE = (b"Content-Type", b"User-Agent", b"ETag", b"Server", b"Host", b"Referer", b"Date", b"Age")
_EXTENSIONS = (b"", b"", b"", b";a", b";a=b", b';a="b c";d', b";" + b"e" * 100)


def valid_request(random: Random, mark: str, *, last: bool) -> ValidRequest:
    """One request; `mark` stands in its target. Only the `last` of a connection may end it."""
    slug, fate = _slug(random)
    method = random.choice(METHODS).encode()
    if random.random() < 0.01:
        method, fate = random.choice((b"PROPFIND", b"CONNECT", b"TRACE", b"BREW", b"get")), Fate.REFUSED
    target, odd = _target(random, slug, mark)
    version = b"1.0" if last and random.random() < 0.08 else b"1.1"
    headers, harmless = _headers(random, slug)
    if odd or harmless:
        fate = Fate.EITHER if fate is Fate.STORED else fate
    if last and random.random() < 0.15:
        headers.append((b"Connection", random.choice((b"close", b"Close", b"close, x"))))
    elif random.random() < 0.1:
        headers.append((b"Connection", b"keep-alive"))
    body = _body(random)
    request, wire = _framed(random, HttpRequest(method, target, version, tuple(headers), body))
    return ValidRequest(request, wire, fate)


def _slug(random: Random) -> tuple[str, Fate]:
    at = random.random()
    if at < 0.84:
        return PLAIN, Fate.STORED
    if at < 0.90:
        return SECURED, Fate.STORED
    if at < 0.95:
        return DELAYED, Fate.STORED
    return random.choice(((INACTIVE, Fate.REFUSED), ("fuzz-unknown", Fate.REFUSED)))


def _target(random: Random, slug: str, mark: str) -> tuple[bytes, bool]:
    """The target, and whether it is odd enough that a server may refuse it."""
    path, at = f"/catch/{slug}".encode(), random.random()
    if at < 0.05:
        return path + random.choice(_ODD_SUFFIXES) + mark.encode(), True
    if at < 0.08:
        return b"http://any.host:80" + path + b"/" + mark.encode(), True
    if at < 0.11:
        return path + b"/" + b"l" * random.randrange(1_000, 50_000) + mark.encode(), False
    suffix = random.choice(_SUFFIXES)
    return path + suffix + (b"&" if b"?" in suffix else b"/") + mark.encode(), False


def _headers(random: Random, slug: str) -> tuple[Headers, bool]:
    """Headers without framing, and whether one of them is odd enough that a server may refuse it."""
    headers: Headers = [(b"Host", b"127.0.0.1:8787")]
    odd = False
    for number in range(random.choice((0, 1, 2, 3, 5, 40))):
        name = random.choice(
            (b"X-Fuzz", b"x-fuzz", b"X_Under", b"Cookie", b"X-%d" % number, b"Accept", b"!#$%&'*+.^`|~")
        )
        headers.append((name, random.choice(_VALUES)))
    if random.random() < 0.03:
        headers.append((b"X-Long", b"v" * random.randrange(8_000, 60_000)))
    headers.append((b"Content-Type", random.choice(_TYPES)))
    if random.random() < 0.05:
        name = random.choice(_SINGLE)
        headers.append((name, b"127.0.0.1:8787" if name == b"Host" else b"twice"))
        odd = True
    if random.random() < 0.05:
        headers += [(b"Connection", b"Upgrade"), (b"Upgrade", random.choice((b"websocket", b"h2c", b"tls/1.2")))]
        odd = True
    if random.random() < 0.02:
        headers.append((b"Sec-WebSocket-Key1", b"4 @1  46546xW%0l 1 5"))
        odd = True
    if slug == SECURED:
        token = base64.b64encode(f"{USER}:{PASSWORD}".encode())
        headers.append((b"Authorization", b"Basic " + token))
    random.shuffle(headers)
    return headers, odd


def _body(random: Random) -> bytes:
    at = random.random()
    if at < 0.2:
        return b""
    if at < 0.5:
        return json.dumps({"id": random.getrandbits(64), "text": "é\u2028" * random.randrange(20)}).encode()
    if at < 0.65:
        return random.randbytes(random.randrange(1, 2_000))
    if at < 0.75:
        hidden = b"POST /catch/fuzz-plain/hidden HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        return random.choice((b"", b"0\r\n\r\n", b"\r\n", b"x" * 7)) + hidden * random.randrange(1, 3)
    if at < 0.8:
        return bytes(random.choice(b"\r\n0:;a ") for _ in range(random.randrange(1, 60)))
    if at < 0.9:
        return random.choice((gzip.compress, zlib.compress))(b"packed " * random.randrange(1, 500))
    if at < 0.997:
        return random.randbytes(8) * random.randrange(1, 8_000)
    return random.randbytes(1_024) * random.randrange(1_000, 2_600)


def _framed(random: Random, request: HttpRequest) -> tuple[HttpRequest, bytes]:
    headers, trailers = list(request.headers), Headers()
    chunked = request.version == b"1.1" and random.random() < 0.25
    if not chunked and not request.body and request.method in (b"GET", b"HEAD", b"DELETE", b"OPTIONS", b"TRACE"):
        framing: Headers = []
    elif chunked:
        framing = [
            (random.choice((b"Transfer-Encoding", b"transfer-encoding")), random.choice((b"chunked", b"Chunked")))
        ]
    else:
        framing = [(random.choice((b"Content-Length", b"content-length")), b"%d" % len(request.body))]
    if request.body and random.random() < 0.08:
        framing.append((b"Expect", b"100-continue"))
    if request.body[:2] == b"\x1f\x8b" or random.random() < 0.05:
        framing.append(
            (b"Content-Encoding", random.choice((b"gzip", b"gzip", b"deflate", b"br", b"zstd", b"x-unknown")))
        )
    at = random.randrange(len(headers) + 1)
    headers[at:at] = framing
    if chunked and random.random() < 0.2:
        trailers = [(b"X-Trailer", b"one"), (b"X-Checksum", b"a b")][: random.randrange(1, 3)]
    lines = [b"%b %b HTTP/%b" % (request.method, request.target, request.version)]
    lines += [name + b":" + random.choice((b" ", b" ", b" ", b"", b"  ", b"\t")) + value for name, value in headers]
    body = _chunks(random, request.body, trailers) if chunked else request.body
    framed = HttpRequest(
        request.method, request.target, request.version, stripped(headers), request.body, stripped(trailers), chunked
    )
    return framed, b"\r\n".join(lines) + b"\r\n\r\n" + body


def stripped(headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    """Headers as they are read: blanks around a value are no part of it."""
    return tuple((name, value.strip(b" \t")) for name, value in headers)


def _chunks(random: Random, body: bytes, trailers: Headers) -> bytes:
    parts: list[bytes] = []
    at = 0
    while at < len(body):
        size = min(random.choice((1, 2, 15, 16, 255, 4_096, len(body))), len(body) - at)
        if len(parts) > 100:
            size = len(body) - at
        digits = random.choice((b"%x", b"%X", b"0%x", b"000%x")) % size
        parts.append(digits + random.choice(_EXTENSIONS) + b"\r\n" + body[at : at + size] + b"\r\n")
        at += size
    last = random.choice((b"0", b"0", b"00", b"0;last"))
    ending = b"".join(name + b": " + value + b"\r\n" for name, value in trailers)
    return b"".join(parts) + last + b"\r\n" + ending + b"\r\n"
