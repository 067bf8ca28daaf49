"""The store that `benchmarks.large` measures: varied requests, straight into its tables, kept between runs."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import random
from pathlib import Path
from typing import Any

from app.core.clock import now_us
from app.core.gist.gist import gist
from app.core.ids import uuid7
from app.core.model import Capture, DeliveryState, EndpointDraft, Plan
from app.data_folder.database_files import FILE_NAME
from app.db.counts import request_bytes
from app.db.encoded_headers import encode_headers
from app.db.models import NOBODY
from app.db.raw_sql import raw
from app.db.sqlite.connection import open_writer
from app.db.sqlite.store import Store
from app.db.sqlite.writer.insert import insert

TOGETHER = 2_000
SLUGS = ("billing", "shop", "builds", "chat", "alarms")
EVENTS = ("invoice.paid", "invoice.failed", "order.created", "push", "pull_request", "message.sent", "build.finished")
SENDERS = {"push": "github", "pull_request": "github", "invoice.paid": "stripe", "invoice.failed": "stripe"}
APART_US = 600_000
"""A million requests reach back a week."""
PRIME = 7919
FORM = "3"
"""Of the store; one of another form is made anew."""


def made(folder: Path, rows: int) -> bool:
    """Make a store of `rows` requests unless it is there; whether it had to be made."""
    mark = folder / "filled"
    if mark.exists() and mark.read_text() == FORM:
        return False
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for file in folder.iterdir():
        file.unlink()
    fill(folder, rows)
    mark.write_text(FORM)
    return True


def fill(folder: Path, rows: int) -> None:
    """Make a store of `rows` requests."""
    asyncio.run(_make_endpoints(folder))
    database = open_writer(folder / FILE_NAME)
    raw(database).execute("PRAGMA synchronous = OFF")
    begin = now_us() - rows * APART_US
    numbers = range(1, rows + 1)
    for first in range(0, rows, TOGETHER):
        with database.atomic():
            insert(database, [_add(number, begin, rows) for number in numbers[first : first + TOGETHER]])
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
    return None, capture, body, None, (), kept, request_bytes(capture, kept, deliveries=0), 0


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
