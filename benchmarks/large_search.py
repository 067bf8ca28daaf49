"""Searches among many requests, through the store as the program uses it, until their first results or to the end."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from app.core.ids import first_id
from app.core.model import PageKey, Summary
from app.core.search.parse import parse
from app.db.postgres.search import GROUP
from app.db.raw_sql import execute
from app.db.search.background_index import BATCH, MOST_WAITING
from benchmarks.large_store import Place, open_store
from benchmarks.lines import Line
from benchmarks.programs import BenchError

PAGE = 100
FIRST_MS, PAGE_MS, MEMORY_MIB = 100.0, 50.0, 250.0
FIRST_ON_SERVER_MS = 300.0
"""At most; a search without results counts to its end."""

NONE, ONE = 0, -1
SEARCHES = (
    ("a word in every request", "stripe-signature", 1),
    ("a common word", "invoice.paid", 7),
    ("two words", "invoice.failed user7", 50),
    ("a word in one new request", "needle-newest", ONE),
    ("a word in one request halfway", "needle-halfway", ONE),
    ("a word in the oldest request", "needle-oldest", ONE),
    ("part of an id, halfway", "middle-of-the-road", ONE),
    ("inside a gzip body, halfway", "zipped-treasure", ONE),
    ("a word nowhere", "nowherefound", NONE),
    ("a letter in most requests", "e", 2),
    ("two letters in many", "a7", 20),
    ("two letters nowhere", "zq", NONE),
    ("a Chinese word nowhere", "订单", NONE),
    ("two words that never meet", "invoice.failed invoice.paid", NONE),
    ("a common and a far word", "invoice.failed needle-oldest", NONE),
    ("long words of common runs, 1 found", "user12345@example.com order.created", 1_000_000),
    ("without a word that all have", "-stripe-signature", NONE),
    ("without a part of a word that all have", "-signature", NONE),
    ("without a letter that most have", "-e", NONE),
    ("without a common word", "-invoice.paid", 2),
    ("without a common and a rare word", "-invoice.paid needle-oldest", ONE),
    ("method:DELETE (1 in 1,000)", "method:DELETE", 1_000),
    ("method:GET (none)", "method:GET", NONE),
    ("-method:POST -method:DELETE (none)", "-method:POST -method:DELETE", NONE),
    ("status:5xx (1 in 500)", "status:5xx", 500),
    ("status:418 (none)", "status:418", NONE),
    ("delivery:failed (1 in 700)", "delivery:failed", 700),
    ("delivery:delivered (none)", "delivery:delivered", NONE),
    ("delivery:queued (none)", "delivery:queued", NONE),
    ("provider:github", "provider:github", 4),
    ("provider:shopify (none)", "provider:shopify", NONE),
    ("event:nothing (none)", "event:nothing", NONE),
    ("header:x-github-event=push", "header:x-github-event=push", 7),
    ("header:x-event=nothing (none)", "header:x-event=nothing", NONE),
    ("-header:host (none)", "-header:host", NONE),
    ("json:data.object.amount>999000", "json:data.object.amount>999000", 2000),
    ("json:data.object.nothing (none)", "json:data.object.nothing", NONE),
    ("json:data.object.email=nobody (none)", "json:data.object.email=nobody", NONE),
    ("json:data.object.amount>9999999 (none)", "json:data.object.amount>9999999", NONE),
    ("json:data.object.amount>999990 (1 in 100,000)", "json:data.object.amount>999990", 100_000),
    ("-json:data.object.amount<2000000 (none)", "-json:data.object.amount<2000000", NONE),
    ("json:data.*.amount>9999999 (none)", "json:data.*.amount>9999999", NONE),
    ("-json:data.object.amount (none)", "-json:data.object.amount", NONE),
    (
        "json:data.object.currency!=… (none)",
        "json:data.object.currency!=eur -json:data.object.currency=usd -json:data.object.currency=gbp",
        NONE,
    ),
    ("size:>100k (1 in 100,000)", "size:>100k", 100_000),
    ("size:>10M (none)", "size:>10M", NONE),
    ("size:3..4 (none)", "size:3..4", NONE),
    ("-size:>1 (none)", "-size:>1", NONE),
    ("-from:203.0.113.0/24 (none)", "-from:203.0.113.0/24", NONE),
    ("from:10.0.0.0/8 (none)", "from:10.0.0.0/8", NONE),
    ("is:starred (none)", "is:starred", NONE),
    ("is:incomplete (none)", "is:incomplete", NONE),
    ("since:1d is:unread", "since:1d is:unread", 50),
    ("before:2020-01-01 (none)", "before:2020-01-01", NONE),
    ("path:/orders/4242 method:POST", "path:/orders/4242 method:POST", 1_000_000),
    ("path:/zq (none)", "path:/zq", NONE),
)
"""By name: what is searched for, and that it is found in none, in one, or in about one of so many requests."""

_INDEXED = (
    "SELECT coalesce(min(first) FILTER (WHERE NOT indexed AND upto = first + ? - 1), max(upto), 0) FROM search_group"
)
"""In PostgreSQL: a group gets its index once it is full."""


async def measure(place: Place, index_limit_s: float) -> AsyncIterator[Line]:
    """The numbers, as they come; the index gets that long to be made."""
    begin = time.perf_counter()
    store = await open_store(place)
    first_ms = FIRST_ON_SERVER_MS if isinstance(place, str) else FIRST_MS
    try:
        yield Line("opening the store, with the counts of all endpoints", _ms(begin), "ms")
        total = sum(store.captures.counts(endpoint.id).total for endpoint in store.endpoints.all())
        yield Line("requests", total)
        begin = time.perf_counter()
        if total > MOST_WAITING:
            await _indexed(store, total, index_limit_s)
        yield Line("waited for the index", _ms(begin) / 1000, "s")
        async for line in _pages(store):
            yield line
        for name, text, one_in in SEARCHES:
            busy = time.process_time()
            first, found, whole = await _search(store, text)
            _require_count(name, found, one_in, total)
            busy_ms = None if found else (time.process_time() - busy) * 1000
            yield Line(f"{name}: first of {found}", first, "ms", first_ms, busy_ms=busy_ms)
            if whole > first * 2 and whole > 50:
                yield Line("  until all of a page", whole, "ms")
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield Line("most memory of the store alone", most, "MiB", MEMORY_MIB)
        yield Line("database", (await store.retention.size()).file_bytes / 2**20, "MiB")
        if not isinstance(place, str):
            yield Line("index", (place / "search.db").stat().st_size / 2**20 if total > MOST_WAITING else 0.0, "MiB")
    finally:
        await store.close()


async def _pages(store: Any) -> AsyncIterator[Line]:
    """Of all endpoints and of each: the newest, and those halfway to the oldest."""
    (newest,), (oldest,) = (
        await store.captures.page(None, limit=1),
        await store.captures.page(None, after=PageKey(received_at=-1, id=""), limit=1),
    )
    at = (newest.received_at + oldest.received_at) // 2
    halfway = PageKey(received_at=at, id=first_id(at))
    for endpoint_id, called in [(None, "all"), *((one.id, one.name) for one in store.endpoints.all())]:
        for name, before in (("first page", None), ("page halfway", halfway)):
            begin = time.perf_counter()
            await store.captures.page(endpoint_id, before=before, limit=PAGE)
            yield Line(f"{name} of {called}", _ms(begin), "ms", PAGE_MS)


def _require_count(name: str, found: int, one_in: int, total: int) -> None:
    """BenchError if the page does not have what it must: then its time means nothing."""
    least, most = (-one_in, -one_in) if one_in <= NONE else (min(PAGE, total // one_in // 2), PAGE)
    if not least <= found <= most:
        raise BenchError(f"{name}: {found} found of {total:,}, not {least} to {most}")


async def _indexed(store: Any, total: int, limit_s: float) -> None:
    begin = time.perf_counter()
    while (upto := await _upto(store)) < total - BATCH:
        if time.perf_counter() - begin > limit_s:
            raise BenchError(f"only {upto:,} requests are indexed after {limit_s:.0f} s")
        await asyncio.sleep(0.2)


async def _upto(store: Any) -> int:
    """The highest number of a request that is indexed."""
    if store.file is not None:
        return int(store._index.contents.upto)
    return int(await store._readers.run(lambda database: execute(database, _INDEXED, (GROUP,)).fetchone()[0]))


async def _search(store: Any, text: str) -> tuple[float, int, float]:
    """Milliseconds until the first results (or the end, when there are none), how many, and until the page is full."""
    begin = time.perf_counter()
    first: float | None = None
    found: list[Summary] = []
    async with aclosing(store.captures.search(parse(text), None, limit=PAGE)) as batches:
        async for batch in batches:
            first = first or _ms(begin)
            found += batch
    whole = _ms(begin)
    return first or whole, len(found), whole


def _ms(begin: float) -> float:
    return (time.perf_counter() - begin) * 1000
