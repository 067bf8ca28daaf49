"""Both engines give the same answers: random requests, random searches."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import quopri
import random
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from app.core.clock import now_us
from app.core.model import DeliveryState
from app.core.search.format import quoted
from app.core.search.parse import parse
from app.core.search.query import QueryError
from app.db.postgres.store import Store as PostgresStore
from app.db.sqlite.store import Store as SqliteStore
from tests import factories
from tests.db.search.index import indexed, make_small, without_index
from tests.db.search.test_search import search
from tests.stored import store_request

REQUESTS, QUERIES = 300, 100
LONG = {50: 20_000, 150: 201_000, 250: 1_100_000}
"""Characters of the bodies of these requests."""
WORDS = (
    *("paid", "invoice.paid", "Größe", "STRASSE", "订单", "订 单", "😀", "e\u0301", "x-paid/off", "a_b%c"),
    *("back\\slash", 'quo"te', "tab\there", "paid123", "\u212aelvin", "\u017fharp", "<b>&amp;", "50%", "null", "12.50"),
    *("İstanbul", "\x1f"),
)
KEYS = ("id", "type", "amount", "a.b", "Größe", "订", "K", "data", "0", "with space", "x" * 120)
PATHS = ("/catch/s", "/catch/s/orders/7", "/Orders/%C3%9Cber", "/catch/订", "/a_b%25c")
SOURCES = ("127.0.0.1", "10.1.2.3", "::ffff:10.1.2.4", "2001:db8::7", "somewhere")
NETWORKS = ("127.0.0.1", "10.0.0.0/8", "10.1.0.0/15", "2001:db8::/32", "::ffff:10.1.2.4", "::/0")
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


def value(rnd: random.Random, depth: int = 2) -> Any:
    kind = rnd.randrange(8 if depth else 6)
    if kind < 3:
        return " ".join(rnd.choices(WORDS, k=rnd.randint(1, 3)))
    if kind < 5:
        return rnd.choice([rnd.randrange(100), rnd.random() * 100, 2**53 + 1, "12.50", -3])
    if kind == 5:
        return rnd.choice([True, False, None])
    if kind == 6:
        return [value(rnd, depth - 1) for _ in range(rnd.randrange(3))]
    return {key: value(rnd, depth - 1) for key in rnd.sample(KEYS, rnd.randrange(1, 4))}


def body(rnd: random.Random) -> tuple[bytes, str, tuple[tuple[str, str], ...]]:
    """A body, its type, and the headers that it needs."""
    text = json.dumps({key: value(rnd) for key in rnd.sample(KEYS, 3)}, ensure_ascii=rnd.random() < 0.5)
    words = " ".join(rnd.choices(WORDS, k=5))
    coded = base64.encodebytes(words.encode()).decode()
    made: list[tuple[bytes, str, tuple[tuple[str, str], ...]]] = [
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


def request(rnd: random.Random, number: int) -> tuple[dict[str, Any], bytes]:
    data, kind, needed = body(rnd)
    words = rnd.choices(WORDS, k=2)
    if number in LONG:
        data, kind, needed = (words[0] + "." * LONG[number] + " the end").encode(), "text/plain", ()
    headers = (("Host", "h"), ("Content-Type", kind), *needed)
    if rnd.random() < 0.5:
        headers += ((rnd.choice(["X-Kind", "x-kind", "X-Other"]), words[0].replace("\t", " ")),)
    if rnd.random() < 0.1:
        headers += (("X-Odd", f" {words[1]} "),)
    return {
        "received_at": now_us() + number * 1000 - rnd.choice([0, 0, 0, 50_000]),
        "target": f"{rnd.choice(PATHS)}?q={quote_plus(words[1])}",
        "headers": headers,
        "content_type": kind,
        "method": rnd.choice(["POST", "POST", "PUT"]),
        "response_status": rnd.choice([200, 200, 404, 503]),
        "source_address": rnd.choice(SOURCES),
        "complete": rnd.random() < 0.9,
        "delivery": rnd.choice([DeliveryState.NONE, DeliveryState.NONE, DeliveryState.FAILED, DeliveryState.DELIVERED]),
        "provider": rnd.choice([None, "stripe", "GitHub", "ÉCLAIR"]),
        "event": rnd.choice([None, "invoice.paid", "Push", "é"]),
        "read": rnd.random() < 0.3,
    }, data


def piece(rnd: random.Random) -> str:
    """A word, or a part of one, as one types it."""
    text = rnd.choice([*WORDS, rnd.choice(KEYS), rnd.choice(PATHS), "the end", "content-type: ", "host: h", "nowhere"])
    if rnd.random() < 0.5:
        begin = rnd.randrange(len(text))
        text = text[begin : begin + rnd.randint(1, 6)]
    return rnd.choice([text, text.upper(), text.lower()])


def leaf(rnd: random.Random) -> str:
    name, text = quoted(rnd.choice(KEYS)), quoted(piece(rnd))
    number = rnd.choice(["7", "50", "12.5", "9007199254740993", "-3"])
    return rnd.choice(
        [
            *[text] * 8,
            f"path:{text}",
            f"header:x-kind={quoted(rnd.choice(WORDS))}",
            f"header:x-kind=~{text}",
            f"header:{rnd.choice(['x-other', 'x-odd', 'content-encoding', 'no-such'])}",
            f"json:{name}",
            f"json:{name}={quoted(str(value(rnd, 0)))}",
            f"json:{name}!={text}",
            f"json:{name}~{text}",
            f"json:{name}{rnd.choice(['<', '<=', '>', '>=', '='])}{number}",
            f"json:data.{name}",
            f"json:*.{name}~{text}",
            f"method:{rnd.choice(['POST', 'put'])}",
            f"status:{rnd.choice(['200', '4xx', '>=404', '<300'])}",
            f"size:{rnd.choice(['0', '>100', '<50', '20..200'])}",
            f"from:{rnd.choice(NETWORKS)}",
            f"provider:{rnd.choice(['Stripe', 'github', 'éclair', 'ÉCLAIR', 'no'])}",
            f"event:{rnd.choice(['Invoice.Paid', 'push', 'É', 'é'])}",
            f"tag:{rnd.choice(['SHOP', 'eu', 'é'])}",
            f"is:{rnd.choice(['read', 'unread', 'starred', 'noted', 'incomplete'])}",
            f"delivery:{rnd.choice(['none', 'failed', 'delivered', 'queued'])}",
        ]
    )


def query(rnd: random.Random, depth: int = 2) -> str:
    kind = rnd.randrange(6 if depth else 3)
    if kind < 2:
        return leaf(rnd)
    if kind == 2:
        return f"-{leaf(rnd)}"
    parts = [query(rnd, depth - 1) for _ in range(2)]
    return f"({' OR '.join(parts) if kind == 3 else ' '.join(parts)})" if kind < 5 else f"-({' '.join(parts)})"


def queries(rnd: random.Random) -> list[str]:
    found: list[str] = []
    while len(found) < QUERIES:
        text = query(rnd)
        try:
            parse(text)
        except QueryError:
            continue
        found.append(text)
    return found


@pytest.fixture
async def both(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[Any]]:
    """Stores of both engines, with small indexes."""
    make_small(monkeypatch, group=128)
    stores: list[Any] = [await SqliteStore.open(tmp_path, lambda _: None)]
    stores.append(await PostgresStore.open(postgres_url, lambda _: None))
    yield stores
    for store in stores:
        await store.close()


@pytest.mark.parametrize("seed", [1, 2])
async def test_both_engines_find_the_same(both: list[Any], monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """With the index, without it, of all endpoints and of one, and without secrets; in the same order."""
    rnd = random.Random(seed)
    if seed == 2:  # by groups, also within an endpoint
        monkeypatch.setattr("app.db.postgres.search.search.FEW_OF_ENDPOINT", 0)
    made = [factories.draft(tags=("shop", "eu")), factories.draft(tags=("eu",))]
    endpoints = [[await store.endpoints.create(draft) for draft in made] for store in both]
    requests = [request(rnd, number) for number in range(REQUESTS)]
    captures = [factories.capture(data, **fields) for fields, data in requests]
    stars, notes = rnd.sample(captures, 20), rnd.sample(captures, 10)
    for store, own in zip(both, endpoints, strict=True):
        placed = [
            factories.capture(data, **fields, id=one.id, endpoint_id=own[number % 3 == 0].id)
            for number, (one, (fields, data)) in enumerate(zip(captures, requests, strict=True))
        ]
        stored = (store_request(store.captures, one, data) for one, (_, data) in zip(placed, requests, strict=True))
        await asyncio.gather(*stored)
        await store.captures.star([one.id for one in stars])
        for one in notes:
            await store.captures.set_note(one.id, "noted")
        await store.captures.delete([one.id for one in captures[33:60]])
        await indexed(store, REQUESTS - 8)

    async def ask(store: Any, own: list[Any], text: str, how: str) -> list[str]:
        endpoint_id = own[0].id if how == "one endpoint" else None
        more: dict[str, Any] = {"secret_headers": {one.id: "X-Kind" for one in own}} if how == "redacted" else {}
        return [one.id for one in await search(store, text, endpoint_id, limit=1000, **more)]

    for number, text in enumerate(queries(rnd)):
        how = ("all", "one endpoint", "all", "one endpoint", "all", "redacted")[number % 6]
        expected = await ask(both[0], endpoints[0], text, how)
        assert await ask(both[1], endpoints[1], text, how) == expected, (how, text)
        if number % 6 == 2:
            with monkeypatch.context() as patch:
                without_index(both[1], patch)
                assert await ask(both[1], endpoints[1], text, how) == expected, text
