"""Random requests: bodies of all kinds, odd headers, paths, senders."""

from __future__ import annotations

import base64
import gzip
import json
import quopri
import random
import zlib
from typing import Any
from urllib.parse import quote, quote_plus

from app.core.ids import first_id
from app.core.model import Capture, DeliveryState
from app.core.record import Headers
from tests import factories

WORDS = (
    *("paid", "invoice.paid", "Größe", "STRASSE", "订单", "订 单", "😀", "e\u0301", "x-paid/off", "a_b%c"),
    *("back\\slash", 'quo"te', "tab\there", "paid123", "\u212aelvin", "\u017fharp", "<b>&amp;", "50%", "null", "12.50"),
    *("İstanbul", "\x1f"),
)
NUMBERS = (2**53 + 1, "12.50", -3, -0.0, 1e-7, 12345678901234567890, "1_000", 77, "77.0", 7.7e300)
KEYS = ("id", "type", "amount", "a.b", "Größe", "订", "K", "data", "0", "with space", "x" * 120)
PATHS = ("/catch/s", "/catch/s/orders/7", "/Orders/%C3%9Cber", "/catch/订".encode().decode("latin-1"), "/a_b%25c")
SOURCES = ("127.0.0.1", "10.1.2.3", "::ffff:10.1.2.4", "2001:db8::7", "somewhere")
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


def value(rnd: random.Random, depth: int = 2) -> Any:
    kind = rnd.randrange(8 if depth else 6)
    if kind < 3:
        return " ".join(rnd.choices(WORDS, k=rnd.randint(1, 3)))
    if kind < 5:
        return rnd.choice([rnd.randrange(100), rnd.random() * 100, rnd.choice(NUMBERS)])
    if kind == 5:
        return rnd.choice([True, False, None])
    if kind == 6:
        return [value(rnd, depth - 1) for _ in range(rnd.randrange(3))]
    return {key: value(rnd, depth - 1) for key in rnd.sample(KEYS, rnd.randrange(1, 4))}


def body(rnd: random.Random) -> tuple[bytes, str, Headers]:
    """A body, its type, and the headers that it needs."""
    text = json.dumps({key: value(rnd) for key in rnd.sample(KEYS, 3)}, ensure_ascii=rnd.random() < 0.5)
    words = " ".join(rnd.choices(WORDS, k=5))
    coded = base64.encodebytes(words.encode()).decode()
    made: list[tuple[bytes, str, Headers]] = [
        (text.encode(), JSON, ()),
        (text.replace("a", "\\u0061").encode(), JSON, ()),
        (json.dumps({"Message": text}).replace("/", "\\/").encode(), "text/plain", ()),
        (text.encode("utf-16"), JSON, ()),
        (gzip.compress(text.encode(), mtime=0), JSON, (("Content-Encoding", "gzip"),)),
        (zlib.compress(text.encode())[:-6], JSON, (("Content-Encoding", "deflate"),)),
        (f"a={quote_plus(words)}&b={quote(text)}".encode(), FORM, ()),
        (words.encode(), "text/plain", ()),
        (words.encode("latin-1", "replace"), "text/plain; charset=latin-1", ()),
        (quopri.encodestring(words.encode()), "text/plain", ()),
        (f"--b\r\nContent-Transfer-Encoding: base64\r\n\r\n{coded}\r\n--b--".encode(), "multipart/a; boundary=b", ()),
        (b"\x00\xff\xfe" + words.encode() + b"\\ud83d", "application/octet-stream", ()),
        (b'{"id": "\\ud83d", "type": "\\u0000nul", "data": "a\x00b"}', JSON, ()),
        (f"<a>{words}</a>".encode(), "application/xml", ()),
        (b"", "", ()),
    ]
    return rnd.choice(made)


LONG = (20_000, 201_000, 1_100_000)
"""Bytes of long bodies: the second is longer than the text that is indexed, the third than a part of a body."""


def new_id(rnd: random.Random, at: int) -> str:
    """A UUIDv7 of this time."""
    return f"{first_id(at)}-{0x8000 | rnd.getrandbits(14):04x}-{rnd.getrandbits(48):012x}"


def request(rnd: random.Random, endpoint_id: int, received_at: int, *, size: int = 0) -> tuple[Capture, bytes]:
    """One that is not stored yet, with its body, which has about this `size` unless it is 0."""
    words = rnd.choices(WORDS, k=2)
    sent = [word.encode().decode("latin-1") for word in words]  # as a field of the head has it
    long = f"{words[0]}{'.' * size} the end".encode()
    data, kind, needed = (long, "text/plain", ()) if size else body(rnd)
    headers = (("Host", "h"), ("Content-Type", kind), *needed)
    if rnd.random() < 0.5:
        headers += ((rnd.choice(["X-Kind", "x-kind", "X-Other"]), sent[0].replace("\t", " ")),)
    if rnd.random() < 0.1:
        headers += (("X-Odd", f" {sent[1]} "), ("x-odd", ""), ("X-ODD", "\xff\x80"))
    capture = factories.capture(
        data,
        id=new_id(rnd, received_at),
        endpoint_id=endpoint_id,
        received_at=received_at,
        target=f"{rnd.choice(PATHS)}?q={quote_plus(words[1])}",
        headers=headers,
        content_type=kind,
        method=rnd.choice(["POST", "POST", "PUT"]),
        response_status=rnd.choice([200, 200, 404, 503]),
        source_address=rnd.choice(SOURCES),
        complete=rnd.random() < 0.9,
        delivery=rnd.choice([DeliveryState.NONE, DeliveryState.NONE, DeliveryState.FAILED, DeliveryState.DELIVERED]),
        provider=rnd.choice([None, "stripe", "GitHub", "ÉCLAIR"]),
        event=rnd.choice([None, "invoice.paid", "Push", "é"]),
        gist=words[0],
        delivery_id=rnd.choice([None, words[1]]),
        read=rnd.random() < 0.3,
        trailers=rnd.choice([(), (), (("X-Sum", sent[0]),)]),
    )
    return capture, data
