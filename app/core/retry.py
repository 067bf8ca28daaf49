"""What follows a failed attempt: when the next one starts, and until when, or why there is none."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace

from app.core.clock import local_time, microseconds
from app.core.delivery import Attempt, AttemptTrigger, Delivery, FailureKind, ended_state
from app.core.model import DeliveryState
from app.core.record import Headers, Record
from app.core.target import RetryRule
from app.core.text import MONTHS, count_of, duration_text, ms_text

_DAYS, _MONTHS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun", "|".join(MONTHS)
_LONG_DAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
_TIME = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_FORMS = (
    re.compile(f"(?:{_DAYS}), (?P<day>[0-9]{{2}}) (?P<month>{_MONTHS}) (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(f"(?:{_LONG_DAYS}), (?P<day>[0-9]{{2}})-(?P<month>{_MONTHS})-(?P<year>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(f"(?:{_DAYS}) (?P<month>{_MONTHS}) (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
)
_LATEST = 50
"""A two-digit year that seems to be more years ahead than this is one of the past."""


def parse_http_date(text: str, now_us: int) -> int | None:
    """Microseconds of a date in any of the three formats; None if it is invalid. The day of the week is not checked."""
    found = next((match for form in _FORMS if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    day, hour, minute, second = (int(found[name]) for name in ("day", "hour", "minute", "second"))
    try:
        moment = datetime(
            _year(found["year"], now_us),
            MONTHS.index(found["month"]) + 1,
            day,
            hour,
            minute,
            min(second, 59),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    if second > 60:
        return None
    return microseconds(moment) + (1_000_000 if second == 60 else 0)


def _year(digits: str, now_us: int) -> int:
    if len(digits) == 4:
        return int(digits)
    this_year = local_time(now_us, UTC).year
    year = this_year - this_year % 100 + int(digits)
    return year - 100 if year > this_year + _LATEST else year


_SECONDS = re.compile(r"0*([0-9]+)", re.ASCII)
_DIGITS_MAX = 9
"""More digits are read as this many nines: over 31 years."""


class RetryAfter(Record, frozen=True):
    """`text` is the header's value, `wait_us` counts from the response."""

    text: str
    wait_us: int


def retry_after(headers: Headers, now_us: int) -> RetryAfter | None:
    """The longest valid `Retry-After` (RFC 9110, section 10.2.3); None without one.

    A date is taken relative to the response's own `Date`: what it means is a duration on the target's clock, which can
    differ from this computer's (containers, virtual machines). Without a valid `Date` it is relative to `now_us`.
    """
    sent_at = next(
        (at for value in _values(headers, "date") if (at := parse_http_date(value, now_us)) is not None), now_us
    )
    found = (_parsed(value, sent_at, now_us) for value in _values(headers, "retry-after"))
    return max((each for each in found if each), key=lambda each: each.wait_us, default=None)


def _values(headers: Headers, lower_name: str) -> list[str]:
    return [value.strip(" \t") for name, value in headers if name.lower() == lower_name]


def _parsed(value: str, sent_at: int, now_us: int) -> RetryAfter | None:
    seconds = _SECONDS.fullmatch(value)
    if seconds:
        digits = seconds[1] if len(seconds[1]) <= _DIGITS_MAX else "9" * _DIGITS_MAX
        return RetryAfter(text=digits, wait_us=int(digits) * 1_000_000)
    at = parse_http_date(value, now_us)
    return None if at is None else RetryAfter(text=value, wait_us=max(0, at - sent_at))


_KINDS = {
    FailureKind.CONNECTION: "connection",
    FailureKind.TIMEOUT: "timeout",
    FailureKind.TLS: "tls",
    FailureKind.PROTOCOL: "protocol",
}
_CONNECTS_MAX = 100
"""A rule without delays has no more attempts to connect than about twice as many."""
_NAMES = {
    FailureKind.CONNECTION: "connection errors are",
    FailureKind.TIMEOUT: "time-outs are",
    FailureKind.TLS: "TLS errors are",
    FailureKind.PROTOCOL: "malformed responses are",
}
_NEVER = {
    FailureKind.LOOP: "the target leads back to Hookline",
    FailureKind.CUT_OFF: "the replay cut it off on purpose",
    FailureKind.INTERNAL: "an error in Hookline stopped it",
}


def uses_retry(attempt: Attempt) -> bool:
    """Whether `attempt` counts in `round_attempts`: not if it could not connect, not if Hookline ended during it, and
    not if it only repeated another because a reused connection had closed."""
    if attempt.could_not_connect or attempt.failure is FailureKind.INTERRUPTED:
        return False
    return attempt.trigger is not AttemptTrigger.RESENT


