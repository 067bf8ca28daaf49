"""Searches among many requests, through the store as the program uses it, until their first results or to the end."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from app.core.model import Summary
from app.core.search.parse import parse
from app.db.search.index.index import BATCH, MOST_WAITING
from app.db.store import Store
from benchmarks.lines import Line
from benchmarks.programs import BenchError

FIRST_MS, PAGE_MS, MEMORY_MIB = 100.0, 50.0, 250.0
"""At most; a search without results counts to its end."""

SEARCHES = (
    ("a word in every request", "stripe-signature"),
    ("a common word", "invoice.paid"),
    ("two words", "invoice.failed user7"),
    ("a word in one new request", "needle-newest"),
    ("a word in one request halfway", "needle-halfway"),
    ("a word in the oldest request", "needle-oldest"),
    ("part of an id, halfway", "middle-of-the-road"),
    ("inside a gzip body, halfway", "zipped-treasure"),
    ("a word nowhere", "nowherefound"),
    ("a letter in most requests", "e"),
    ("two letters in many", "a7"),
    ("two letters nowhere", "zq"),
    ("a Chinese word nowhere", "订单"),
    ("two words that never meet", "invoice.failed invoice.paid"),
    ("a common and a far word", "invoice.failed needle-oldest"),
    ("long words of common runs, 1 found", "user12345@example.com order.created"),
    ("without a word that all have", "-stripe-signature"),
    ("without a part of a word that all have", "-signature"),
    ("without a letter that most have", "-e"),
    ("without a common word", "-invoice.paid"),
    ("without a common and a rare word", "-invoice.paid needle-oldest"),
    ("method:DELETE (1 in 1,000)", "method:DELETE"),
    ("method:GET (none)", "method:GET"),
    ("-method:POST -method:DELETE (none)", "-method:POST -method:DELETE"),
    ("status:5xx (1 in 500)", "status:5xx"),
    ("status:418 (none)", "status:418"),
    ("mirror:failed (1 in 700)", "mirror:failed"),
    ("mirror:delivered (none)", "mirror:delivered"),
    ("mirror:queued (none)", "mirror:queued"),
    ("provider:github", "provider:github"),
    ("provider:shopify (none)", "provider:shopify"),
    ("event:nothing (none)", "event:nothing"),
    ("header:x-github-event=push", "header:x-github-event=push"),
    ("header:x-event=nothing (none)", "header:x-event=nothing"),
    ("-header:host (none)", "-header:host"),
    ("json:data.object.amount>999000", "json:data.object.amount>999000"),
    ("json:data.object.nothing (none)", "json:data.object.nothing"),
    ("json:data.object.email=nobody (none)", "json:data.object.email=nobody"),
    ("json:data.object.amount>9999999 (none)", "json:data.object.amount>9999999"),
    ("json:data.object.amount>999990 (1 in 100,000)", "json:data.object.amount>999990"),
    ("-json:data.object.amount<2000000 (none)", "-json:data.object.amount<2000000"),
    ("json:data.*.amount>9999999 (none)", "json:data.*.amount>9999999"),
    ("-json:data.object.amount (none)", "-json:data.object.amount"),
    (
        "json:data.object.currency!=… (none)",
        "json:data.object.currency!=eur -json:data.object.currency=usd -json:data.object.currency=gbp",
    ),
    ("size:>100k (1 in 100,000)", "size:>100k"),
    ("size:>10M (none)", "size:>10M"),
    ("size:3..4 (none)", "size:3..4"),
    ("-size:>1 (none)", "-size:>1"),
    ("-from:203.0.113.0/24 (none)", "-from:203.0.113.0/24"),
    ("from:10.0.0.0/8 (none)", "from:10.0.0.0/8"),
    ("is:starred (none)", "is:starred"),
    ("is:incomplete (none)", "is:incomplete"),
    ("since:1d is:unread", "since:1d is:unread"),
    ("before:2020-01-01 (none)", "before:2020-01-01"),
    ("path:/orders/4242 method:POST", "path:/orders/4242 method:POST"),
    ("path:/zq (none)", "path:/zq"),
)


async def measure(folder: Path, index_limit_s: float) -> AsyncIterator[Line]:
    """The numbers, as they come; the index gets that long to be made."""
    begin = time.perf_counter()
    store = await Store.open(folder, lambda event: None)
    try:
        yield Line("opening the store", _ms(begin), "ms")
        total = sum(store.captures.counts(endpoint.id).total for endpoint in store.endpoints.all())
        yield Line("requests", total)
        begin = time.perf_counter()
        if total > MOST_WAITING:
            await _indexed(store, total, index_limit_s)
        yield Line("waited for the index", _ms(begin) / 1000, "s")
        for endpoint_id, called in [(None, "all"), *((one.id, one.name) for one in store.endpoints.all())]:
            begin = time.perf_counter()
            await store.captures.page(endpoint_id, limit=100)
            yield Line(f"first page of {called}", _ms(begin), "ms", PAGE_MS)
        for name, text in SEARCHES:
            busy = time.process_time()
            first, found, whole = await _search(store, text)
            busy_ms = None if found else (time.process_time() - busy) * 1000
            yield Line(f"{name}: first of {found}", first, "ms", FIRST_MS, busy_ms=busy_ms)
            if whole > first * 2 and whole > 50:
                yield Line("  until all of a page", whole, "ms")
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield Line("most memory of the store alone", most, "MiB", MEMORY_MIB)
        yield Line("database", (await store.retention.size()).file_bytes / 2**20, "MiB")
        yield Line("index", (folder / "search.db").stat().st_size / 2**20 if total > MOST_WAITING else 0.0, "MiB")
    finally:
        await store.close()


async def _indexed(store: Store, total: int, limit_s: float) -> None:
    begin = time.perf_counter()
    while store._index.contents.upto < total - BATCH:
        if time.perf_counter() - begin > limit_s:
            raise BenchError(f"only {store._index.contents.upto:,} requests are indexed after {limit_s:.0f} s")
        await asyncio.sleep(0.2)


async def _search(store: Store, text: str) -> tuple[float, int, float]:
    """Milliseconds until the first results (or the end, when there are none), how many, and until the page is full."""
    begin = time.perf_counter()
    first: float | None = None
    found: list[Summary] = []
    async with aclosing(store.captures.search(parse(text), None, limit=100)) as batches:
        async for batch in batches:
            first = first or _ms(begin)
            found += batch
    whole = _ms(begin)
    return first or whole, len(found), whole


def _ms(begin: float) -> float:
    return (time.perf_counter() - begin) * 1000
