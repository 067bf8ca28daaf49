"""The chapter of deliveries: the tab of a request, and the page over all endpoints."""

from __future__ import annotations

import asyncio
import random
from hashlib import sha256

from msgspec.structs import replace

from app.core.clock import now_us
from app.core.delivery import Attempt, AttemptTrigger, Delivery, FailureKind, Timing
from app.core.ids import uuid7
from app.core.model import Capture, DeliveryState, Endpoint, EndpointDraft
from app.core.target import RetryRule, TargetDraft
from app.db.store import Store
from app.ui.inspector.request_view import BODY, DELIVERIES
from app.ui.shell.sidebar import ALL_DELIVERIES
from docs.book import SIZES, Book

SECOND = 1_000_000
SENT = (
    *(("Host", "staging.example.com"), ("Content-Type", "application/json"), ("User-Agent", "Stripe/1.0")),
    *(("X-Forwarded-For", "203.0.113.7"), ("X-Tenant", "acme"), ("Content-Length", "52")),
)
BODY_SENT = b'{"id":"evt_1","type":"invoice.paid","amount":4200}\r\n'
RECEIVED = (("Content-Type", "application/json"), ("Server", "uvicorn"), ("Date", "Sun, 22 Nov 2026 12:30:04 GMT"))
LONG = "https://staging.example.com/api/v3/webhooks/stripe/" + "very-long-segment/" * 8 + "handler"
TLS = Timing(lookup=4.2, connect=11.0, tls=23.5, first_byte=140.0)
PLAIN = Timing(connect=0.4, first_byte=9.1)


