"""Retries, pausing and several deliveries at once, over real sockets from a real store."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from msgspec.structs import replace

from app.core.clock import DAY_US, now_us
from app.core.delivery import AttemptTrigger, DeliveryFilter, FailureKind
from app.core.events import DeliveryChanged
from app.core.model import Capture, DeliveryState
from app.core.target import PausedBy, RetryRule
from app.server.forward import lazy_sender, target_worker
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK, Answering, Received, answering, silent, target

ERROR = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
QUEUED, DELIVERED, FAILED = DeliveryState.QUEUED, DeliveryState.DELIVERED, DeliveryState.FAILED
NOT_SENT = DeliveryState.NOT_SENT


def rule(**fields: Any) -> RetryRule:
    """Retries every error up to four times, nearly at once."""
    return RetryRule(**{"on": ("connection", "5xx"), "first_delay_ms": 1, "longest_delay_ms": 5, **fields})


def failing(times: int) -> Answering:
    """Errors first, then 200."""
    left = times

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal left
        left -= 1
        await answering(ERROR if left >= 0 else OK)(received, writer)

    return answer


async def test_an_error_is_retried_until_it_works_and_every_attempt_is_kept(stage: Stage) -> None:
    async with target(failing(2)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": rule()})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        last = (await stage.outcomes(3))[-1]
    assert [event.state for event in stage.told] == [QUEUED, QUEUED, DELIVERED]
    assert (last.attempts, last.error) == (3, None)
    made = await stage.attempts(last)
    assert [(one.number, one.trigger, one.status, one.failure) for one in made] == [
        (1, AttemptTrigger.FORWARD, 503, FailureKind.STATUS),
        (2, AttemptTrigger.RETRY, 503, FailureKind.STATUS),
        (3, AttemptTrigger.RETRY, 200, None),
    ]


@pytest.mark.parametrize("parallel", [None, 2])
async def test_no_retry_is_made_before_it_is_due(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, parallel: int | None
) -> None:
    monkeypatch.setattr(random, "random", lambda: 1.0)  # the longest wait
    async with target(failing(2)) as place:
        waits = rule(first_delay_ms=50, longest_delay_ms=50)
        endpoint = await stage.endpoint(place.url, {"retry": waits, "parallel": parallel})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        *waiting, last = await stage.outcomes(3)
    first, *retries = await stage.attempts(last)
    assert first.number == 1
    for before, retry in zip(waiting, retries, strict=True):
        assert retry.started_at >= before.due_at > (before.started_at or 0)


async def test_after_the_last_retry_it_has_failed(stage: Stage) -> None:
    async with target(failing(99)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": rule(retries=2)})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        last = (await stage.outcomes(3))[-1]
        assert (last.state, last.attempts) == (FAILED, 3)
        await stage.store.deliveries.retry(DeliveryFilter())
        last = (await stage.outcomes(6))[-1]
    assert (last.state, last.attempts) == (FAILED, 6)
    assert [one.trigger for one in await stage.attempts(last)][3:] == [
        AttemptTrigger.MANUAL,
        AttemptTrigger.RETRY,
        AttemptTrigger.RETRY,
    ]


async def test_what_the_rule_does_not_name_is_not_retried(stage: Stage) -> None:
    async with target(failing(99)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": rule(on=("connection", "timeout"))})
        await stage.forwarder.start()
        assert (await stage.outcome(endpoint)).state is FAILED
    assert len(place.received) == 1


async def test_in_order_a_retry_holds_up_those_after_it(stage: Stage) -> None:
    async with target(failing(2)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": rule()})
        for number in range(3):
            await stage.capture(endpoint, b"", target=f"/catch/s/{number}")
        await stage.forwarder.start()
        await stage.outcomes(5)
    assert [received.line.split()[1] for received in place.received] == ["/0", "/0", "/0", "/1", "/2"]


@pytest.mark.parametrize("parallel", [None, 2])
async def test_a_target_that_restarts_gets_everything(stage: Stage, parallel: int | None) -> None:
    async with target() as place:
        port = place.port
    connects = RetryRule(retries=1, first_delay_ms=5, longest_delay_ms=20, total_ms=2_000)
    endpoint = await stage.endpoint(f"http://127.0.0.1:{port}", {"retry": connects, "parallel": parallel})
    await stage.forwarder.start()
    for number in range(3):
        await stage.capture(endpoint, b"", target=f"/catch/s/{number}")
    waiting = (await stage.outcomes(8))[-1]
    assert waiting.next_step == "Retried until a connection is made, for 2.0 s at most."
    async with target(port=port) as place:
        await place.arrival(3)
        while sum(event.state is DELIVERED for event in stage.told) < 3:
            await stage.outcomes(len(stage.told) + 1)
    paths = [received.line.split()[1] for received in place.received]
    assert sorted(paths) == ["/0", "/1", "/2"]
    assert parallel or paths == sorted(paths), "the order is kept"
    assert {event.state for event in stage.told} == {QUEUED, DELIVERED}


async def test_a_target_that_stays_away_fails_when_the_time_is_over(stage: Stage) -> None:
    async with target() as place:
        port = place.port
    connects = RetryRule(retries=1, first_delay_ms=5, longest_delay_ms=20, total_ms=100)
    endpoint = await stage.endpoint(f"http://127.0.0.1:{port}", {"retry": connects})
    await stage.forwarder.start()
    await stage.capture(endpoint)
    while (last := (await stage.outcomes(len(stage.told) + 1))[-1]).state is not FAILED:
        pass
    assert last.attempts > 2
    assert last.next_step == "Gave up: the next retry would start more than 100 ms after the first attempt."


async def test_a_redirect_to_a_host_that_is_down_uses_up_retries(stage: Stage) -> None:
    async with target() as gone:
        pass
    moved = f"HTTP/1.1 307 Moved\r\nLocation: {gone.url}/x\r\nContent-Length: 0\r\n\r\n".encode()
    async with target(answering(moved)) as place:
        settings = {"follow_redirects": True, "retry": rule(retries=1, total_ms=10_000)}
        endpoint = await stage.endpoint(place.url, settings)
        await stage.forwarder.start()
        await stage.capture(endpoint, b"charge")
        last = (await stage.outcomes(2))[-1]
    assert (last.state, last.attempts, last.next_step) == (FAILED, 2, "Gave up after 2 attempts.")
    assert [received.body for received in place.received] == [b"charge"] * 2
    (made, _) = await stage.attempts(last)
    assert (made.failure, made.url, made.size, made.could_not_connect) == (
        FailureKind.CONNECTION,
        f"{place.url}/",
        6,
        False,
    )
    assert ("Host", f"127.0.0.1:{place.port}") in made.headers
    assert made.error is not None
    assert made.error.endswith(f"Followed redirects: {place.url}/ → {gone.url}/x")


async def test_a_single_status_is_retried(stage: Stage) -> None:
    async with target(failing(1)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": rule(on=("503",))})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        waiting, delivered = await stage.outcomes(2)
    assert (waiting.state, waiting.next_step) == (QUEUED, "Retry 1 of 4, within 10 min.")
    assert (delivered.state, delivered.next_step) == (DELIVERED, None)


@pytest.mark.parametrize("parallel", [1, 4])
async def test_in_parallel_the_others_go_on(stage: Stage, parallel: int) -> None:
    async with target(failing(1)) as place:
        waits = rule(first_delay_ms=3_600_000, longest_delay_ms=3_600_000, total_ms=2 * 3_600_000)
        endpoint = await stage.endpoint(place.url, {"retry": waits, "parallel": parallel})
        await stage.capture(endpoint, b"", target="/catch/s/0")
        await stage.forwarder.start()
        await stage.outcomes(1)
        for number in range(1, 100):
            await stage.capture(endpoint, b"", target=f"/catch/s/{number}")
        await stage.outcomes(100)
    paths = [received.line.split()[1] for received in place.received]
    assert sorted(paths) == sorted(f"/{number}" for number in range(100))
    assert [one.delivery.captured_target for one in await stage.queued(endpoint)] == ["/catch/s/0"]


@pytest.mark.parametrize("parallel", [1, 3])
async def test_no_more_are_sent_at_once_than_the_target_allows(stage: Stage, parallel: int) -> None:
    here, most, all_here = 0, 0, asyncio.Event()

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal here, most
        here += 1
        most = max(most, here)
        if here == parallel:
            all_here.set()
        await all_here.wait()
        await asyncio.sleep(0.005)
        here -= 1
        await answering(OK)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url, {"parallel": parallel})
        for _ in range(30):
            await stage.capture(endpoint)
        await stage.forwarder.start()
        await stage.outcomes(30)
    assert most == parallel


async def test_a_paused_target_keeps_its_queue_until_it_is_resumed(stage: Stage) -> None:
    async with target() as place, target() as other:
        endpoint = await stage.endpoint(place.url)
        second = await stage.store.targets.create(endpoint.id, replace(endpoint.targets[0].draft(), url=other.url))
        await stage.store.targets.pause(endpoint.targets[0].id)
        endpoint = stage.now(endpoint)
        await stage.forwarder.start()
        for number in range(3):
            await stage.capture(endpoint, target=f"/catch/s/{number}")
        await stage.outcomes(3)
        assert (len(place.received), len(other.received)) == (0, 3)
        await stage.store.targets.resume(endpoint.targets[0].id)
        await stage.outcomes(6)
    assert [received.line.split()[1] for received in place.received] == ["/0", "/1", "/2"]
    assert {event.delivery.target_id for event in stage.told[:3]} == {second.id}


async def test_failures_in_a_row_pause_the_target_and_a_resume_sends_the_rest(stage: Stage) -> None:
    async with target(failing(2)) as place:
        endpoint = await stage.endpoint(place.url, {"pause_after": 2})
        for number in range(4):
            await stage.capture(endpoint, target=f"/catch/s/{number}")
        await stage.forwarder.start()
        await stage.outcomes(2)
        (paused,) = stage.now(endpoint).targets
        assert paused.paused is PausedBy.FAILURES
        assert len(await stage.queued(endpoint)) == 2
        await stage.store.targets.resume(paused.id)
        await stage.outcomes(4)
    assert [event.state for event in stage.told] == [FAILED, FAILED, DELIVERED, DELIVERED]


UNSENDABLE: dict[str, dict[str, Any]] = {
    "the path": {"target": "/catch/s/../../admin"},
    "a header": {"headers": (("X-Note", "a\rb"),)},
}


@pytest.mark.parametrize("what", UNSENDABLE)
async def test_requests_that_cannot_be_sent_pause_no_target(stage: Stage, what: str) -> None:
    async with target(answering(ERROR)) as place:
        endpoint = await stage.endpoint(place.url, {"pause_after": 2, "retry": rule(retries=0)})
        await stage.capture(endpoint)
        for _ in range(3):
            await stage.capture(endpoint, **UNSENDABLE[what])
        await stage.forwarder.start()
        told = await stage.outcomes(4)
        assert [one.state for one in told] == [FAILED, NOT_SENT, NOT_SENT, NOT_SENT]
        assert all(one.error for one in told)
        assert stage.now(endpoint).targets[0].paused is None
        await stage.capture(endpoint)
        await stage.outcomes(5)
        assert stage.now(endpoint).targets[0].paused is PausedBy.FAILURES, "they do not end a row of failures either"
    assert len(place.received) == 2


@pytest.mark.parametrize("parallel", [None, 2])
async def test_a_target_that_failures_paused_is_tried_again_and_resumed(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, parallel: int | None
) -> None:
    monkeypatch.setattr(target_worker, "_PROBE_S", 0.01)
    async with target(failing(3)) as place:
        settings = {"pause_after": 1, "auto_resume": True, "parallel": parallel, "retry": rule(retries=0)}
        endpoint = await stage.endpoint(place.url, settings)
        await stage.forwarder.start()
        await stage.capture(endpoint, target="/catch/s/0")
        await stage.outcomes(1)
        for number in range(1, 4):
            await stage.capture(endpoint, target=f"/catch/s/{number}")
        last = await stage.outcomes(6)
        assert [event.state for event in stage.told] == [FAILED, QUEUED, QUEUED, DELIVERED, DELIVERED, DELIVERED]
        assert last[1].next_step == "Tried again from time to time while the target is paused."
        assert stage.now(endpoint).targets[0].paused is None
    paths = [received.line.split()[1] for received in place.received]
    assert paths[:4] == ["/0", "/1", "/1", "/1"]
    assert sorted(paths[4:]) == ["/2", "/3"]


async def test_a_paused_target_is_tried_again_with_a_delivery_that_waits(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_worker, "_PROBE_S", 0.01)
    asked = b"HTTP/1.1 503 Busy\r\nRetry-After: 300\r\nContent-Length: 0\r\n\r\n"
    answers = [asked, b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n", OK]

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        await answering(answers.pop(0))(received, writer)

    async with target(answer) as place:
        settings = {"pause_after": 1, "auto_resume": True, "parallel": 2, "retry": rule()}
        endpoint = await stage.endpoint(place.url, settings)
        await stage.forwarder.start()
        await stage.outcome(endpoint, target="/catch/s/0")
        await stage.outcome(endpoint, target="/catch/s/1")
        await stage.outcomes(3)
        assert [event.state for event in stage.told] == [QUEUED, FAILED, DELIVERED]
    assert [received.line.split()[1] for received in place.received] == ["/0", "/1", "/0"]


async def test_a_user_need_not_wait_until_a_paused_target_is_tried_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_worker, "_PROBE_S", 3_600.0)
    async with target(failing(1)) as place:
        settings = {"pause_after": 1, "auto_resume": True, "retry": rule(retries=0)}
        endpoint = await stage.endpoint(place.url, settings)
        await stage.forwarder.start()
        await stage.outcome(endpoint)
        await stage.capture(endpoint)
        assert stage.now(endpoint).targets[0].paused is PausedBy.FAILURES
        await stage.store.targets.resume(endpoint.targets[0].id)
        await stage.outcomes(2)
    assert [event.state for event in stage.told] == [FAILED, DELIVERED]


async def test_a_target_that_the_user_paused_is_not_tried_again(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_worker, "_PROBE_S", 0.0)
    async with target() as place, target() as other:
        endpoint = await stage.endpoint(place.url, {"auto_resume": True})
        await stage.store.targets.create(endpoint.id, replace(endpoint.targets[0].draft(), url=other.url))
        await stage.store.targets.pause(endpoint.targets[0].id)
        await stage.forwarder.start()
        await stage.capture(stage.now(endpoint))
        await stage.outcomes(1)
        await stage.forwarder.stop()
    assert (len(place.received), len(other.received)) == (0, 1)


async def test_the_number_of_the_attempt_is_sent_as_a_header(stage: Stage) -> None:
    async with target(failing(2)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": rule(), "attempt_header": "X-Attempt"})
        await stage.forwarder.start()
        await stage.capture(endpoint, headers=(("X-ATTEMPT", "9"),))
        await stage.outcomes(3)
    assert [received.all("x-attempt") for received in place.received] == [["1"], ["2"], ["3"]]


async def test_a_pause_during_a_retrys_wait_ends_the_wait(stage: Stage) -> None:
    async with target(failing(1)) as place:
        waits = rule(first_delay_ms=3_600_000, longest_delay_ms=3_600_000, total_ms=2 * 3_600_000)
        endpoint = await stage.endpoint(place.url, {"retry": waits})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await stage.outcomes(1)
        await stage.store.targets.pause(endpoint.targets[0].id)
        await stage.store.targets.resume(endpoint.targets[0].id)
        assert (await stage.outcomes(2))[-1].state is DELIVERED


LONG_WAIT = rule(first_delay_ms=3_600_000, longest_delay_ms=3_600_000, total_ms=2 * 3_600_000)


@pytest.mark.parametrize("when", ["waiting", "sending"])
@pytest.mark.parametrize("delete", ["requests", "all", "purge"])
async def test_what_waits_behind_a_retry_is_sent_when_that_is_deleted(stage: Stage, delete: str, when: str) -> None:
    go_on = asyncio.Event()

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        if "/first" in received.line:
            await go_on.wait()
        await answering(ERROR if "/first" in received.line else OK)(received, writer)

    async def remove(first: Capture) -> None:
        if delete == "requests":
            await stage.store.captures.delete([first.id])
        elif delete == "all":
            await stage.store.captures.clear(endpoint.id)
        else:
            await stage.store.retention.purge()

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url, {"retry": LONG_WAIT}, retention_days=1)
        await stage.forwarder.start()
        received_at = now_us() - 2 * DAY_US if delete == "purge" else now_us()
        first = await stage.capture(endpoint, target="/catch/s/first", received_at=received_at)
        await place.arrival()
        if when == "sending":
            await remove(first)
            await stage.capture(endpoint, target="/catch/s/second")
            go_on.set()
        else:
            go_on.set()
            await stage.outcomes(1)
            await remove(first)
            await stage.capture(endpoint, target="/catch/s/second")
        await place.arrival(2)
    assert [received.line.split()[1] for received in place.received] == ["/first", "/second"]


@pytest.mark.parametrize("parallel", [None, 2])
@pytest.mark.parametrize("when", ["waiting", "sending"])
@pytest.mark.parametrize("change", ["url", "retries", "form"])
async def test_a_changed_target_ends_the_wait_for_a_retry(
    stage: Stage, change: str, when: str, parallel: int | None
) -> None:
    async def save() -> None:
        (now,) = stage.now(endpoint).targets
        if change == "form":
            await stage.store.endpoints.update(endpoint.id, replace(endpoint.draft(), forward_url=f"{place.url}/new"))
        elif change == "url":
            await stage.store.targets.update(now.id, replace(now.draft(), url=f"{place.url}/new"))
        else:
            await stage.store.targets.update(now.id, replace(now.draft(), retry=rule(retries=0)))

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        if len(place.received) == 1 and when == "sending":
            await save()
        await answering(ERROR)(received, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url, {"retry": LONG_WAIT, "parallel": parallel})
        await stage.forwarder.start()
        await stage.capture(endpoint, target="/catch/s")
        await stage.outcomes(1)
        if when == "waiting":
            await save()
        await stage.outcomes(2)
    paths = [received.line.split()[1] for received in place.received]
    assert paths == ["/", "/" if change == "retries" else "/new"]
    assert stage.told[1].state is (FAILED if change == "retries" else QUEUED)


@pytest.mark.parametrize("parallel", [None, 2])
async def test_a_delivery_that_waits_for_its_retry_is_sent_now_once(stage: Stage, parallel: int | None) -> None:
    async with target(failing(2)) as place:
        waits = rule(first_delay_ms=3_600_000, longest_delay_ms=3_600_000, total_ms=10 * 3_600_000)
        endpoint = await stage.endpoint(place.url, {"retry": waits, "parallel": parallel})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        (failed,) = await stage.outcomes(1)
        await stage.store.deliveries.send_now(failed)
        again = (await stage.outcomes(2))[-1]
        assert again.wait_us(again.started_at or 0) > 0, "it waits for its next retry as before"
        await asyncio.sleep(0)
        assert len(place.received) == 2
        await stage.store.deliveries.send_now(again)
        assert (await stage.outcomes(3))[-1].state is DELIVERED


async def test_what_waits_behind_the_first_follows_when_that_is_sent_now(stage: Stage) -> None:
    async with target(failing(1)) as place:
        waits = rule(first_delay_ms=3_600_000, longest_delay_ms=3_600_000, total_ms=2 * 3_600_000)
        endpoint = await stage.endpoint(place.url, {"retry": waits})
        await stage.forwarder.start()
        await stage.capture(endpoint, target="/catch/s/0")
        await stage.outcomes(1)
        await stage.forwarder.stop()
        await stage.capture(endpoint, target="/catch/s/1")
        stage.forwarder = stage.new_forwarder(stage.store.deliveries)
        await stage.forwarder.start()
        (first, second) = await stage.store.deliveries.page(DeliveryFilter(), after=0)
        assert (first.behind, second.behind) == (None, first.capture_id)
        await stage.store.deliveries.send_now(first)
        assert [one.state for one in await stage.outcomes(3)][1:] == [DELIVERED, DELIVERED]
    assert [received.line.split()[1] for received in place.received] == ["/0", "/0", "/1"]


async def test_a_retry_goes_on_after_a_restart(stage: Stage) -> None:
    async with target(failing(1)) as place:
        endpoint = await stage.endpoint(place.url, {"retry": rule(first_delay_ms=200, longest_delay_ms=200)})
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await stage.outcomes(1)
        await stage.close()
        await stage.open()
        await stage.forwarder.start()
        last = (await stage.outcomes(2))[-1]
    assert (last.state, last.attempts, last.round_attempts) == (DELIVERED, 2, 2)


async def test_an_attempt_cut_off_by_a_stop_is_marked_and_made_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_sender, "GRACE_S", 0.05)
    async with target(silent) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        await stage.capture(endpoint)
        await place.arrival()
        await stage.close()
        port = place.port
    async with target(port=port):
        await stage.open()
        await stage.forwarder.start()
        last = (await stage.outcomes(1))[-1]
    first, second = await stage.attempts(last)
    assert first.failure is FailureKind.INTERRUPTED
    assert (second.number, second.failure, last.round_attempts) == (2, None, 1)


async def test_of_two_sends_cut_off_by_a_stop_the_first_is_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy_sender, "GRACE_S", 0.05)

    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        if len(place.received) == 1:
            writer.write(OK)
        elif len(place.received) == 2:
            writer.close()
        else:
            await silent(_, writer)

    async with target(answer) as place:
        endpoint = await stage.endpoint(place.url)
        await stage.forwarder.start()
        await stage.outcome(endpoint)
        await stage.capture(endpoint)
        await place.arrival(3)
        await stage.close()
        port = place.port
    async with target(port=port):
        await stage.open()
        await stage.forwarder.start()
        last = (await stage.outcomes(2))[-1]
    made = await stage.attempts(last)
    assert [one.number for one in made] == [1, 2, 3]
    assert [one.failure for one in made] == [FailureKind.CONNECTION, FailureKind.INTERRUPTED, None]


class TestTargetsResponse:
    async def expected(self, stage: Stage, answer: Answering, **settings: Any) -> tuple[object, list[DeliveryChanged]]:
        """What the sender of a request gets, None without a response of the target."""
        async with target(answer) as place:
            endpoint = await stage.endpoint(place.url, settings)
            await stage.forwarder.start()
            capture_id = (await stage.capture(endpoint)).id
            expected = stage.responses.expect(capture_id, endpoint.targets[0].id)
            done, _ = await asyncio.wait([expected], timeout=20)
            assert done
            await stage.outcomes(1)
            return (None if expected.cancelled() else expected.result()), stage.told

    async def test_it_is_the_first_attempts(self, stage: Stage) -> None:
        result, told = await self.expected(stage, failing(1), retry=rule())
        assert isinstance(result, tuple)
        assert result[0].status == 503, "an error of the target is a response too"
        assert told[0].delivery.responded

    async def test_there_is_none_of_a_target_that_closes(self, stage: Stage) -> None:
        result, told = await self.expected(stage, answering(b"", close=True))
        assert result is None
        assert not told[0].delivery.responded
