"""The words for targets: their state, their retry rule, and where a request is sent."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.target import PausedBy, RetryRule, TargetDraft, forwarded_url, full_url
from app.core.text import count_of, exact_duration
from app.core.worst_state import State, target_state
from app.ui.state_look import LOOKS, Look

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
    statuses = [*single_statuses(rule), *(key for key in RESULTS if key in rule.on and key[0].isdigit())]
    return listed([*failures, f"{listed(statuses)} responses"] if statuses else failures)


def single_statuses(rule: RetryRule) -> list[str]:
    return [name for name in rule.on if name not in RESULTS]


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


def sample_url(draft: TargetDraft, slug: str, below: str = "/orders?id=7") -> str:
    """Where a request to `slug` and `below` would be sent; `draft.url` must be valid."""
    path, mark, query = below.partition("?")
    captured = f"/catch/{slug}{path if draft.append_path else ''}"
    return forwarded_url(full_url(draft.url), captured + (mark + query if draft.keep_query else ""))
