"""What the log, the status and `hookline doctor` say of deliveries that failed for good and of paused targets."""

from __future__ import annotations

import asyncio

import pytest

from app.core.model import DeliveryState
from app.core.target import PausedBy, RetryRule, TargetDraft
from app.db.sqlite.database_checks import check_forwarding
from app.server.forward import forwarder
from tests.server.forward.conftest import Stage
from tests.server.forward.targets import OK, Target, answering, target

BUSY = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
BUSY_TEXT = "The target responded with 503 Service Unavailable."


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.endswith("forwarder")]


async def test_a_final_failure_and_a_pause_are_logged(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "app")
    async with target(answering(BUSY)) as place:
        rule = RetryRule(retries=1, on=("5xx",), first_delay_ms=0, longest_delay_ms=0)
        endpoint = await stage.endpoint(
            f"{place.url}/?token=secret", {"retry": rule, "pause_after": 3}, name="Shop", slug="shop"
        )
        await stage.forwarder.start()
        for _ in range(3):
            await stage.capture(endpoint)
        await stage.outcomes(6)
    number = endpoint.targets[0].id
    assert lines(caplog) == [
        f"a delivery of “Shop” to target {number} failed (503). Gave up after 2 attempts.",
        (
            f"target {number} of “Shop” is paused after 3 failed deliveries in a row. To resume it: hookline target"
            f" resume {number}"
        ),
    ]
    assert "secret" not in caplog.text


async def failures(stage: Stage, place: Target, count: int) -> str:
    """Let so many deliveries of an endpoint “Shop” fail; what the log calls them."""
    endpoint = await stage.endpoint(place.url, {"pause_after": 0}, name="Shop")
    await stage.forwarder.start()
    for _ in range(count):
        await stage.capture(endpoint)
    await stage.outcomes(count)
    return f"of “Shop” to target {endpoint.targets[0].id}"


async def test_failures_between_two_lines_are_counted_at_the_end(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "app")
    async with target(answering(BUSY)) as place:
        what = await failures(stage, place, 3)
    assert len(lines(caplog)) == 1
    await stage.forwarder.stop()
    assert lines(caplog)[1:] == [f"2 more deliveries {what} failed since the last line, the last one with: 503."]


async def test_failures_between_two_lines_are_counted_though_no_other_follows(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "app")
    monkeypatch.setattr(forwarder, "INTERVAL_S", 0.2)
    async with target(answering(BUSY)) as place:
        what = await failures(stage, place, 3)

    def told() -> int:
        """How many failures the lines stand for."""
        first = sum(line.startswith(f"a delivery {what} failed") for line in lines(caplog))
        return first + sum(int(line.split()[0]) for line in lines(caplog) if f"{what} failed since" in line)

    async with asyncio.timeout(20):
        while told() < 3:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    assert told() == 3


@pytest.mark.parametrize(("follow", "result"), [(True, "Could not connect"), (False, "302")])
async def test_no_url_of_a_redirect_is_logged(
    stage: Stage, caplog: pytest.LogCaptureFixture, *, follow: bool, result: str
) -> None:
    caplog.set_level("INFO", "app")
    async with target() as gone:
        pass
    moved = f"HTTP/1.1 302 Moved\r\nLocation: {gone.url}/?session=s3cret\r\nContent-Length: 0\r\n\r\n".encode()
    async with target(answering(moved)) as place:
        settings = {"follow_redirects": follow, "retry": RetryRule(retries=0)}
        endpoint = await stage.endpoint(f"{place.url}/?token=s3cret", settings, name="Shop")
        await stage.forwarder.start()
        failed = await stage.outcome(endpoint, target=f"/catch/{endpoint.slug}?key=s3cret")
    assert failed.error is not None
    assert "s3cret" in failed.error
    (line,) = lines(caplog)
    number = endpoint.targets[0].id
    assert line == f"a delivery of “Shop” to target {number} failed ({result}). Not retried: the target has no retries."
    assert "s3cret" not in caplog.text


async def test_what_is_paused_or_fails_is_told_until_it_works(stage: Stage) -> None:
    async with target(answering(BUSY)) as place:
        first = await stage.endpoint(place.url, {"pause_after": 0}, slug="one")
        second = await stage.endpoint(place.url, {"pause_after": 2}, slug="two")
        assert check_forwarding(stage.folder).state == "ok"
        await stage.forwarder.start()
        for _ in range(2):
            await stage.capture(first)
            await stage.capture(second)
        await stage.outcomes(4)
        await stage.capture(second)
    failing, paused = await stage.store.deliveries.target_troubles()
    assert failing.text == f"The last 2 deliveries to {place.url} failed: {BUSY_TEXT}"
    assert failing.advice == "To see them: hookline deliveries one --failed"
    assert (paused.paused, paused.failures, paused.waiting) == (PausedBy.FAILURES, 2, 1)
    assert paused.text == (
        f"Forwarding to {place.url} is paused after 2 failed deliveries in a row. 1 delivery is waiting."
        f" Last error: {BUSY_TEXT}"
    )
    assert paused.advice == f"To resume it: hookline target resume {second.targets[0].id}"
    found = check_forwarding(stage.folder)
    assert (found.state, found.text) == ("warning", f"{failing.text} {paused.text}")
    assert found.advice == f"{failing.advice}. {paused.advice}."
    async with target(answering(OK), place.port):
        await stage.capture(first)
        await stage.store.targets.resume(second.targets[0].id)
        assert [one.state for one in (await stage.outcomes(6))[4:]] == [DeliveryState.DELIVERED] * 2
    assert await stage.store.deliveries.target_troubles() == []


async def test_a_pause_by_the_user_is_told_while_something_waits(stage: Stage) -> None:
    endpoint = await stage.endpoint("http://127.0.0.1:9/")
    number = endpoint.targets[0].id
    await stage.store.targets.pause(number)
    assert await stage.store.deliveries.target_troubles() == []
    await stage.capture(endpoint)
    (trouble,) = await stage.store.deliveries.target_troubles()
    assert trouble.text == "Forwarding to http://127.0.0.1:9/ is paused. 1 delivery is waiting."
    await stage.store.targets.update(number, TargetDraft(url="http://127.0.0.1:9/", active=False))
    assert await stage.store.deliveries.target_troubles() == []
