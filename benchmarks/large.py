"""`python -m benchmarks.large`: is one request among a million found at once?

A store is filled with varied requests, straight into its tables, and kept in a folder between runs. Searches are
measured until their first results, through the store as the program uses it; then the program itself is started on it.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import hashlib
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

from app.core.clock import now_us
from app.core.ids import uuid7
from app.core.model import Capture, EndpointDraft, MirrorState, Plan, Summary
from app.core.search.parse import parse
from app.db.bulk import insert
from app.db.connection import FILE_NAME, open_writer
from app.db.raw import raw
from app.db.store import Store
from benchmarks.programs import BenchError

Line = tuple[str, float, str, float | None]
"""Name, value, unit and bar of a measurement."""

ROWS = 1_000_000
TOGETHER = 2_000
SLUGS = ("billing", "shop", "builds", "chat", "alarms")
EVENTS = ("invoice.paid", "invoice.failed", "order.created", "push", "pull_request", "message.sent", "build.finished")
APART_US = 600_000
"""A million requests reach back a week."""
PRIME = 7919

FIRST_MS, FILTER_MS, PAGE_MS, MEMORY_MIB = 100.0, 100.0, 100.0, 250.0

SEARCHES = (
    ("a word in every request", "stripe-signature", FIRST_MS),
    ("a common word", "invoice.paid", FIRST_MS),
    ("two words", "invoice.failed user7", FIRST_MS),
    ("a word in one new request", "needle-newest", FIRST_MS),
    ("a word in one request halfway", "needle-halfway", FIRST_MS),
    ("a word in the oldest request", "needle-oldest", FIRST_MS),
    ("part of an id, halfway", "middle-of-the-road", FIRST_MS),
    ("inside a gzip body, halfway", "zipped-treasure", FIRST_MS),
    ("a word nowhere", "nowherefound", FIRST_MS),
    ("two letters", "zq", FIRST_MS),
    ("method:DELETE (1 in 1,000)", "method:DELETE", FILTER_MS),
    ("status:5xx (1 in 500)", "status:5xx", FILTER_MS),
    ("status:418 (none)", "status:418", FILTER_MS),
    ("mirror:failed (1 in 700)", "mirror:failed", FILTER_MS),
    ("header:x-github-event=push", "header:x-github-event=push", FILTER_MS),
    ("json:data.object.amount>999000", "json:data.object.amount>999000", FILTER_MS),
    ("size:>100k (1 in 100,000)", "size:>100k", FILTER_MS),
    ("is:starred (none)", "is:starred", FILTER_MS),
    ("is:incomplete (none)", "is:incomplete", FILTER_MS),
    ("since:1d is:unread", "since:1d is:unread", FILTER_MS),
    ("path:/orders/4242 method:POST", "path:/orders/4242 method:POST", FILTER_MS),
)


def fill(folder: Path, rows: int) -> None:
    """Make a store of `rows` requests."""
    asyncio.run(_make_endpoints(folder))
    database = open_writer(folder / FILE_NAME)
    connection = raw(database)
    connection.execute("PRAGMA synchronous = OFF")
    begin = now_us() - rows * APART_US
    numbers = range(1, rows + 1)
    for first in range(0, rows, TOGETHER):
        with database.atomic():
            insert(connection, [_add(number, begin, rows) for number in numbers[first : first + TOGETHER]])
    database.close()


async def _make_endpoints(folder: Path) -> None:
    store = await Store.open(folder, lambda event: None)
    await store.account.set_plan(Plan.PRO)
    for slug in SLUGS:
        await store.endpoints.create(EndpointDraft(name=slug.title(), slug=slug, retention_days=90))
    await store.close()


def _add(number: int, begin: int, rows: int) -> Any:
    rnd = random.Random(number)
    endpoint = rnd.randrange(len(SLUGS))
    event = EVENTS[rnd.randrange(len(EVENTS))]
    body = _body(number, rnd, event, rows)
    headers = [
        ("Host", "hooks.example.com"),
        ("User-Agent", f"Sender/{rnd.randrange(9)}.{rnd.randrange(20)} (+https://example.com/webhooks)"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("X-GitHub-Event", event) if event.startswith("pu") else ("X-Event", event),
        ("Stripe-Signature", f"t={rnd.randrange(10**9)},v1={rnd.getrandbits(256):064x}"),
    ]
    if number == rows // 2 + 2:
        body = gzip.compress(body)
        headers.append(("Content-Encoding", "gzip"))
    at = begin + number * APART_US
    capture = Capture(
        seq=number,
        id=uuid7(at),
        endpoint_id=endpoint + 1,
        received_at=at,
        method="DELETE" if number % 1000 == 500 else "POST",
        target=f"/catch/{SLUGS[endpoint]}/orders/{number * PRIME % rows}?attempt={rnd.randrange(3)}",
        http_version="1.1",
        headers=tuple(headers),
        content_type="application/json",
        size=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        source_address=f"203.0.113.{rnd.randrange(250)}",
        source_port=50_000,
        scheme="https",
        complete=True,
        reply_status=503 if number % 500 == 250 else 200,
        mirror=MirrorState.FAILED if number % 700 == 350 else MirrorState.NONE,
        read=number % 10 < 9,
    )
    return None, capture, body, 0, None


def _body(number: int, rnd: random.Random, event: str, rows: int) -> bytes:
    known = {rows - 5: "needle-newest", rows // 2: "needle-halfway", 3: "needle-oldest"}
    note = known.get(number, "")
    note = {rows // 2 + 1: "xx_middle-of-the-roadxx", rows // 2 + 2: "zipped-treasure"}.get(number, note)
    kept = {
        "id": f"in_{rnd.getrandbits(80):020x}",
        "amount": rnd.randrange(1_000_000),
        "currency": rnd.choice(("eur", "usd", "gbp")),
        "customer": f"cus_{rnd.getrandbits(56):014x}",
        "email": f"user{rnd.randrange(100_000)}@example.com",
        "note": note or "x" * 120_000 if number % 100_000 == 77_777 else note,
    }
    event_body = {"id": f"evt_{rnd.getrandbits(96):024x}", "type": event, "created": number, "data": {"object": kept}}
    return json.dumps(event_body).encode()


async def measure(folder: Path, index_limit_s: float) -> list[Line]:
    """The numbers; the index gets that long to be made."""
    lines: list[Line] = []
    begin = time.perf_counter()
    store = await Store.open(folder, lambda event: None)
    try:
        lines.append(("opening the store", (time.perf_counter() - begin) * 1000, "ms", None))
        total = sum(store.captures.counts(endpoint.id).total for endpoint in store.endpoints.all())
        lines.append(("requests", total, "", None))
        begin = time.perf_counter()
        while store._index.contents.upto < total - 2000:
            if time.perf_counter() - begin > index_limit_s:
                raise BenchError(
                    f"only {store._index.contents.upto:,} requests are indexed after {index_limit_s:.0f} s"
                )
            await asyncio.sleep(0.2)
        lines.append(("waited for the index", time.perf_counter() - begin, "s", None))
        begin = time.perf_counter()
        await store.captures.page(None, limit=100)
        lines.append(("first page of the list", (time.perf_counter() - begin) * 1000, "ms", PAGE_MS))
        for name, text, bar in SEARCHES:
            first, found, whole = await _search(store, text)
            lines.append((f"{name}: first of {found}", first, "ms", bar))
            if whole > first * 2 and whole > 50:
                lines.append(("  until all of a page", whole, "ms", None))
        lines.append(("most memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB", MEMORY_MIB))
        lines.append(("database", (await store.retention.size()).file_bytes / 2**20, "MiB", None))
    finally:
        await store.close()
    return lines


async def _search(store: Store, text: str) -> tuple[float, int, float]:
    """Milliseconds until the first results (or the end, when there are none), how many, and until the page is full."""
    begin = time.perf_counter()
    first: float | None = None
    found: list[Summary] = []
    async with aclosing(store.captures.search(parse(text), None, limit=100)) as batches:
        async for batch in batches:
            first = first or time.perf_counter() - begin
            found += batch
    whole = time.perf_counter() - begin
    return (first or whole) * 1000, len(found), whole * 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """0 whatever the numbers say; 1 when something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.large", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="requests in the store")
    parser.add_argument(
        "--folder", type=Path, help="where stores are kept between runs (the system's temporary folder)"
    )
    options = parser.parse_args(arguments)
    base = options.folder or Path(tempfile.gettempdir()) / "hookline-bench-large"
    folder = base / f"{options.rows}"
    try:
        if not (folder / "filled").exists():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for file in folder.iterdir():
                file.unlink()
            begin = time.perf_counter()
            fill(folder, options.rows)
            (folder / "filled").touch()
            print(f"{options.rows:,} requests made in {time.perf_counter() - begin:.0f} s, in {folder}")
        for name, value, unit, bar in asyncio.run(measure(folder, 60 + options.rows / 500)):
            verdict = "" if bar is None else f"   {'ok' if value <= bar else 'MISSED'} (at most {bar:g})"
            print(f"{name:<58}{value:>12,.1f} {unit:<4}{verdict}")
    except BenchError as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
