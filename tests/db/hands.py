"""Random deeds on a store of either engine: what one does depends on the dice and on what the store says, so that two
stores that say the same get the same done to them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec.structs import replace

from app.core.clock import DAY_US
from app.core.delivery import Attempt, Delivery, DeliveryFilter, FailureKind
from app.core.errors import HooklineError
from app.core.model import PART_SIZE, Auth, Capture, Deletion, DeliveryState, Endpoint, Plan, ResponseSettings
from app.core.replay import ChosenRequests, OneUrl, Replay, ReplayProgress, ReplaySpec, ReplayState
from app.core.sizes import KIB, MIB
from app.core.target import Target, TargetDraft
from app.db.store import Store
from tests import deliveries, factories
from tests.db.random_requests import LONG, WORDS, new_id, request
from tests.stored import store_request

NOW = 1_795_000_000_000_000
"""What the clock of the store shows."""
URLS = (deliveries.URL, "http://127.0.0.1:9/new", "localhost:3000/a?b=c")
ODD_TEXTS = (*WORDS, "", "a\0b", "\ud83d", "x" * 2_001, " note ")

Deed = Callable[[Endpoint], Awaitable[object]]


class Hand:
    """Does some of them."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        self.store, self.dice = store, dice

    async def some(self, endpoint: Endpoint, most: int = 20) -> list[str]:
        page = await self.store.captures.page(endpoint.id, limit=60)
        return [summary.id for summary in self.dice.sample(page, min(len(page), most))]

    def target(self) -> Target | None:
        targets = [target for endpoint in self.store.endpoints.all() for target in endpoint.targets]
        return self.dice.choice(targets) if targets else None


class Hands(Hand):
    """Does random things to a store, several at once."""

    def __init__(self, store: Store, dice: random.Random, *, restoring: bool = True) -> None:
        """`restoring`: deletes also what can be restored, which is told to those who asked for it alone."""
        super().__init__(store, dice)
        self.requests, self.endpoints = RequestHand(store, dice), EndpointHand(store, dice)
        self._deeds = [*self.requests.deeds(), *self.endpoints.deeds(), *DeliveryHand(store, dice).deeds()]
        if restoring:
            self._deeds += [(4, self.requests.hide), (4, self.requests.settle)]

    async def act(self) -> tuple[str, object]:
        """Do something; what, and what came of it: what it returned, or the error."""
        endpoints = self.store.endpoints.all()
        deed: Callable[[], Awaitable[object]] = self.endpoints.create
        name = "create"
        if endpoints and self.dice.random() < 0.95:
            ((_, chosen),) = self.dice.choices(self._deeds, [weight for weight, _ in self._deeds])
            name, deed = chosen.__name__, partial(chosen, self.dice.choice(endpoints))
        try:
            return name, await deed()
        except HooklineError as error:
            return name, error