def is_retried(rule: RetryRule, attempt: Attempt) -> bool:
    """Whether the rule names the attempt's result. `4xx` includes 429."""
    if attempt.failure is not FailureKind.STATUS or attempt.status is None:
        return attempt.failure is not None and _KINDS.get(attempt.failure) in rule.on
    return f"{attempt.status // 100}xx" in rule.on or str(attempt.status) in rule.on


def longest_wait_ms(rule: RetryRule, retry: int) -> int:
    """The upper limit of the random wait before the `retry`-th retry, which counts from 1."""
    doublings = min(retry - 1, rule.longest_delay_ms.bit_length())
    return min(rule.longest_delay_ms, rule.first_delay_ms << doublings)


def what_follows(
    rule: RetryRule,
    attempt: Attempt,
    *,
    round_attempts: int,
    round_ms: float,
    random: Callable[[], float],
) -> tuple[int | None, str | None]:
    """How many microseconds after `attempt` the next one starts, None if there is none; and until when it is retried,
    or why it is not, in a sentence: None after a success, and where the attempt's own error says it.

    `round_attempts` counts the attempts of this round that `uses_retry`, `round_ms` is what its attempts and the waits
    between them took, both with `attempt`. So what the clock says does not count. `random` returns 0 to 1.
    The wait is exponential backoff with full jitter: a random part of `longest_wait_ms`, but at least the target's
    `Retry-After`. Where nothing could connect, it is a random part of `round_ms` within the rule's delays, as often as
    `total_ms` allows. The last wait ends with `total_ms`. An interrupted attempt is repeated at once, whatever the rule
    says: its result is not known.
    """
    if attempt.failure is FailureKind.INTERRUPTED:
        return 0, "Sent again because Hookline stopped during the last attempt."
    if attempt.failure in (None, FailureKind.NOT_SENT):
        return None, None
    if attempt.failure in _NEVER:
        return None, f"Not retried: {_NEVER[attempt.failure]}."
    if rule.retries == 0:
        return None, "Not retried: the target has no retries."
    if not is_retried(rule, attempt):
        what = _NAMES.get(attempt.failure) or f"status {attempt.status} is"
        return None, f"Not retried: {what} not in the target's retry rule."
    bound = wait_text(rule.total_ms * 1_000)
    asked = None if attempt.status is None else retry_after(attempt.response_headers, attempt.ended_at)
    asked_text = f" (Retry-After: {asked.text})" if asked else ""
    if attempt.could_not_connect:
        most = max(rule.longest_delay_ms, rule.total_ms / _CONNECTS_MAX)
        longest_ms = min(most, max(rule.first_delay_ms, round_ms))
        text = f"Retried until a connection is made, for {bound} at most."
    elif round_attempts <= rule.retries:
        longest_ms = longest_wait_ms(rule, round_attempts)
        text = f"Retry {round_attempts} of {rule.retries}, within {bound}{asked_text}."
    else:
        return None, f"Gave up after {count_of(round_attempts, 'attempt')}."
    left_us = round((rule.total_ms - round_ms) * 1_000)
    backoff_us = round(random() * longest_ms * 1_000)
    wait_us = max(min(backoff_us, left_us), asked.wait_us if asked else 0)
    if left_us > 0 and wait_us <= left_us:
        return wait_us, text
    return None, f"Gave up: the next retry would start more than {bound} after the first attempt{asked_text}."


def after(delivery: Delivery, made: Sequence[tuple[Attempt, bytes]], rule: RetryRule | None) -> Delivery:
    """The delivery after these attempts, made at once: queued for its next attempt by the rule, or ended."""
    last = made[-1][0]
    round_attempts = delivery.round_attempts + (1 if uses_retry(last) or len(made) > 1 else 0)
    round_ms = (delivery.round_ms or 0.0) + sum(attempt.ms for attempt, _ in made)
    wait_us, next_step = None, None
    if rule is not None:
        wait_us, next_step = what_follows(
            rule, last, round_attempts=round_attempts, round_ms=round_ms, random=random.random
        )
    return replace(
        delivery,
        url=last.url,
        state=ended_state(last.failure) if wait_us is None else DeliveryState.QUEUED,
        due_at=0 if wait_us is None else last.ended_at + wait_us,
        attempts=last.number,
        round_attempts=round_attempts,
        round_ms=round_ms + (wait_us or 0) / 1_000,
        started_at=last.started_at,
        ms=last.ms,
        status=last.status,
        error=last.error,
        next_step=next_step,
        interrupted=False,
    )


def wait_text(us: int) -> str:
    return ms_text(us / 1_000) if us < 60_000_000 else duration_text(us / 1_000_000)
