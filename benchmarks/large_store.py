"""The stores that `benchmarks.large` measures, one of each engine: varied requests, straight into its tables, kept
between runs."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peewee import Database

from app.core.bodies.gist import gist
from app.core.clock import now_us
from app.core.ids import uuid7
from app.core.model import Capture, DeliveryState, EndpointDraft, Plan
from app.data_folder.database_files import FILE_NAME
from app.db.counts import request_bytes
from app.db.models import NOBODY, encode_headers
from app.db.postgres.database import PostgresDatabase
from app.db.postgres.schema import PARTITION, prepare
from app.db.postgres.store import Store as PostgresStore
from app.db.postgres.writer import insert as insert_in_postgres
from app.db.raw_sql import execute, newest_seq, raw
from app.db.sqlite.connection import open_writer
from app.db.sqlite.store import Store
from app.db.sqlite.writer import insert
from app.db.writer_thread import Add
from benchmarks.programs import BenchError

TOGETHER = 2_000
SLUGS = ("billing", "shop", "builds", "chat", "alarms")
EVENTS = ("invoice.paid", "invoice.failed", "order.created", "push", "pull_request", "message.sent", "build.finished")
SENDERS = {"push": "github", "pull_request": "github", "invoice.paid": "stripe", "invoice.failed": "stripe"}
APART_US = 600_000
"""A million requests reach back a week."""
PRIME = 7919
FORM = "3"
"""Of the store; one of another form is made anew."""


Place = Path | str
"""A folder, or the URL of a PostgreSQL database."""


async def open_store(place: Place) -> Any:
    """The store of the place's engine."""
    if isinstance(place, str):
        return await PostgresStore.open(place, lambda event: None)
    return await Store.open(place, lambda event: None)


def made(place: Place, rows: int) -> bool:
    """Make a store of `rows` requests unless it is there; whether it had to be made."""
    if isinstance(place, str):
        return _made_in_postgres(place, rows)
    mark = place / "filled"
    if mark.exists() and mark.read_text() == FORM:
        return False
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    for file in place.iterdir():
        file.unlink()
    asyncio.run(_make_endpoints(place))
    database = open_writer(place / FILE_NAME)
    raw(database).execute("PRAGMA synchronous = OFF")
    _fill(database, rows, lambda adds, _: insert(database, adds))
    database.close()
    mark.write_text(FORM)
    return True


def _made_in_postgres(url: str, rows: int) -> bool:
    """BenchError if the database holds other requests."""
    database = PostgresDatabase(url)
    with database.connection_context():
        prepare(database, url)
        stored = newest_seq(database)
        if stored not in (0, rows):
            raise BenchError(f"the database holds {stored:,} requests, not {rows:,}: take another one")
        if stored:
            return False
        asyncio.run(_make_endpoints(url))
        for place in range(0, rows + 1, PARTITION):
            execute(database, "SELECT make_partition(?)", (place,))
        _fill(database, rows, lambda adds, first: insert_in_postgres(database, adds, first))
        execute(database, "SELECT setval('capture_seq_seq', ?)", (rows,))
        for place in range(0, rows + 1, PARTITION):  # as the server does by itself, a minute later
            execute(database, f"VACUUM ANALYZE capture_{place}, capture_body_{place}")
    return True


def _fill(database: Database, rows: int, store: Callable[[list[Add], int], object]) -> None:
    """`store` gets the requests many at a time, each time with the number of the first."""
    begin = now_us() - rows * APART_US
    for first in range(1, rows + 1, TOGETHER):
        with database.atomic():
            store([_add(number, begin, rows) for number in range(first, min(first + TOGETHER, rows + 1))], first)


async def _make_endpoints(place: Place) -> None:
    store = await open_store(place)
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
    method = "DELETE" if number % 1000 == 500 else "POST"
    target = f"/catch/{SLUGS[endpoint]}/orders/{number * PRIME % rows}?attempt={rnd.randrange(3)}"
    capture = Capture(
        id=uuid7(at),
        endpoint_id=endpoint + 1,
        received_at=at,
        method=method,
        target=target,
        http_version="1.1",
        headers=tuple(headers),
        content_type="application/json",
        size=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        source_address=f"203.0.113.{rnd.randrange(250)}",
        source_port=50_000,
        scheme="https",
        complete=True,
        response_status=503 if number % 500 == 250 else 200,
        delivery=DeliveryState.FAILED if number % 700 == 350 else DeliveryState.NONE,
        read=number % 10 < 9,
        provider=SENDERS.get(event, NOBODY),
        event=event if event in SENDERS else None,
        gist=gist(method, target, tuple(headers), "application/json", body, size=len(body)),
    )
    kept = encode_headers(capture.headers)
    return None, capture, body, None, (), None, kept, request_bytes(capture, kept, deliveries=0), 0


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
