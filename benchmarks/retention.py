"""`python -m benchmarks.retention`: does deleting 100,000 expired requests hold captures up?

A store is filled with requests 30 days old, kept for 90. `hookline serve` takes 200 captures a second on it; then its
endpoint's retention is cut to 7 days, which starts the purge at once, and the captures go on until it is through.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from threading import Event

from app.core.clock import DAY_US, now_us
from app.core.ids import uuid7
from app.core.model import Capture
from app.db.sqlite.store import Store
from benchmarks.load import BODY, BadAnswerError, load
from benchmarks.programs import BenchError, cli, hookline, make_endpoint

ROWS = 100_000
RATE = 200
CALM_S = 6.0
PURGE_LIMIT_S = 40.0
TOGETHER = 2_000
AGE_US = 30 * DAY_US


async def fill(data: Path, slug: str, rows: int, age_us: int = AGE_US) -> None:
    """Store `rows` requests, 30 days old or as old as told, at the endpoint."""
    store = await Store.open(data, lambda event: None)
    try:
        endpoint = store.endpoints.by_slug(slug)
        if endpoint is None:
            raise BenchError(f"the store has no endpoint {slug}")
        begin = now_us() - age_us
        for first in range(0, rows, TOGETHER):
            together = range(first, min(first + TOGETHER, rows))
            captures = [_old(endpoint.id, begin + number) for number in together]
            await asyncio.gather(*(store.captures.add(capture, BODY) for capture in captures))
    finally:
        await store.close()


def _old(endpoint_id: int, received_at: int) -> Capture:
    return Capture(
        id=uuid7(received_at),
        endpoint_id=endpoint_id,
        received_at=received_at,
        method="POST",
        target="/catch/bench/backdated",
        http_version="1.1",
        headers=(("Host", "127.0.0.1"), ("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))),
        content_type="application/json",
        size=len(BODY),
        sha256=hashlib.sha256(BODY).hexdigest(),
        source_address="127.0.0.1",
        source_port=50_000,
        scheme="http",
        complete=True,
        response_status=200,
    )


def expired(data: Path) -> int:
    """How many of the old requests are still stored."""
    connection = sqlite3.connect(f"file:{data / 'hookline.db'}?mode=ro", uri=True, timeout=5)
    try:
        query = "SELECT count(*) FROM capture WHERE received_at < ?"
        return int(connection.execute(query, (now_us() - AGE_US // 2,)).fetchone()[0])
    finally:
        connection.close()


def measure(folder: Path, rows: int) -> dict[str, object]:
    """Latencies with and without the purge, and what the purge took."""
    data = folder / "data"
    slug = make_endpoint(data)
    cli(data, "endpoint", "edit", slug, "--retention-days", "90")
    asyncio.run(fill(data, slug, rows))
    with hookline(folder, "-m", "hookline", "serve") as url, ThreadPoolExecutor(1) as pool:
        load(url, seconds=1.0, rate=RATE)
        calm = load(url, seconds=CALM_S, rate=RATE)
        if (before := expired(data)) != rows:
            raise BenchError(f"{rows - before} requests were deleted before their time")
        done = Event()
        purge = pool.submit(load, url, seconds=PURGE_LIMIT_S, rate=RATE, enough=done.is_set)
        try:
            begin = time.monotonic()
            cli(data, "endpoint", "edit", slug, "--retention-days", "7")
            while (left := expired(data)) and time.monotonic() - begin < PURGE_LIMIT_S:
                time.sleep(0.1)
            took = time.monotonic() - begin
        finally:
            done.set()
        busy = purge.result()
    if left:
        raise BenchError(f"{left:,} expired requests were still there after {took:.0f} s")
    return {
        "rows": rows,
        "purge_s": round(took, 2),
        "calm": asdict(calm),
        "purging": asdict(busy),
        "p50_ratio": round(busy.p50_ms / calm.p50_ms, 2),
        "p99_ratio": round(busy.p99_ms / calm.p99_ms, 2),
    }


def table(numbers: dict[str, object]) -> str:
    """For people."""
    lines = [f"{'captures at ' + str(RATE) + '/s':<36}{'requests':>9}{'p50 ms':>9}{'p99 ms':>9}{'max ms':>9}"]
    purging = f"while {numbers['rows']:,} rows are purged"
    for name, key in (("nothing else going on", "calm"), (purging, "purging")):
        one = numbers[key]
        assert isinstance(one, dict)
        lines.append(
            f"  {name:<34}{one['requests']:>9,}{one['p50_ms']:>9.2f}{one['p99_ms']:>9.2f}{one['max_ms']:>9.2f}"
        )
    lines.append(f"  {'ratio':<43}{numbers['p50_ratio']:>9}{numbers['p99_ratio']:>9}")
    lines.append(f"the purge took {numbers['purge_s']} s")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """0 whatever the numbers say; 1 when something broke."""
    parser = argparse.ArgumentParser(prog="benchmarks.retention", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="expired requests to purge")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="hookline-bench-") as folder:
            numbers = measure(Path(folder), min(options.rows, 1_000_000))
    except (BenchError, BadAnswerError) as error:
        print(f"benchmark broke: {error}", file=sys.stderr)
        return 1
    print(json.dumps(numbers, indent=2) if options.json else table(numbers))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
