"""Searching the store: what is found, in which order, and that nobody waits for it."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from contextlib import aclosing
from itertools import product
from typing import Any

import msgspec
import pytest

from app.core.clock import now_us
from app.core.model import PART_SIZE, Capture, DeliveryState, Endpoint, PageKey, Summary
from app.core.search.parse import parse
from app.db.search.scan import NEWEST, Scan, ScanStep, place_before
from app.db.search.search import zones
from app.db.search.sql_filter import to_sql_filter
from app.db.store import Store
from tests import factories
from tests.codings import readable_bytes
from tests.db.helpers import add, add_many
from tests.db.search.index import groups, has_groups, indexed, without_index
from tests.stored import store_request

HOUR = 3_600_000_000


async def search(store: Store, text: str, endpoint_id: int | None = None, **more: Any) -> list[Summary]:
    """All that is found."""
    found: list[Summary] = []
    async with aclosing(store.captures.search(parse(text), endpoint_id, **more)) as batches:
        async for batch in batches:
            assert batch, "a batch is never empty"
            found += batch
    return found


async def names(store: Store, text: str) -> str:
    """The letters of the samples found, oldest first."""
    return "".join(sorted(summary.target[-1] for summary in await search(store, text)))


PLAIN = (("Host", "h"), ("Content-Type", "application/json"))


@pytest.fixture
async def samples(store: Store, endpoint: Endpoint) -> list[Capture]:
    """Six requests whose targets end with their letter."""
    now = now_us()

    async def one(letter: str, age: int, body: bytes = b"", **fields: Any) -> Capture:
        path = fields.pop("path", "/x")
        fields = {"headers": PLAIN, "received_at": now - age, **fields}
        return await add(store, endpoint.id, body, target=f"/catch/s{path}?q={letter}", **fields)

    invoice = json.dumps({"type": "Invoice.paid", "data": {"amount": 1500, "note": "a \u00e9 b"}}).encode()
    items = json.dumps({"items": [{"sku": "A-1", "n": 1}, {"sku": "B-2", "n": None}], "a.b": True}).encode()
    zipped = (("content-encoding", "gzip"), ("X-GitHub-Event", "push"))
    stripe = {"provider": "stripe", "event": "invoice.paid"}
    deflated = (("Content-Encoding", "deflate"),)
    made = await asyncio.gather(
        one("a", 6 * HOUR, invoice, method="PUT", response_status=503, source_address="203.0.113.7", **stripe),
        one("b", 5 * HOUR, items, path="/Orders/%C3%9Cber/7", source_address="2001:db8::1", read=True),
        one("c", 4 * HOUR, gzip.compress(b"hidden TREASURE here"), headers=zipped, delivery=DeliveryState.FAILED),
        one("d", 3 * HOUR, zlib.compress(b"sunken treasure"), headers=deflated, complete=False),
        one("e", 2 * HOUR, "STRASSE Größe".encode("latin-1"), method="DELETE", source_address="10.1.2.3"),
        one("f", 1 * HOUR, b'{"type": broken', response_status=404, headers=(("X-GitHub-Event", "pull_request"),)),
    )
    await store.captures.star([made[1].id, made[4].id])
    for noted in (made[2], made[4]):
        await store.captures.set_note(noted.id, "a note of no word searched for: broken Treasure")
    return made


FOUND = {
    "": "abcdef",
    "invoice": "a",
    "INVOICE.PAID": "a",
    "q=c": "c",
    "treasure": "cd",
    "treasure hidden": "c",
    '"hidden treasure"': "c",
    "treasure -hidden": "d",
    "invoice OR sunken": "ad",
    "größe": "e",
    "über": "b",
    "%C3%9C": "b",
    "type": "abef",
    "nothing-like-it": "",
    "-type": "cd",
    "method:put": "a",
    "-method:POST": "ae",
    "method:PUT OR treasure": "acd",
    "(method:POST treasure) OR status:404": "cdf",
    "-(method:POST treasure)": "abef",
    "path:/orders": "b",
    "path:q=": "",
    "header:x-github-event": "cf",
    "header:X-GITHUB-EVENT=PUSH": "c",
    "header:x-github-event~pu": "cf",
    "header:x-github-event=pu": "",
    "-header:x-github-event": "abde",
    "provider:stripe": "a",
    "-provider:Stripe": "bcdef",
    "provider:github": "",
    "event:invoice.paid": "a",
    "event:invoice": "",
    "status:5xx": "a",
    "status:>=400": "af",
    "status:200": "bcde",
    "delivery:failed": "c",
    "delivery:none": "abdef",
    "size:15": "f",
    "size:>60": "ab",
    "from:203.0.113.7": "a",
    "from:10.0.0.0/8": "e",
    "from:2001:db8::/32": "b",
    "-from:127.0.0.0/8": "abe",
    "is:read": "b",
    "is:unread": "acdef",
    "is:incomplete": "d",
    "is:starred": "be",
    "-is:starred": "acdf",
    "is:noted": "ce",
    "IS:Starred is:noted": "e",
    "is:starred -is:noted": "b",
    "is:starred OR is:noted": "bce",
    "is:starred OR treasure": "bcde",
    "is:noted treasure": "c",
    "is:starred is:incomplete": "",
    "is:incomplete OR (is:starred method:DELETE)": "de",
    "is:starred since:150m": "e",
    "since:150m": "ef",
    "before:150m": "abcd",
    "since:330m before:210m": "bc",
    "-since:150m": "abcd",
    "-before:150m": "ef",
    "-before:330m -since:210m": "bc",
    "since:5000d": "abcdef",
    "before:1970-01-02": "",
    "json:type": "a",
    "json:data.amount": "a",
    "json:data.amount>1000": "a",
    "json:data.amount>1500": "",
    "json:data.amount=1500.0": "a",
    "json:data.amount=x": "",
    'json:data.note="a é b"': "a",
    "json:data.note~É": "a",
    "json:items[1].sku=B-2": "b",
    "json:items.*.sku=A-1": "b",
    "json:items[].n=null": "b",
    "json:items[0].sku!=A-1": "",
    "json:items[5]": "",
    'json:"a.b"=true': "b",
    "-json:type": "bcdef",
    "json:data.amount<9 OR json:items": "b",
}
"""Text to search for, and the letters of the samples."""


async def test_what_is_found(store: Store, samples: list[Capture]) -> None:
    assert {text: await names(store, text) for text in FOUND} == FOUND


def test_no_request_is_looked_at_beyond_a_time_that_is_negated() -> None:
    found = []
    for text in ("since:2026-11-15 before:2026-11-16", "-before:2026-11-15 -since:2026-11-16"):
        times = to_sql_filter(parse(text), 0, lambda _: ())
        found.append((times.since, times.before))
    assert found[0] == found[1]


async def test_newest_first_over_all_endpoints_or_one(store: Store, endpoint: Endpoint) -> None:
    other = await store.endpoints.create(factories.draft())
    made = [await add(store, (endpoint, other)[number % 2].id, b"needle") for number in range(6)]
    ids = [capture.id for capture in reversed(made)]
    assert [one.id for one in await search(store, "needle")] == ids
    assert [one.id for one in await search(store, "needle", other.id)] == ids[::2]
    assert await search(store, "needle", other.id + 7) == []
    await store.endpoints.delete(other.id)
    assert [one.id for one in await search(store, "needle")] == ids[1::2]
    assert await search(store, "needle", other.id) == []


async def test_pages_meet_and_end(store: Store, endpoint: Endpoint) -> None:
    """Also where many share one microsecond."""
    now = now_us()
    bodies = [b"needle" if number % 3 else b"hay" for number in range(300)]
    made = await asyncio.gather(
        *(add(store, endpoint.id, body, received_at=now + at // 40) for at, body in enumerate(bodies))
    )
    for endpoint_id, text in product(
        (None, endpoint.id),
        ("needle", "method:POST", "needle method:POST"),
    ):
        pages: list[Summary] = []
        before: PageKey | None = None
        while page := await search(store, text, endpoint_id, before=before, limit=37):
            pages += page
            before = PageKey(received_at=page[-1].received_at, id=page[-1].id)
            assert len(page) <= 37
        wanted = [one for number, one in enumerate(made) if number % 3 or text == "method:POST"]
        assert [one.id for one in pages] == sorted((one.id for one in wanted), reverse=True), text


async def test_results_come_before_the_search_is_through(store: Store, endpoint: Endpoint) -> None:
    await add(store, endpoint.id, b"needle")
    await add_many(store, endpoint.id, 400)
    await add(store, endpoint.id, b"needle")
    batches = store.captures.search(parse("needle"), None)
    first = await anext(batches)
    assert len(first) == 1
    await batches.aclose()
    assert len(await search(store, "needle")) == 2


async def test_a_search_given_up_leaves_the_readers_to_others(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    step = Scan.step

    def counted(self: Scan, *given: Any, **more: Any) -> ScanStep:
        steps.append("step")
        return step(self, *given, **more)

    monkeypatch.setattr(Scan, "step", counted)
    await add_many(store, endpoint.id, 2000, body=b"x" * 2000)
    tasks = [asyncio.create_task(search(store, f"absent{number}")) for number in range(20)]
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert len(await store.captures.page(endpoint.id, limit=5)) == 5
    assert len(steps) <= len(tasks)
    assert await search(store, "absent") == []


@pytest.mark.slow
async def test_a_body_is_searched_to_its_end(store: Store, endpoint: Endpoint) -> None:
    packed = gzip.compress(b"first " + readable_bytes(3 * PART_SIZE) + b" last", mtime=0)
    await add(store, endpoint.id, packed, headers=(("Content-Encoding", "gzip"),))
    body = b"early" + b"." * (PART_SIZE - 9) + b"edge" + b"wise" + b"." * (PART_SIZE - 4) + b"late"
    whole = [factories.capture(body, endpoint_id=endpoint.id) for _ in range(2)]
    for capture, part_size in zip(whole, (PART_SIZE, 300_000), strict=True):
        await store_request(store.captures, capture, body, part_size=part_size)
    for word, found in (("first", 1), ("LAST", 1), ("early", 2), ("edgewise", 2), ("late", 2)):
        assert len(await search(store, word)) == found, word
    assert await search(store, "edgewise first") == await search(store, "nowhere") == []
    assert {capture.id for capture in whole}.isdisjoint(one.id for one in await search(store, "-late"))


async def test_bodies_that_lie_are_searched_as_they_can_be(store: Store, endpoint: Endpoint) -> None:
    for number, (body, coding) in enumerate(
        (
            (b"\x00\xffneedle", "gzip"),
            (gzip.compress(b"needle and more" * 100, mtime=0)[:60], "gzip"),
            (b"needle", "br"),
            (b"[" * 100_000 + b"needle", ""),
            (b'{"a": 1' + b"0" * 5000 + b', "b": "needle"}', ""),
            ("needle".encode("utf-16"), ""),
        )
    ):
        await add(store, endpoint.id, body, headers=(("Content-Encoding", coding),))
        assert len(await search(store, "needle")) == number + 1
        await search(store, "json:a>1")


async def test_odd_words_find_nothing_and_break_nothing(store: Store, samples: list[Capture]) -> None:
    for text in ("\ud800", "a\0b", "%_", "*", "x" * 1999, "path:\udfff", "header:\ud800=\0"):
        assert await search(store, text) == []


WORDS = ("alpha", "beta", "gamma delta", "Größe", 'quo"te', "e\u0301")


@pytest.fixture
async def many(store: Store, endpoint: Endpoint, small_index: None) -> list[Capture]:
    """Two hundred requests in several groups of the index; the clock was set back twice meanwhile."""
    now = now_us()

    async def one(number: int) -> Capture:
        at = now + number * 1000 - (70_000 if 60 <= number < 90 else 0) - (5_000 if number == 150 else 0)
        body = json.dumps({"n": number, "word": WORDS[number % len(WORDS)]}, ensure_ascii=number % 2 == 0).encode()
        method = "PUT" if number % 50 == 7 else "POST"
        return await add(store, endpoint.id, body, received_at=at, method=method, response_status=200 + number % 3)

    made = list(await asyncio.gather(*map(one, range(200))))
    await store.captures.star([capture.id for capture in made[::7]])
    for capture in made[::29]:
        await store.captures.set_note(capture.id, "note")
    await indexed(store, 190)
    return made


QUERIES = (
    "alpha",
    '"gamma delta"',
    "größe",
    "quo",
    "e\u0301",
    "ph",
    "nowhere",
    "-alpha method:PUT",
    "method:PUT",
    "alpha OR method:PUT",
    "alpha OR is:read",
    "is:starred",
    "is:starred alpha",
    "is:starred -beta method:POST",
    "is:starred OR is:noted",
    "is:noted OR nowhere",
    "status:202",
    "status:>=201 beta",
    "json:n>150",
    "path:/ORDERS alpha",
    "path:x=1",
    "json:word=alpha",
    "json:word~gr",
    "header:x-dup=2 beta",
    "header:content-type~JSON n",
    "from:127.0.0.1 alpha",
    '"\\"n\\": 42"',
)


@pytest.mark.slow
async def test_the_index_loses_nothing(
    store: Store, endpoint: Endpoint, many: list[Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found with it and without it are the same, in the same order, whole and in pages."""
    assert await groups(store) > 4
    for endpoint_id, text in product((None, endpoint.id), QUERIES):
        by_index = await search(store, text, endpoint_id, limit=1000)
        paged: list[Summary] = []
        before: PageKey | None = None
        while page := await search(store, text, endpoint_id, limit=50, before=before):
            paged += page
            before = PageKey(received_at=page[-1].received_at, id=page[-1].id)
        with monkeypatch.context() as patch:
            patch.setattr("app.db.search.scan.FEW", 3)
            by_many = await search(store, text, endpoint_id, limit=1000)
        with monkeypatch.context() as patch:
            without_index(store, patch)
            patch.setattr("app.db.search.scan.MARKED_MAX", 0)
            by_scan = await search(store, text, endpoint_id, limit=1000)
        assert [one.id for one in by_scan] == sorted((one.id for one in by_scan), reverse=True), text
        assert by_index == by_many == paged == by_scan, text


