"""`hookline deliveries`, `delivery` and `retry`, and what `show` tells of deliveries, in a folder where none runs."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from app.__main__ import main
from app.cli.output import local_seconds
from app.core.delivery import Delivery
from app.core.model import DeliveryState, Endpoint
from app.db.sqlite.store import Store
from tests import deliveries, factories
from tests.cli.conftest import Run
from tests.support import until

T = TypeVar("T")
SENT = "http://127.0.0.1:9/in/orders?x=1"


def in_store(folder: Path, do: Callable[[Store], Awaitable[T]]) -> T:
    """What `do` returns, given the store in the folder."""

    async def run() -> T:
        store = await Store.open(folder, lambda _: None)
        try:
            return await do(store)
        finally:
            await store.close()

    folder.mkdir(mode=0o700, exist_ok=True)
    return asyncio.run(run())


async def endpoint_of(store: Store, slug: str = "orders") -> Endpoint:
    found = store.endpoints.by_slug(slug)
    return found or await store.endpoints.create(factories.draft(slug=slug, forward_url=deliveries.URL))


@pytest.fixture
def rows(folder: Path) -> list[Delivery]:
    """One that failed after two attempts, one delivered, one queued after an attempt, one queued; in this order."""

    async def make(store: Store) -> list[Delivery]:
        endpoint = await endpoint_of(store)
        made = [(await deliveries.queued(store, endpoint))[0] for _ in range(4)]
        made[0] = await deliveries.fail(store, made[0], attempts=2)
        made[1] = await deliveries.deliver(store, made[1], b"fine\xff")
        tried = deliveries.attempt(made[2], status=503, error="Response 503.")
        due_at = made[2].queued_at + 3_600_000_000
        made[2] = factories.after(made[2], tried, DeliveryState.QUEUED, due_at=due_at)
        await store.deliveries.finish(made[2], [(tried, b"")])
        return made

    return in_store(folder, make)


def test_deliveries_are_listed_with_attempts_and_the_next_one(run: Run, rows: list[Delivery]) -> None:
    listed = [line.split("\t") for line in run("deliveries", "orders").out.splitlines()]
    times = [local_seconds(one.queued_at) for one in rows]
    ids = [(one.id, times[at], "orders", one.capture_id) for at, one in enumerate(rows)]
    assert listed == [
        [*ids[3], "queued", "-", "-", "0", f"waits for request {rows[2].capture_id}, in order", SENT, "-"],
        [*ids[2], "queued", "503", "2.5 ms", "1", local_seconds(rows[2].due_at), SENT, "Response 503."],
        [*ids[1], "delivered", "200", "2.5 ms", "1", "-", SENT, "-"],
        [*ids[0], "failed", "-", "2.5 ms", "2", "-", SENT, f"{deliveries.REFUSED} {deliveries.gave_up(2)}"],
    ]
    assert [line.split("\t")[0] for line in run("deliveries", "--failed").out.splitlines()] == [rows[0].id]
    assert [line.split("\t")[0] for line in run("deliveries", "--queued").out.splitlines()] == [rows[2].id, rows[3].id]


def test_deliveries_of_one_replay(run: Run, rows: list[Delivery]) -> None:
    for row in rows[:2]:
        run("replay", row.capture_id, "--to", "http://127.0.0.1:9")
    last, before = (one["id"] for one in run("replays", "--json").json)
    for name, row in ((last, rows[1]), ("@last", rows[1]), (before[:30].upper(), rows[0])):
        (found,) = run("deliveries", "--replay", name, "--json").json
        assert found["request"] == row.capture_id
    unknown = run("deliveries", "--replay", "00000000")
    assert (unknown.code, "No replay has the ID '00000000'" in unknown.err) == (1, True)


def test_deliveries_to_one_target(run: Run, rows: list[Delivery], folder: Path) -> None:
    async def more(store: Store) -> Delivery:
        return (await deliveries.queued(store, await endpoint_of(store, "other")))[0]

    other = in_store(folder, more)
    found = run("deliveries", "--target", str(other.target_id), "--json").json
    assert [(one["id"], one["target"]) for one in found] == [(other.id, other.target_id)]
    assert len(run("deliveries", "--target", str(rows[0].target_id)).out.splitlines()) == 4
    nothing = run("deliveries", "--target", "99")
    assert (nothing.code, nothing.out, "No target has the number '99'" in nothing.err) == (1, "", True)
    assert run("deliveries", "--target", "x").code == 2


def test_a_delivery_shows_its_attempts(run: Run, rows: list[Delivery]) -> None:
    shown = run("delivery", rows[0].id).out
    head, _, table = shown.partition("\n\n")
    assert head.splitlines() == [
        f"ID: {rows[0].id}",
        f"Request: {rows[0].capture_id}",
        "Endpoint: orders",
        f"URL: {SENT}",
        f"Target: {rows[0].target_id}",
        f"Queued: {local_seconds(rows[0].queued_at)}",
        f"Result: failed after 2 attempts. {deliveries.REFUSED} {deliveries.gave_up(2)}",
    ]
    times = [local_seconds(rows[0].queued_at + number) for number in (1, 2)]
    assert [line.split("\t") for line in table.splitlines()] == [
        ["1", times[0], "forwarded", "-", "2.5 ms", deliveries.REFUSED],
        ["2", times[1], "retry", "-", "2.5 ms", deliveries.REFUSED],
    ]
    assert f"Next attempt: {local_seconds(rows[2].due_at)}\n" in run("delivery", rows[2].id).out
    waiting = run("delivery", rows[3].id).out
    behind = f"waits for request {rows[2].capture_id}, in order"
    assert waiting.endswith(f"Result: queued\nNext attempt: {behind}\n")
    full = run("delivery", rows[0].id, "--json").json
    assert (full["attempt_count"], [one["number"] for one in full["attempts"]]) == (2, [1, 2])


def test_an_attempt_shows_what_was_sent_and_what_came_back(run: Run, rows: list[Delivery]) -> None:
    shown = run("delivery", rows[1].id, "--attempt", "1").out
    assert shown.startswith(f"POST {SENT}\nAttempt: 1 (forwarded) of delivery {rows[1].id}\nStarted: ")
    sent = "\n\nHost: 127.0.0.1:9\nX-Dup: 1\nx-dup: 2\n\nHTTP/1.1 200\nX-A: \xff\nx-a: 2\n\n"
    assert sent in shown
    assert shown.endswith(f"(5 B of body. To get them: hookline delivery {rows[1].id} --attempt 1 --body)\n")
    failed = run("delivery", rows[0].id, "--attempt", "2").out
    assert f"Failed: connection. {deliveries.REFUSED}\n" in failed
    assert failed.endswith("x-dup: 2\n")
    assert run("delivery", rows[1].id, "--attempt", "1", "--json").json["status"] == 200


def test_the_body_of_a_response_leaves_as_it_came(
    folder: Path, rows: list[Delivery], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    for arguments in (["--body"], ["--body", "--attempt", "1"]):
        capfdbinary.readouterr()
        assert main(["delivery", rows[1].id, *arguments, "--data-dir", str(folder)]) == 0
        assert capfdbinary.readouterr().out == b"fine\xff"


def test_what_a_delivery_does_not_have_ends_with_1(run: Run, rows: list[Delivery]) -> None:
    for arguments, said in (
        ([rows[1].id, "--attempt", "2"], "has no attempt 2."),
        ([rows[3].id, "--body"], "has no attempt yet."),
        (["019a1b2c"], "No delivery has the ID '019a1b2c'. See hookline deliveries."),
        (["x"], "No delivery has the ID 'x'."),
        (["@last:none"], "'none'"),
    ):
        done = run("delivery", *arguments)
        assert (done.code, done.out) == (1, "")
        assert said in done.err
    assert run("delivery", rows[1].id, "--body", "--json").code == 2


def test_a_delivery_is_named_by_the_beginning_of_its_id_or_as_the_last(run: Run, rows: list[Delivery]) -> None:
    def found(text: str) -> str:
        identity: str = run("delivery", text, "--json").json["id"]
        return identity

    assert found(rows[0].id[:30].upper()) == rows[0].id
    assert found("@last") == found("@last:orders") == rows[3].id
    done = run("delivery", rows[0].id[:8])
    assert (done.code, done.out) == (2, "")
    assert f"Several deliveries have an ID that starts with '{rows[0].id[:8]}'" in done.err


def test_retry_queues_failed_deliveries_again(run: Run, rows: list[Delivery]) -> None:
    done = run("retry", rows[0].id[:30], rows[0].id)
    assert (done.code, done.out) == (0, "Queued 1 delivery again.\n")
    assert "Hookline is not running, so nothing is sent yet." in done.err
    assert run("delivery", rows[0].id, "--json").json["state"] == "queued"
    again = run("retry", rows[0].id)
    assert (again.code, again.out) == (3, "")
    assert (
        f"Delivery {rows[0].id}: Only a delivery that failed or was not sent can be retried; this one is queued."
        in again.err
    )


def test_retry_goes_on_after_what_cannot_be_retried(run: Run, rows: list[Delivery]) -> None:
    done = run("retry", "019a1b2c", rows[1].id, rows[0].id, "--json")
    assert (done.code, done.json) == (3, {"queued": 1})
    assert "No delivery has the ID '019a1b2c'." in done.err
    assert "this one is delivered." in done.err
    assert run("retry", "x").code == 1


def test_retry_all_of_an_endpoint_a_target_or_the_store(run: Run, rows: list[Delivery], folder: Path) -> None:
    async def fail(store: Store) -> None:
        for slug in ("orders", "other"):
            for one in await deliveries.queued(store, await endpoint_of(store, slug)):
                await deliveries.fail(store, one)

    in_store(folder, fail)
    assert run("retry", "--endpoint", "orders", "--json").json == {"queued": 2}
    assert "There is no failed delivery to send again." in run("retry", "--target", str(rows[0].target_id)).err
    assert "None of these deliveries has failed." in run("deliveries", "orders", "--failed").err
    assert run("deliveries", "other", "--failed").out
    assert run("retry", "--all").out == "Queued 1 delivery again.\n"
    assert run("retry", "--all", "--json").json == {"queued": 0}
    for wrong, code in (
        (["--endpoint", "none"], 1),
        (["--target", "99"], 1),
        ([], 2),
        (["--all", rows[0].id], 2),
        (["--all", "--endpoint", "orders"], 2),
    ):
        assert run("retry", *wrong).code == code


def test_the_first_that_waits_can_be_sent_now(run: Run, rows: list[Delivery]) -> None:
    refused = run("send-now", rows[3].id, rows[0].id)
    assert (refused.code, refused.out) == (3, "")
    assert "It waits for an older request, in order: send that one now." in refused.err
    assert "Only a delivery that waits can be sent now." in refused.err
    assert run("send-now", rows[2].id).out == "1 delivery is due now.\n"
    assert [line.split("\t")[8] for line in run("deliveries", "--queued", "-n", "1").out.splitlines()] == ["now"]
    assert "It is due already." in run("send-now", rows[2].id).err
    assert run("target", "pause", str(rows[2].target_id)).code == 0
    assert {one["waits_for"]["text"] for one in run("deliveries", "--queued", "--json").json} == {"target is paused"}


def test_what_was_not_sent_is_listed_and_sent_again_by_its_id_alone(
    run: Run, rows: list[Delivery], folder: Path
) -> None:
    unsent = in_store(folder, lambda store: deliveries.not_sent(store, rows[3]))
    (listed,) = run("deliveries", "--not-sent").out.splitlines()
    assert listed.split("\t")[0::4] == [unsent.id, "not sent", "-"]
    assert listed.endswith(deliveries.NOT_SENT)
    assert f"not sent. {deliveries.NOT_SENT}" in run("show", unsent.capture_id).out
    assert "not sent" in run("requests", "orders").out
    assert run("deliveries", "--not-sent", "other").code == 1
    assert run("deliveries", "--not-sent", "--failed").code == 2
    assert run("retry", "--all").out == "Queued 1 delivery again.\n"
    assert run("retry", unsent.id).out == "Queued 1 delivery again.\n"
    assert "Every delivery could be sent." in run("deliveries", "--not-sent").err


def test_a_target_shows_its_last_error(run: Run, rows: list[Delivery]) -> None:
    assert run("targets", "orders").out.splitlines()[0].endswith("\tResponse 503.")
    assert "Last error: Response 503.\n" in run("target", "show", str(rows[0].target_id)).out


def test_a_request_shows_its_deliveries(run: Run, rows: list[Delivery]) -> None:
    failed = run("show", rows[0].capture_id).out
    line = f"Forwarded to: {SENT}: failed after 2 attempts. {deliveries.REFUSED} {deliveries.gave_up(2)}\n"
    assert f"{line}  Attempts: hookline delivery {rows[0].id}\n" in failed
    assert f"Forwarded to: {SENT}: delivered, response 200\n" in run("show", rows[1].capture_id).out
    upcoming = f"queued. Response 503. Next attempt: {local_seconds(rows[2].due_at)}\n"
    assert upcoming in run("show", rows[2].capture_id).out
    behind = f"waits for request {rows[2].capture_id}, in order"
    assert f"Forwarded to: {SENT}: queued. Next attempt: {behind}\n" in run("show", rows[3].capture_id).out


def test_what_was_deleted_before_it_was_sent_is_listed(run: Run, folder: Path) -> None:
    async def make(store: Store) -> Delivery:
        return (await deliveries.expired(store, await endpoint_of(store)))[0]

    gone = in_store(folder, make)
    why = "Request deleted before it was sent: its retention ended."
    (line,) = run("deliveries", "--not-sent").out.splitlines()
    assert line.split("\t")[0] == gone.id
    assert line.endswith(f"{SENT}\t{why}")
    assert f"Result: not sent. {why}\n" in run("delivery", gone.id).out
    assert "Its request was deleted." in run("retry", gone.id).err
    assert "1 deleted before being sent" in run("endpoint", "show", "orders").out
    assert "Deleted: 1 request before being sent\n" in run("target", "show", str(gone.target_id)).out
    assert "1 request was deleted before it was sent to http://127.0.0.1:9/in." in run("status").out


def test_a_response_that_made_room_is_named(run: Run, rows: list[Delivery], folder: Path) -> None:
    async def remove(store: Store) -> None:
        store.limits.set_response_limit(1)
        await until(lambda: store._eviction._worker.is_idle)

    in_store(folder, remove)
    shown = run("delivery", rows[1].id, "--attempt", "1").out
    assert shown.endswith("HTTP/1.1 200\n(Its headers and body were removed to make room for newer responses.)\n")
    assert re.search(r"^Responses: \d+ B of 1 GiB$", run("status").out, re.MULTILINE)
