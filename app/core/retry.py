"""What follows a failed attempt: when the next one starts, or why there is none."""

from __future__ import annotations

from collections.abc import Callable

from app.core.about import duration_text
from app.core.delivery import Attempt, AttemptTrigger, FailureKind
from app.core.retry_after import RetryAfter, retry_after
from app.core.target import RetryOn, RetryRule
from app.core.text import count_of, ms_text

_KINDS: dict[FailureKind, RetryOn] = {
    FailureKind.CONNECTION: "connection",
    FailureKind.TIMEOUT: "timeout",
    FailureKind.TLS: "tls",
    FailureKind.PROTOCOL: "protocol",
}
_CLASSES: dict[int, RetryOn] = {3: "3xx", 4: "4xx", 5: "5xx"}
_NAMES = {
    FailureKind.CONNECTION: "connection errors are",
    FailureKind.TIMEOUT: "time-outs are",
    FailureKind.TLS: "TLS errors are",
    FailureKind.PROTOCOL: "malformed responses are",
}
_NEVER = {
    FailureKind.LOOP: "the target leads back to Hookline",
    FailureKind.NOT_SENT: "the request cannot be sent to this target",
    FailureKind.CUT_OFF: "the replay cut it off on purpose",
    FailureKind.INTERNAL: "an error in Hookline stopped it",
}


def uses_retry(attempt: Attempt) -> bool:
    """Whether `attempt` counts in `round_attempts`: not if Hookline ended during it, and not if it only repeated
    another because a reused connection had closed."""
    return attempt.failure is not FailureKind.INTERRUPTED and attempt.trigger is not AttemptTrigger.RESENT


def is_retried(rule: RetryRule, attempt: Attempt) -> bool:
    """Whether the rule names the attempt's result. `4xx` includes 429."""
    if attempt.failure is not FailureKind.STATUS or attempt.status is None:
        return attempt.failure is not None and _KINDS.get(attempt.failure) in rule.on
    return _CLASSES.get(attempt.status // 100) in rule.on or (attempt.status == 429 and "429" in rule.on)


def longest_wait_ms(rule: RetryRule, retry: int) -> int:
    """The upper limit of the random wait before the `retry`-th retry, which counts from 1."""
    doublings = min(retry - 1, rule.longest_delay_ms.bit_length())
    return min(rule.longest_delay_ms, rule.first_delay_ms << doublings)


def next_attempt(
    rule: RetryRule,
    attempt: Attempt,
    *,
    round_attempts: int,
    round_ms: float,
    random: Callable[[], float],
) -> int | None:
    """How many microseconds after `attempt` the next one starts; None if there is none.

    `round_attempts` counts the attempts of this round that `uses_retry`, `round_ms` is what its attempts and the waits
    between them took, both with `attempt`. So what the clock says does not count. `random` returns 0 to 1.
    The wait is exponential backoff with full jitter: a random part of `longest_wait_ms`, but at least the target's
    `Retry-After`. An interrupted attempt is repeated at once, whatever the rule says: its result is not known.
    """
    if attempt.failure is FailureKind.INTERRUPTED:
        return 0
    if attempt.failure is None or not is_retried(rule, attempt) or round_attempts > rule.retries:
        return None
    backoff_us = round(random() * longest_wait_ms(rule, round_attempts) * 1_000)
    asked = _asked(attempt)
    wait_us = max(backoff_us, asked.wait_us if asked else 0)
    return wait_us if round_ms * 1_000 + wait_us <= rule.total_ms * 1_000 else None


def next_text(rule: RetryRule, attempt: Attempt, *, round_attempts: int, wait_us: int) -> str:
    """`Retry 2 of 4 in 3.2 s (Retry-After: 5)`, for a delivery that waits after `attempt`."""
    if attempt.failure is FailureKind.INTERRUPTED:
        return "Sent again because Hookline closed during the last attempt"
    when = f"in {wait_text(wait_us)}" if wait_us > 0 else "now"
    return f"Retry {round_attempts} of {rule.retries} {when}{_asked_text(_asked(attempt))}"


def gave_up_text(rule: RetryRule, attempt: Attempt, *, round_attempts: int) -> str:
    """Why `next_attempt` returned None, in a sentence; empty after a success."""
    if attempt.failure is None:
        return ""
    if attempt.failure in _NEVER:
        return f"Not retried: {_NEVER[attempt.failure]}."
    if rule.retries == 0:
        return "Not retried: the target has no retries."
    if not is_retried(rule, attempt):
        what = _NAMES.get(attempt.failure) or f"status {attempt.status} is"
        return f"Not retried: {what} not in the target's retry rule."
    if round_attempts > rule.retries:
        return f"Gave up after {count_of(round_attempts, 'attempt')}."
    asked = _asked(attempt)
    bound = wait_text(rule.total_ms * 1_000)
    return f"Gave up: the next retry would start more than {bound} after the first attempt{_asked_text(asked)}."


def _asked(attempt: Attempt) -> RetryAfter | None:
    return None if attempt.status is None else retry_after(attempt.response_headers, attempt.ended_at)


def _asked_text(asked: RetryAfter | None) -> str:
    return f" (Retry-After: {asked.text})" if asked else ""


def wait_text(us: int) -> str:
    return ms_text(us / 1_000) if us < 60_000_000 else duration_text(us / 1_000_000)
