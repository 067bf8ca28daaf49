"""When a failed attempt is repeated: the rule, backoff with full jitter, `Retry-After`, and the bound on the total."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import parse_rfc3339
from app.core.delivery import Attempt, AttemptTrigger, FailureKind
from app.core.record import Headers
from app.core.retry import is_retried, longest_wait_ms, retry_after, uses_retry, what_follows
from app.core.target import RetryRule

NOW = parse_rfc3339("2026-11-22T12:00:00Z")
SECOND = 1_000_000
ALL = ("connection", "timeout", "tls", "protocol", "429", "503", "3xx", "4xx", "5xx")
LONG = 7 * 24 * 3_600_000
EVERYTHING = RetryRule(on=ALL, total_ms=LONG)


def attempt(failure: FailureKind | None = FailureKind.CONNECTION, **fields: Any) -> Attempt:
    defaults: dict[str, Any] = {
        "delivery_id": "d",
        "number": 1,
        "trigger": AttemptTrigger.FORWARD,
        "started_at": NOW,
        "ms": 0.0,
        "method": "POST",
        "url": "http://127.0.0.1:3000/",
        "headers": (("Host", "127.0.0.1:3000"),),
        "failure": failure,
    }
    return Attempt(**{**defaults, **fields})


def refused(**fields: Any) -> Attempt:
    """Nothing could connect, so nothing was sent."""
    return attempt(headers=(), **fields)


def status(code: int, *headers: tuple[str, str]) -> Attempt:
    return attempt(FailureKind.STATUS, status=code, response_headers=headers)


def next_attempt(rule: RetryRule, last: Attempt, **others: Any) -> int | None:
    return what_follows(rule, last, **others)[0]


def due(rule: RetryRule, last: Attempt, number: int = 1, random: Callable[[], float] = lambda: 0.5) -> int | None:
    """Microseconds after a first attempt that took no time."""
    return next_attempt(rule, last, round_attempts=number, round_ms=0.0, random=random)


def test_a_delivery_that_keeps_failing_follows_its_rule_to_the_end() -> None:
    rule = RetryRule(retries=4, first_delay_ms=1_000, longest_delay_ms=5_000, total_ms=60_000)
    round_ms, waits = 0.0, []
    for number in range(1, 6):
        round_ms += 100
        wait = next_attempt(rule, attempt(), round_attempts=number, round_ms=round_ms, random=lambda: 1.0)
        waits.append(wait)
        round_ms += (wait or 0) / 1_000
    assert waits == [1 * SECOND, 2 * SECOND, 4 * SECOND, 5 * SECOND, None]


@pytest.mark.parametrize(
    ("result", "named"),
    [
        (attempt(FailureKind.CONNECTION), {"connection"}),
        (attempt(FailureKind.TIMEOUT), {"timeout"}),
        (attempt(FailureKind.TLS), {"tls"}),
        (attempt(FailureKind.PROTOCOL), {"protocol"}),
        (attempt(FailureKind.TIMEOUT, status=503), {"timeout"}),
        (attempt(FailureKind.LOOP), set()),
        (attempt(FailureKind.NOT_SENT), set()),
        (attempt(FailureKind.INTERNAL), set()),
        (attempt(None, status=200), set()),
        (status(101), set()),
        (status(302), {"3xx"}),
        (status(404), {"4xx"}),
        (status(410), {"4xx"}),
        (status(429), {"4xx", "429"}),
        (status(503), {"5xx", "503"}),
    ],
)
def test_a_result_is_retried_if_the_rule_names_it(result: Attempt, named: set[str]) -> None:
    assert {on for on in ALL if is_retried(RetryRule(on=(on,)), result)} == named
    assert not is_retried(RetryRule(on=()), result)


@given(st.integers(0, 86_400_000), st.integers(0, 86_400_000), st.integers(1, 50), st.floats(0, 1, exclude_max=True))
def test_the_wait_is_a_random_part_of_a_limit_that_doubles(first: int, longest: int, retry: int, drawn: float) -> None:
    rule = RetryRule(retries=50, first_delay_ms=first, longest_delay_ms=longest, on=ALL, total_ms=LONG)
    limit = min(longest, first * 2 ** (retry - 1))
    assert longest_wait_ms(rule, retry) == limit
    wait = due(rule, attempt(), retry, lambda: drawn)
    assert wait is not None
    assert wait == round(drawn * limit * 1_000)
    assert 0 <= wait <= limit * 1_000


@given(st.integers(0, 86_400_000), st.integers(0, 86_400_000))
def test_the_limit_never_shrinks(first: int, longest: int) -> None:
    rule = RetryRule(first_delay_ms=first, longest_delay_ms=longest)
    limits = [longest_wait_ms(rule, retry) for retry in range(1, 60)]
    assert limits == sorted(limits)
    assert limits[-1] == (longest if first else 0)


def test_jitter_is_spread_over_the_whole_wait() -> None:
    random = Random(7).random
    waits = [due(RetryRule(first_delay_ms=8_000), attempt(), 1, random) or 0 for _ in range(2_000)]
    assert min(waits) < 0.1 * SECOND
    assert max(waits) > 7.9 * SECOND
    assert 3.8 * SECOND < sum(waits) / len(waits) < 4.2 * SECOND


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((("Retry-After", "5"),), 5),
        ((("retry-after", "\t007 "),), 7),
        ((("Retry-After", "0"),), 0),
        ((("Retry-After", "Sun, 22 Nov 2026 12:00:30 GMT"),), 30),
        ((("Retry-After", "Sunday, 22-Nov-26 12:00:30 GMT"),), 30),
        ((("Retry-After", "Sun Nov 22 12:00:30 2026"),), 30),
        ((("Retry-After", "Sun, 22 Nov 2026 11:00:00 GMT"),), 0),
        # The target's clock is an hour behind.
        ((("Date", "Sun, 22 Nov 2026 11:00:00 GMT"), ("Retry-After", "Sun, 22 Nov 2026 11:00:20 GMT")), 20),
        ((("Date", "now"), ("Retry-After", "Sun, 22 Nov 2026 12:00:20 GMT")), 20),
        ((("Date", "Sun, 22 Nov 2026 11:00:00 GMT"), ("Retry-After", "9")), 9),
        ((("Retry-After", "soon"), ("Retry-After", "3"), ("Retry-After", "2")), 3),
    ],
)
def test_retry_after_is_read_in_both_forms(headers: Headers, seconds: int) -> None:
    asked = retry_after(headers, NOW)
    assert asked is not None
    assert asked.wait_us == seconds * SECOND
    assert due(EVERYTHING, status(503, *headers), 1, lambda: 0.0) == seconds * SECOND


@pytest.mark.parametrize(
    "value", ["", "-1", "1.5", "5 s", "1e3", "\xb2", "5, 6", "soon", "Sun, 31 Feb 2026 12:00:00 GMT"]
)
def test_an_invalid_retry_after_is_ignored(value: str) -> None:
    assert retry_after((("Retry-After", value),), NOW) is None
    assert due(EVERYTHING, status(503, ("Retry-After", value))) == 500_000


def test_an_endless_retry_after_is_longer_than_any_total() -> None:
    assert due(EVERYTHING, status(503, ("Retry-After", "9" * 8_000))) is None


@given(st.integers(0, 600), st.floats(0, 1, exclude_max=True), st.sampled_from([302, 404, 429, 503]))
def test_retry_after_is_the_least_wait(seconds: int, drawn: float, code: int) -> None:
    rule = RetryRule(on=ALL, first_delay_ms=60_000, total_ms=LONG)
    without, wait = (
        due(rule, status(code, *headers), 1, lambda: drawn) for headers in ((), (("Retry-After", str(seconds)),))
    )
    assert without is not None
    assert wait == max(without, seconds * SECOND)


@given(st.integers(0, 100_000), st.integers(0, 100_000), st.floats(0, 1, exclude_max=True))
def test_the_last_wait_ends_with_the_total_and_nothing_starts_later(total: int, passed: int, drawn: float) -> None:
    rule = RetryRule(first_delay_ms=50_000, longest_delay_ms=60_000, total_ms=total)
    wait = next_attempt(rule, attempt(), round_attempts=1, round_ms=passed, random=lambda: drawn)
    left = (total - passed) * 1_000
    assert wait == (min(round(drawn * 50_000_000), left) if left > 0 else None)


def test_an_interrupted_attempt_is_repeated_at_once_whatever_the_rule_says() -> None:
    interrupted = attempt(FailureKind.INTERRUPTED)
    for rule in (RetryRule(retries=0), RetryRule(on=()), RetryRule(total_ms=0)):
        assert due(rule, interrupted, 9) == 0
    assert not uses_retry(interrupted)


def test_a_resent_attempt_and_the_one_it_repeats_are_one_of_the_retries() -> None:
    assert uses_retry(attempt())
    assert not uses_retry(attempt(trigger=AttemptTrigger.RESENT))


def test_attempts_that_cannot_connect_use_up_the_total_time_alone() -> None:
    rule, random = RetryRule(retries=2), Random(7).random
    round_ms, waits = 0.0, []
    while (wait := next_attempt(rule, refused(), round_attempts=0, round_ms=round_ms, random=random)) is not None:
        longest_ms = min(30_000, max(1_000, round_ms))
        assert wait <= longest_ms * 1_000
        waits.append(wait)
        round_ms += wait / 1_000
    assert round_ms == pytest.approx(600_000), "it is tried until the end"
    assert 20 < len(waits) < 100
    assert not uses_retry(refused())


def test_a_restart_of_a_minute_is_bridged_by_the_defaults_of_a_target() -> None:
    random = Random(7).random
    for _ in range(1_000):
        round_ms = 0.0
        while round_ms < 60_000:
            wait = next_attempt(RetryRule(), refused(), round_attempts=0, round_ms=round_ms, random=random)
            assert wait is not None
            round_ms += wait / 1_000
        assert round_ms < 90_000


@pytest.mark.parametrize("rule", [RetryRule(first_delay_ms=0), RetryRule(first_delay_ms=0, longest_delay_ms=0)])
def test_a_rule_without_delays_does_not_connect_without_end(rule: RetryRule) -> None:
    random, round_ms, tried = Random(7).random, 0.1, 0
    while (wait := next_attempt(rule, refused(), round_attempts=0, round_ms=round_ms, random=random)) is not None:
        round_ms += wait / 1_000 + 0.1
        tried += 1
    assert tried < 300


def test_what_could_not_connect_is_repeated_only_if_the_rule_says_so() -> None:
    assert due(RetryRule(retries=0), refused()) is None
    assert due(RetryRule(on=("5xx",)), refused()) is None
    assert due(RetryRule(), refused(), 4) is not None
    assert due(RetryRule(), attempt(), 5) is None, "a connection that was closed without a response counts"


@pytest.mark.parametrize(
    ("last", "text"),
    [
        (attempt(), "Retry 2 of 4, within 7 d."),
        (status(503, ("Retry-After", "5")), "Retry 2 of 4, within 7 d (Retry-After: 5)."),
        (refused(), "Retried until a connection is made, for 7 d at most."),
        (attempt(FailureKind.INTERRUPTED), "Sent again because Hookline stopped during the last attempt."),
        (attempt(None, status=200), None),
    ],
)
def test_what_follows_in_words(last: Attempt, text: str | None) -> None:
    assert what_follows(EVERYTHING, last, round_attempts=2, round_ms=0.0, random=lambda: 0.5)[1] == text


@pytest.mark.parametrize(
    ("rule", "last", "number", "text"),
    [
        (RetryRule(), attempt(), 5, "Gave up after 5 attempts."),
        (RetryRule(), status(404), 1, "Not retried: status 404 is not in the target's retry rule."),
        (RetryRule(), attempt(FailureKind.TLS), 1, "Not retried: TLS errors are not in the target's retry rule."),
        (RetryRule(retries=0), attempt(), 1, "Not retried: the target has no retries."),
        (RetryRule(retries=0), refused(), 0, "Not retried: the target has no retries."),
        (EVERYTHING, attempt(FailureKind.LOOP), 1, "Not retried: the target leads back to Hookline."),
        (
            RetryRule(on=ALL),
            status(503, ("Retry-After", "3600")),
            1,
            "Gave up: the next retry would start more than 10 min after the first attempt (Retry-After: 3600).",
        ),
    ],
)
def test_why_there_is_no_other_attempt_in_words(rule: RetryRule, last: Attempt, number: int, text: str) -> None:
    assert what_follows(rule, last, round_attempts=number, round_ms=0.0, random=lambda: 0.5) == (None, text)