async def test_what_is_deleted_leaves_the_index_group_by_group(
    store: Store, endpoint: Endpoint, small_index: None
) -> None:
    await add_many(store, endpoint.id, 200, body=b"needle")
    await indexed(store, 190)
    found = await search(store, "needle", limit=1000)
    await store.captures.delete([summary.id for summary in found[:5]])
    assert len(await search(store, "needle", limit=1000)) == 195
    await store.captures.clear(endpoint.id)
    assert await search(store, "needle") == []
    await has_groups(store, 1)
    await add_many(store, endpoint.id, 50, body=b"needle")
    assert len(await search(store, "needle")) == 50


async def test_searches_while_the_index_follows(store: Store, endpoint: Endpoint, small_index: None) -> None:
    for number in range(1, 30):
        await add_many(store, endpoint.id, 10, body=b"needle")
        assert len(await search(store, "needle", limit=1000)) == number * 10
    await indexed(store, 270)


async def test_a_long_search_tells_how_far_it_is(
    store: Store, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.db.search.search.PROGRESS_S", 0.0)
    monkeypatch.setattr("app.db.search.search.MOST_ROWS", 20)
    other = await store.endpoints.create(factories.draft())
    await add_many(store, endpoint.id, 30, body=b"needle")
    await add_many(store, other.id, 50)
    await add_many(store, endpoint.id, 120)
    for endpoint_id, most in [(None, 200), (endpoint.id, 150)]:
        told: list[int] = []
        found = await search(store, "needle", endpoint_id, limit=10, searched=told.append)
        assert told == sorted(told)
        assert most - 30 + len(found) <= told[-1] < most, "what was found lies among what was counted"
        before = PageKey(received_at=found[-1].received_at, id=found[-1].id)
        del told[:]
        await search(store, "needle", endpoint_id, limit=5, before=before, searched=told.append)
        assert told[0] > most - 30, "counted from the top of the list"


async def test_a_tag_finds_the_requests_of_its_endpoints(store: Store) -> None:
    shop = await store.endpoints.create(factories.draft(name="shop", tags=("Shop", "eu")))
    other = await store.endpoints.create(factories.draft(name="other", tags=("shopping",)))
    await add(store, shop.id, b"hello", target="/catch/s/x?q=a")
    await add(store, other.id, b"hello", target="/catch/s/x?q=b")
    assert await names(store, "tag:shop") == "a"
    assert await names(store, "-tag:shop") == "b"
    assert await names(store, "tag:EU hello") == "a"
    assert await names(store, "tag:shopping OR tag:eu") == "ab"
    draft = msgspec.structs.replace(other.draft(), tags=("shop",))
    await store.endpoints.update(other.id, draft)
    assert await names(store, "tag:shop") == "ab"
    assert await names(store, "tag:shopping") == ""


def test_groups_whose_times_overlap_are_asked_together() -> None:
    first, second, third, odd = (0, 20, "first"), (15, 30, "second"), (31, 40, "third"), (5, 35, "odd")
    assert list(zones([first, second, third], NEWEST)) == [
        (place_before(31), ["third"]),
        (place_before(21), ["second"]),
        (None, ["second", "first"]),
    ]
    assert list(zones([first, second, third, odd], NEWEST)) == [
        (place_before(36), ["third"]),
        (place_before(31), ["third", "odd"]),
        (place_before(21), ["odd", "second"]),
        (None, ["odd", "second", "first"]),
    ]
    below = PageKey(received_at=30, id="~")
    assert [groups for _, groups in zones([first, second, third, odd], below)] == [
        ["odd", "second"],
        ["odd", "second", "first"],
    ]