class Deliveries:
    """Ended and queued deliveries of one endpoint, as the store keeps them; nothing is sent."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rng = random.Random(5)
        self.endpoint: Endpoint
        self.made: dict[str, Capture] = {}

    async def fill(self) -> None:
        """Requests by what became of them, in `made`."""
        targets = (
            TargetDraft(url="http://127.0.0.1:3000/webhooks"),
            TargetDraft(url="https://staging.example.com/hooks", retry=RetryRule(on=("connection", "5xx"))),
        )
        made = await self.store.endpoints.create(EndpointDraft(name="Billing", description="Two targets"))
        for target in targets:
            await self.store.targets.create(made.id, target)
        self.endpoint = self.store.endpoints.by_id(made.id) or made
        for name in ("delivered", "long", "many", "replayed", "interrupted", "retried", "waiting"):
            self.made[name] = await self._capture(name)
        await self._delivered("delivered")
        await self._long()
        await self._many()
        await self._replayed()
        await self._interrupted()
        await self._retried()
        await self._waiting()
        for _ in range(24):
            await self._delivered(await self._another())
        self.made["paused"] = await self._capture("paused")

    async def _another(self) -> str:
        name = f"other-{len(self.made)}"
        self.made[name] = await self._capture(name)
        return name

    async def _capture(self, name: str) -> Capture:
        captures = self.store.captures
        at = now_us() - self.rng.randrange(60) * SECOND
        capture = Capture(
            id=uuid7(at),
            endpoint_id=self.endpoint.id,
            received_at=at,
            method=self.rng.choice(("POST", "POST", "POST", "PUT", "DELETE")),
            target=f"/catch/{self.endpoint.slug}/orders/{self.rng.randrange(10_000)}/{name}?attempt=1",
            http_version="1.1",
            headers=SENT,
            content_type="application/json",
            size=len(BODY_SENT),
            sha256=sha256(BODY_SENT).hexdigest(),
            source_address="203.0.113.7",
            source_port=50_000,
            scheme="https",
            complete=True,
            response_status=200,
            delivery=DeliveryState.QUEUED,
            provider="stripe",
            event="invoice.paid",
        )
        seq = await captures.add(capture, BODY_SENT, targets=self.endpoint.targets)
        return replace(capture, seq=seq)

    async def _of(self, name: str) -> list[Delivery]:
        return await self.store.deliveries.of_capture(self.made[name].id)

    def attempt(self, delivery: Delivery, number: int = 1, **fields: object) -> Attempt:
        """A successful one unless `fields` say otherwise."""
        ms = self.rng.choice((8.2, 14.0, 33.0, 61.0))
        usual: dict[str, object] = {
            "delivery_id": delivery.id,
            "number": number,
            "trigger": AttemptTrigger.FORWARD if number == 1 else AttemptTrigger.RETRY,
            "started_at": delivery.queued_at + number * SECOND,
            "ms": ms,
            "method": delivery.captured_method,
            "url": delivery.request_url(TargetDraft(url=delivery.url)),
            "headers": SENT,
            "size": len(BODY_SENT),
            "timing": Timing(connect=0.4, first_byte=ms * 0.9),
            "http_version": "1.1",
            "status": 200,
            "response_headers": RECEIVED,
        }
        return Attempt(**{**usual, **fields})  # type: ignore[arg-type]

    def failed(self, delivery: Delivery, number: int = 1, status: int = 503, **fields: object) -> Attempt:
        """One that the target refused."""
        usual = {"status": status, "failure": FailureKind.STATUS, "error": f"The target responded with {status}."}
        return self.attempt(delivery, number, **{**usual, **fields})

    def refused(self, delivery: Delivery, number: int = 1, **fields: object) -> Attempt:
        """One that reached nobody."""
        usual: dict[str, object] = {
            "status": None,
            "failure": FailureKind.CONNECTION,
            "ms": 2.4,
            "response_headers": (),
            "http_version": "",
            "timing": Timing(lookup=0.2),
            "error": "Nothing is listening at 127.0.0.1:3000 (connection refused).",
        }
        return self.attempt(delivery, number, **{**usual, **fields})

    async def finish(self, delivery: Delivery, attempts: list[Attempt], state: DeliveryState, **fields: object) -> None:
        """Store these, the last with a JSON body if it has a status."""
        last = attempts[-1]
        body = b'{"received":true,"queued":"billing"}'
        made = [
            (one if one.status is None else replace(one, response_size=len(body)), b"" if one.status is None else body)
            for one in attempts
        ]
        usual: dict[str, object] = {
            "state": state,
            "url": last.url,
            "attempts": last.number,
            "round_attempts": last.number,
            "started_at": last.started_at,
            "ms": last.ms,
            "status": last.status,
            "error": last.error,
        }
        await self.store.deliveries.finish(replace(delivery, **{**usual, **fields}), made)

    async def _delivered(self, name: str) -> None:
        first, second = await self._of(name)
        if self.rng.random() < 0.2:
            await self.finish(first, [self.failed(first, status=500)], DeliveryState.FAILED)
        else:
            await self.finish(first, [self.attempt(first, timing=PLAIN)], DeliveryState.DELIVERED, responded=True)
        await self.finish(second, [self.attempt(second, timing=TLS, ms=192.0)], DeliveryState.DELIVERED)

    async def _retried(self) -> None:
        first, second = await self._of("retried")
        trigger = AttemptTrigger.RESENT
        await self.finish(
            first, [self.attempt(first, timing=PLAIN, reused=True)], DeliveryState.DELIVERED, responded=True
        )
        attempts = [
            self.failed(second, 1, timing=TLS, ms=204.0),
            self.attempt(
                second,
                2,
                trigger=trigger,
                status=None,
                failure=FailureKind.TIMEOUT,
                ms=10_000.0,
                response_headers=(),
                error="The target did not respond within 10 s.",
                timing=Timing(first_byte=None),
                reused=True,
            ),
            self.attempt(
                second,
                3,
                status=None,
                failure=FailureKind.TLS,
                ms=38.0,
                response_headers=(),
                error="The certificate of staging.example.com expired on 3 November 2026.",
                timing=Timing(lookup=4.0, connect=12.0, tls=22.0),
            ),
            self.failed(second, 4, status=429, trigger=AttemptTrigger.MANUAL, timing=TLS, ms=210.0),
        ]
        await self.finish(second, attempts, DeliveryState.FAILED)

    async def _waiting(self) -> None:
        first, second = await self._of("waiting")
        attempts = [self.refused(first, 1), self.refused(first, 2)]
        due = now_us() + 12 * SECOND
        await self.finish(first, attempts, DeliveryState.QUEUED, due_at=due)
        await self.finish(second, [self.attempt(second, timing=TLS, ms=190.0)], DeliveryState.DELIVERED)

    async def _long(self) -> None:
        first, second = await self._of("long")
        await self.finish(first, [self.failed(first, url=LONG, status=404)], DeliveryState.FAILED)
        await self.finish(second, [self.attempt(second, url=LONG)], DeliveryState.DELIVERED)

    async def _interrupted(self) -> None:
        first, second = await self._of("interrupted")
        stopped = self.attempt(
            first, status=None, failure=FailureKind.INTERRUPTED, ms=0.0, headers=(), size=0, response_headers=()
        )
        await self.finish(first, [stopped, self.attempt(first, 2)], DeliveryState.DELIVERED)
        await self.finish(second, [self.attempt(second)], DeliveryState.DELIVERED)

    async def _many(self) -> None:
        first, second = await self._of("many")
        attempts = [self.failed(first, n, ms=self.rng.uniform(4, 400)) for n in range(1, 40)]
        await self.finish(first, [*attempts, self.attempt(first, 40)], DeliveryState.DELIVERED)
        await self.finish(second, [self.attempt(second)], DeliveryState.DELIVERED)

    async def _replayed(self) -> None:
        await self._delivered("replayed")
        capture = self.made["replayed"]
        now = now_us()
        replays = [
            Delivery(
                id=uuid7(now + number),
                capture_id=capture.id,
                endpoint_id=self.endpoint.id,
                url="http://127.0.0.1:4000/other",
                state=DeliveryState.QUEUED,
                queued_at=now + number,
                replay_id=uuid7(now),
                captured_method=capture.method,
                captured_target=capture.target,
            )
            for number in range(3)
        ]
        for delivery in replays:
            await self.store.deliveries.add_replay(delivery)
            attempt = self.attempt(delivery, trigger=AttemptTrigger.REPLAY)
            await self.finish(delivery, [attempt], DeliveryState.DELIVERED)


async def draw(book: Book) -> None:
    """The tab for each kind of delivery, and the page."""
    deliveries, forwarder = Deliveries(book.store), book.ready.application._forwarder
    assert forwarder is not None
    await forwarder.stop()
    await deliveries.fill()
    await book.show(deliveries.endpoint)
    tabs = book.detail.tabs
    for name in ("retried", "waiting", "paused", "interrupted", "many", "replayed", "long"):
        tabs.setCurrentIndex(BODY)
        await book.open(f"/{name}?")
        tabs.setCurrentIndex(DELIVERIES)
        if name == "paused":
            await book.store.targets.pause(deliveries.endpoint.targets[0].id)
        await asyncio.sleep(0.3)
        await book.save(f"deliveries-{name}", SIZES if name == "retried" else SIZES[:1])
    tabs.setCurrentIndex(BODY)
    book.window.show_page(ALL_DELIVERIES)
    page = book.window.deliveries
    await book.until("the deliveries", lambda: page.model.rowCount() > 0)
    await book.save("deliveries", SIZES)
    page.filters.set_state(DeliveryState.FAILED)
    await asyncio.sleep(0.5)
    await book.save("deliveries-failed")
    for target in deliveries.endpoint.targets:
        await book.store.targets.pause(target.id)
    await forwarder.start()