class RequestHand(Hand):
    """Captures, marks and deletes requests."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        super().__init__(store, dice)
        self.deletions: list[Deletion] = []

    def deeds(self) -> list[tuple[int, Deed]]:
        """With how often each is done."""
        return [
            (20, self.capture),
            (1, self.capture_in_parts),
            (5, self.mark),
            (2, self.mark_all_read),
            (3, self.note),
            (3, self.delete),
            (1, self.clear),
            (2, self.purge),
        ]

    async def capture(self, endpoint: Endpoint) -> None:
        """Some, one after the other, forwarded or not."""
        for _ in range(self.dice.randint(1, 8)):
            received_at = NOW - self.dice.randint(0, 4 * DAY_US)
            # A body that is given up while room is made for it: how much room depends on the moment.
            size = self.dice.choice(LONG if endpoint.storage_limit is None else LONG[:-1])
            capture, body = request(self.dice, endpoint.id, received_at, size=size * (self.dice.random() < 0.01))
            targets = endpoint.targets if self.dice.random() < 0.5 else ()
            await store_request(self.store.captures, capture, body, targets)

    async def capture_in_parts(self, endpoint: Endpoint) -> None:
        """A long body that comes part by part, or is given up."""
        if endpoint.storage_limit is not None:
            return
        captures, body = self.store.captures, bytes(PART_SIZE + self.dice.randint(1, 9_000))
        key = await captures.add_part(None, 0, body[:PART_SIZE], endpoint_id=endpoint.id)
        try:
            if self.dice.random() < 0.7:
                made, _ = request(self.dice, endpoint.id, NOW)
                capture = factories.capture(body, endpoint_id=endpoint.id, id=made.id, trailers=(("X-Sum", "1"),))
                await captures.add(replace(capture, received_at=NOW), body[PART_SIZE:], key)
                key = None
        finally:
            if key is not None:
                await captures.drop_parts(key)

    async def mark(self, endpoint: Endpoint) -> None:
        captures, some = self.store.captures, await self.some(endpoint)
        await self.dice.choice((captures.mark_read, captures.star))(some, self.dice.random() < 0.7)

    async def mark_all_read(self, endpoint: Endpoint) -> None:
        await self.store.captures.mark_all_read(endpoint.id)

    async def note(self, endpoint: Endpoint) -> None:
        for one in await self.some(endpoint, 2):
            await self.store.captures.set_note(one, self.dice.choice(ODD_TEXTS))

    async def delete(self, endpoint: Endpoint) -> None:
        await self.store.captures.delete(await self.some(endpoint))

    async def clear(self, endpoint: Endpoint) -> None:
        await self.store.captures.clear(endpoint.id, self.dice.choice([(), ("starred",), ("starred", "noted")]))

    async def purge(self, _: Endpoint) -> object:
        return replace(await self.store.retention.purge(), freed_bytes=0)

    async def hide(self, endpoint: Endpoint) -> object:
        """Delete something that can be restored."""
        trash, kind = self.store.trash, self.dice.randint(0, 2)
        if kind == 0:
            deleting = trash.delete(await self.some(endpoint))
        else:
            deleting = trash.clear(endpoint.id, ("starred",)) if kind == 1 else trash.delete_endpoint(endpoint.id)
        self.deletions.append(await deleting)
        return self.deletions[-1]

    async def settle(self, _: Endpoint) -> None:
        """Restore what was deleted, or delete it for good."""
        if self.deletions:
            deletion = self.deletions.pop(self.dice.randrange(len(self.deletions)))
            await self.dice.choice((self.store.trash.undo, self.store.trash.purge))(deletion)


class EndpointHand(Hand):
    """Changes endpoints, targets, limits, plan and tunnel."""

    def deeds(self) -> list[tuple[int, Deed]]:
        """With how often each is done."""
        return [
            (3, self.change),
            (1, self.move),
            (1, self.delete),
            (2, self.create_target),
            (3, self.change_target),
            (1, self.delete_target),
            (1, self.change_plan),
            (1, self.limit_responses),
            (1, self.use_tunnel),
        ]

    async def create(self) -> Endpoint:
        slug = f"endpoint-{self.dice.getrandbits(32):08x}"
        draft = factories.draft(
            name=slug,
            slug=slug,
            description=self.dice.choice(ODD_TEXTS),
            retention_days=self.dice.randint(1, 4),
            forward_url=self.dice.choice((None, *URLS)),
            tags=self.dice.choice([(), ("shop", "EU"), ("eu",)]),
        )
        return await self.store.endpoints.create(draft)

    async def change(self, endpoint: Endpoint) -> Endpoint:
        changes: list[dict[str, Any]] = [
            {"active": not endpoint.active},
            {"retention_days": self.dice.randint(1, 4)},
            {"name": self.dice.choice(ODD_TEXTS), "description": self.dice.choice(ODD_TEXTS)},
            {"forward_url": self.dice.choice((None, *URLS))},
            {"tags": self.dice.choice([(), ("shop",), ("EU", "eu")])},
            {"response": ResponseSettings(status=201, headers=(("X-A", "\xff"),), body=self.dice.choice(ODD_TEXTS))},
            {"auth": Auth(kind="header", name="X-Kind", secret=self.dice.choice(ODD_TEXTS))},
            {"storage_limit": self.dice.choice([None, MIB, 2 * MIB]), "when_full": "delete_oldest"},
            {"storage_limit": MIB, "when_full": "stop_capturing"},
        ]
        return await self.store.endpoints.update(endpoint.id, replace(endpoint.draft(), **self.dice.choice(changes)))

    async def move(self, endpoint: Endpoint) -> None:
        await self.store.endpoints.move(endpoint.id, self.dice.randint(0, len(self.store.endpoints.all())))

    async def delete(self, endpoint: Endpoint) -> None:
        await self.store.endpoints.delete(endpoint.id)

    async def create_target(self, endpoint: Endpoint) -> Target:
        url = self.dice.choice((*URLS, "nowhere at all"))
        return await self.store.targets.create(endpoint.id, TargetDraft(url=url, pause_after=self.dice.choice([0, 2])))

    async def change_target(self, _: Endpoint) -> object:
        target, targets = self.target(), self.store.targets
        if target is None:
            return None
        draft = replace(target.draft(), url=self.dice.choice(URLS), active=self.dice.random() < 0.7)
        deeds: list[Callable[[], Awaitable[object]]] = [
            lambda: targets.update(target.id, draft),
            lambda: targets.pause(target.id),
            lambda: targets.resume(target.id),
            lambda: targets.move(target.id, self.dice.randint(1, 2)),
        ]
        return await self.dice.choice(deeds)()

    async def delete_target(self, _: Endpoint) -> None:
        target = self.target()
        if target is not None:
            await self.store.targets.delete(target.id)

    async def change_plan(self, _: Endpoint) -> None:
        await self.store.account.set_plan(self.dice.choice([Plan.FREE, Plan.PRO, Plan.PRO]))

    async def limit_responses(self, _: Endpoint) -> None:
        self.store.limits.set_response_limit(self.dice.choice([2 * KIB, MIB]))

    async def use_tunnel(self, endpoint: Endpoint) -> None:
        tunnels, base = self.store.tunnels, f"https://{self.dice.randrange(3)}.example.com"
        at = NOW + self.dice.randrange(1_000_000_000)
        await self.dice.choice(
            (
                lambda: tunnels.opened(base, "cloudflared", NOW),
                lambda: tunnels.closed(NOW),
                lambda: tunnels.copied(endpoint.id, base, at),
                lambda: tunnels.updated(endpoint.id, base, at),
            )
        )()


class DeliveryHand(Hand):
    """Sends what is queued, sends again what failed, and replays."""

    def __init__(self, store: Store, dice: random.Random) -> None:
        super().__init__(store, dice)
        self._lock = asyncio.Lock()
        """Only one sends to a target."""

    def deeds(self) -> list[tuple[int, Deed]]:
        """With how often each is done."""
        return [(12, self.deliver), (2, self.retry), (2, self.send_now), (3, self.replay)]

    async def deliver(self, _: Endpoint) -> object:
        async with self._lock:
            target = self.target()
            if target is None or not await self.store.deliveries.claim(target.id):
                return None
            return await self.send_some(target)

    async def send_some(self, target: Target) -> list[Delivery]:
        """What became of some of those that are queued for it, after an attempt or two."""
        due_at = self.dice.choice([None, NOW])
        queued = await self.store.deliveries.queued(target.id, self.dice.randint(1, 6), due_at=due_at)
        chosen = [one.delivery for one in queued if self.dice.random() < 0.8]
        begun = await self.store.deliveries.begin([one.id for one in chosen])
        ended = []
        for one in chosen:
            if one.id not in begun or self.dice.random() < 0.1:
                await self.store.deliveries.release([one.id])
            else:
                ended.append(await self.attempted(one))
        if self.dice.random() < 0.5:
            await self.store.deliveries.finish_all(ended)
        else:
            for delivery, made in ended:
                await self.store.deliveries.finish(delivery, made)
        return [delivery for delivery, _ in ended]

    async def attempted(self, delivery: Delivery) -> tuple[Delivery, list[tuple[Attempt, bytes]]]:
        """A delivery after one attempt or two, with what came back."""
        first = delivery.attempts + 1
        body = self.dice.choice([b"", b"fine", b"\0\xff", b"x" * 3_000])
        outcome: dict[str, Any] = self.dice.choice(
            [
                {"status": 200, "failure": None, "error": None, "response_headers": (("X-A", "\xff"),)},
                deliveries.NO_CONNECTION,
                deliveries.STATUS_500,
                {"status": None, "failure": FailureKind.NOT_SENT, "error": self.dice.choice(WORDS)},
            ]
        )
        made = [deliveries.attempt(delivery, first, **outcome, started_at=NOW, response_size=len(body))]
        if self.dice.random() < 0.2:
            earlier = replace(made[0], failure=FailureKind.CONNECTION, status=None, response_size=0)
            await self.store.deliveries.add_attempt(delivery, earlier)
            made = [
                earlier,
                deliveries.attempt(delivery, first + 1, **outcome, started_at=NOW + 5, response_size=len(body)),
            ]
        state = self.dice.choice([DeliveryState.QUEUED, DeliveryState.FAILED, DeliveryState.DELIVERED])
        state = DeliveryState.NOT_SENT if outcome["failure"] is FailureKind.NOT_SENT else state
        waits = delivery.attempts == 0 and delivery.replay_id is None  # the sender, for the target's response
        responded = waits and outcome["status"] is not None and self.dice.random() < 0.3
        due_at = NOW + self.dice.randrange(-9, 9) if state is DeliveryState.QUEUED else 0
        after = factories.after(
            delivery, made[-1], state, due_at, responded=responded, next_step=self.dice.choice(WORDS)
        )
        return after, [*((one, b"") for one in made[:-1]), (made[-1], body)]

    async def retry(self, endpoint: Endpoint) -> int:
        failed = await self.store.deliveries.page(DeliveryFilter(endpoint_id=endpoint.id), limit=20)
        ids = tuple(delivery.id for delivery in failed if self.dice.random() < 0.3)
        of_endpoint = DeliveryFilter(endpoint_id=endpoint.id)
        return await self.store.deliveries.retry(self.dice.choice([of_endpoint, DeliveryFilter(delivery_ids=ids)]))

    async def send_now(self, endpoint: Endpoint) -> None:
        for delivery in await self.store.deliveries.page(DeliveryFilter(endpoint_id=endpoint.id), limit=2):
            await self.store.deliveries.send_now(delivery)

    async def replay(self, endpoint: Endpoint) -> object:
        """Send some requests again."""
        ids = await self.some(endpoint, 4)
        at = NOW + self.dice.randrange(1_000_000)
        spec = ReplaySpec(source=ChosenRequests(ids=tuple(ids)), destination=OneUrl(url=deliveries.URL))
        replay = Replay(id=new_id(self.dice, at), created_at=at, spec=spec, state=ReplayState.RUNNING, started_at=at)
        await self.store.replays.save(replay)
        target = self.target()
        captures = [await self.store.captures.get(one) for one in ids]
        made = [self.replayed(one, endpoint, replay.id, target) for one in captures if one is not None]
        added = {one.id for one in made if await self.store.deliveries.add_replay(one)}
        for delivery in made:
            if delivery.id in added and self.dice.random() < 0.8:
                ended, attempts = await self.attempted(delivery)
                state = DeliveryState.FAILED if ended.state is DeliveryState.QUEUED else ended.state
                await self.store.deliveries.finish(replace(ended, state=state, due_at=0), attempts)
        done = replace(replay, state=ReplayState.DONE, progress=ReplayProgress(total=len(ids)), ended_at=at)
        await self.store.replays.save(done)
        return added

    def replayed(self, capture: Capture, endpoint: Endpoint, replay_id: str, target: Target | None) -> Delivery:
        return Delivery(
            id=new_id(self.dice, NOW),
            capture_id=capture.id,
            endpoint_id=endpoint.id,
            url=deliveries.URL,
            state=DeliveryState.QUEUED,
            queued_at=NOW,
            target_id=None if target is None or self.dice.random() < 0.5 else target.id,
            replay_id=replay_id,
            interrupted=self.dice.random() < 0.1,
            captured_method=capture.method,
            captured_target=capture.target,
            captured_event=capture.event,
            captured_gist=capture.gist,
        )
