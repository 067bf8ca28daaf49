"""Targets, deliveries and attempts in words, with the icon and colour of each state and result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from app.core.delivery import FAILURES, Attempt, Delivery, FailureKind, WaitReason, ended_state, trigger_text, wait_of
from app.core.ids import uuid7_us
from app.core.model import WORST_FIRST, DeliveryState
from app.core.target import PausedBy, RetryRule, Target, TargetDraft, full_url
from app.core.text import clock_time, count_of, duration_text, exact_duration, ms_text, phrase_of
from app.core.worst_state import State, delivery_state, target_state
from app.ui.state_look import LOOKS, Look

INTERRUPTED = Look("Interrupted", "warning", "warning")
_FORWARDING = {
    State.PAUSED: "waiting for a paused target",
    State.WAITING: "waiting to be forwarded",
    State.OK: "forwarded",
    State.NOT_SENT: "not sent",
    State.FAILED: "forwarding failed",
}
UNTIMED = (FailureKind.INTERRUPTED, FailureKind.NOT_SENT)
"""Attempts without a duration, and without anything that was sent or came back."""
INTERRUPTED_MEANS = (
    "Hookline stopped while this attempt was being made. The target may have received the request, so the next attempt"
    " may be a repeat. It does not use up a retry."
)
RESULTS = {
    "connection": ("Connection errors", "connection errors"),
    "timeout": ("Timeouts", "timeouts"),
    "tls": ("TLS errors", "TLS errors"),
    "protocol": ("Invalid responses", "invalid responses"),
    "3xx": ("3xx, if not followed", "3xx"),
    "4xx": ("4xx client errors", "4xx"),
    "5xx": ("5xx server errors", "5xx"),
}
"""Each result that a rule can name besides single statuses: as a check box, and within a sentence."""
_LISTED_MAX = 5
"""Maximum number of delays that are listed one by one."""


def forwarding_words(state: State) -> str:
    """How a request in this state was forwarded; empty if it was not."""
    return _FORWARDING.get(state, "")


def look_of(delivery: Delivery, target: Target | None) -> Look:
    return LOOKS[delivery_state(delivery.state, [target])]


def look_of_attempt(attempt: Attempt) -> Look:
    if attempt.failure is FailureKind.INTERRUPTED:
        return INTERRUPTED
    return LOOKS[delivery_state(ended_state(attempt.failure), ())]


def counted(states: Iterable[DeliveryState]) -> list[tuple[int, str]]:
    """How many are in each state, and its word: `(1, "failed"), (2, "delivered")`, the worst first."""
    counts = Counter(states)
    return [(counts[one], LOOKS[delivery_state(one, ())].words.lower()) for one in WORST_FIRST if counts[one]]


def result_of(attempt: Attempt) -> str:
    """`200 OK`, `500 Internal Server Error`, `Timed out`, `200 OK · Timed out`."""
    failure = FAILURES[attempt.failure] if attempt.failure is not None else ""
    if attempt.status is None:
        return failure or "No response"
    status = status_text(attempt.status)
    return status if attempt.failure in (None, FailureKind.STATUS) else f"{status} · {failure}"


def status_text(status: int) -> str:
    """The number, with its usual phrase."""
    return f"{status} {phrase_of(status)}".rstrip()


def is_paused(delivery: Delivery, target: Target | None) -> bool:
    return delivery.state is DeliveryState.QUEUED and target is not None and target.paused is not None


def next_text(delivery: Delivery, target: Target | None, now_us: int) -> str:
    """When a queued delivery is sent, or what it waits for: `Retry 2 of 4 in 12 s`, `First attempt now`,
    `Target is paused`; empty if it has ended.
    """
    wait = wait_of(delivery, target, now_us)
    if wait is None:
        return ""
    if delivery.round_attempts == 0:
        name = "Next attempt" if delivery.attempts else "First attempt"
    elif target is not None and delivery.round_attempts <= target.retry.retries:
        name = f"Retry {delivery.round_attempts} of {target.retry.retries}"
    else:
        name = f"Retry {delivery.round_attempts}"
    if wait.reason in (WaitReason.RETRY, WaitReason.NEXT):
        return f"{name} {wait_text(delivery.wait_us(now_us))}"
    older = f"the request of {clock_time(uuid7_us(wait.request))[:8]}" if wait.request is not None else None
    text = wait.text(older)
    return text[0].upper() + text[1:]


def wait_text(us: int) -> str:
    """`now`, `in 12 s`, `in 4 min 5 s`, `in 2 h 3 min`."""
    seconds = -(-us // 1_000_000)
    if seconds <= 0:
        return "now"
    if 60 < seconds < 3_600 and seconds % 60:
        return f"in {seconds // 60} min {seconds % 60} s"
    return f"in {duration_text(seconds)}"


def paused_text(target: Target) -> str:
    if target.paused is PausedBy.FAILURES:
        failed = count_of(target.pause_after, "failed delivery", "failed deliveries")
        return f"Paused after {failed} in a row. Deliveries wait until you resume the target."
    return "This target is paused. Deliveries wait until you resume it."


def timing_parts(attempt: Attempt) -> list[tuple[str, str, float]]:
    """Name, token and milliseconds of each part of an attempt, in order; the last is what the others leave."""
    timing = attempt.timing
    named = (
        ("Lookup", "timing_lookup", timing.lookup),
        ("Connect", "timing_connect", timing.connect),
        ("TLS", "timing_tls", timing.tls),
        ("Waiting for first byte", "timing_wait", timing.first_byte),
    )
    parts = [(name, token, ms) for name, token, ms in named if ms is not None]
    rest = attempt.ms - sum(ms for *_, ms in parts)
    if rest >= 0.05 or not parts:
        parts.append(("Rest", "timing_rest", max(0.0, rest)))
    return parts


def attempt_text(attempt: Attempt, count: int) -> str:
    """In words, for screen readers and tooltips: `Attempt 2 of 3, retry: 500 Internal Server Error after 12 ms`."""
    took = f" after {ms_text(attempt.ms)}" if attempt.failure not in UNTIMED else ""
    trigger = ", ".join(filter(None, (f"Attempt {attempt.number} of {count}", trigger_text(attempt))))
    return f"{trigger}: {result_of(attempt)}{took}"


def attempts_text(delivery: Delivery) -> str:
    """`3 attempts`; empty before the first, and for a request that was never forwarded."""
    never = delivery.state is DeliveryState.NOT_SENT and delivery.attempts == 1
    return "" if never or not delivery.attempts else count_of(delivery.attempts, "attempt")


def target_look(draft: TargetDraft, paused: PausedBy | None, failures: int) -> Look:
    """`failures` counts the deliveries to it that failed in a row."""
    state = target_state(active=draft.active, paused=paused is not None, failures=failures)
    if state is State.NONE:
        return Look("Off", "off", "text_faint")
    words = "On"
    if paused is PausedBy.FAILURES:
        words = f"Paused after {count_of(draft.pause_after, 'failure')}" if draft.pause_after else "Paused"
    elif paused is PausedBy.USER:
        words = "Paused by you"
    elif failures:
        words = "Failing"
    return LOOKS[state]._replace(words=words)


def more_text(targets: Sequence[TargetDraft]) -> str:
    """` and 2 more targets`, to follow the first target's URL; empty if there is only one."""
    more = len(targets) - 1
    return f" and {count_of(more, 'more target')}" if more > 0 else ""


def retry_text(rule: RetryRule) -> str:
    """`Retries timeouts up to 4 times, after at most 1, 2, 4 and 8 s, until 10 min after the first attempt.`"""
    if not rule.retries:
        return "Never retries a failed delivery."
    if not rule.on:
        return "Never retries a failed delivery: no result is selected."
    times = "once" if rule.retries == 1 else f"up to {rule.retries} times"
    end = f"until {exact_duration(rule.total_ms)} after the first attempt" if rule.total_ms else "all at once"
    text = f"Retries {_results_text(rule)} {times}, {_delays_text(rule)}, {end}."
    return f"{text} Attempts that cannot connect do not count." if "connection" in rule.on else text


def _results_text(rule: RetryRule) -> str:
    failures = [words for key, (_, words) in RESULTS.items() if key in rule.on and not key[0].isdigit()]
    single = [name for name in rule.on if name not in RESULTS]
    statuses = [*single, *(key for key in RESULTS if key in rule.on and key[0].isdigit())]
    return listed([*failures, f"{listed(statuses)} responses"] if statuses else failures)


def _delays_text(rule: RetryRule) -> str:
    delays = [min(rule.first_delay_ms * 2**number, rule.longest_delay_ms) for number in range(rule.retries)]
    if not delays[-1]:
        return "without waiting"
    if len(set(delays)) == 1:
        each = " each time" if len(delays) > 1 else ""
        return f"after at most {exact_duration(delays[0])}{each}"
    if len(delays) > _LISTED_MAX:
        first = exact_duration(delays[0])
        return f"after at most {first}, then twice as long each time up to {exact_duration(delays[-1])}"
    texts = [exact_duration(delay) for delay in delays]
    numbers, units = zip(*(text.split(" ") for text in texts), strict=True)
    if len(set(units)) == 1:
        return f"after at most {listed(numbers)} {units[0]}"
    return f"after at most {listed(texts)}"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def sample_url(draft: TargetDraft, slug: str) -> str:
    """Where a request to `…/{slug}/orders?id=7` would be sent; `draft.url` must be valid."""
    return replace(draft, url=full_url(draft.url)).request_url(f"/catch/{slug}/orders?id=7")
