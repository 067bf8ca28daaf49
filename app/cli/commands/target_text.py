"""A target's state and settings in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from app.cli.output import DIM, GREEN, RED
from app.core.text import count_of, exact_duration, ms_text

if TYPE_CHECKING:
    from hookline.records import RetryRule, Target

CODES = {"on": GREEN, "off": DIM, "-": DIM}
WORST = ("paused", "failing", "on", "off")
"""The words for a target, the worst first. Failing: the last delivery to it failed."""


def state_text(target: Target) -> str:
    """`on`, `off`, `paused` or `paused (failures)`."""
    if not target.active:
        return "off"
    if target.paused is None:
        return "on"
    return "paused (failures)" if target.paused == "failures" else "paused"


def worst_state(targets: Sequence[Target]) -> str:
    """The worst state of an endpoint's targets, in one word; `-` without any."""
    words = {_word(target) for target in targets}
    return next((word for word in WORST if word in words), "-")


def _word(target: Target) -> str:
    word = state_text(target).partition(" ")[0]
    return "failing" if word == "on" and target.failures else word


def state_code(target: Target) -> str:
    """The colour of its state."""
    return CODES.get(state_text(target), RED)


def retry_text(retry: RetryRule) -> str:
    """`4 times on connection, 5xx`."""
    if not retry.retries or not retry.on:
        return "never"
    return f"{'once' if retry.retries == 1 else count_of(retry.retries, 'time')} on {', '.join(retry.on)}"


def full_retry_text(retry: RetryRule) -> str:
    """The same, with its delays."""
    text = retry_text(retry)
    if text == "never":
        return text
    first, longest = exact_duration(retry.first_delay_ms), exact_duration(retry.longest_delay_ms)
    return f"{text}; first after up to {first}, then up to {longest}, within {exact_duration(retry.total_ms)}"


def described(target: Target) -> Iterator[tuple[str, str]]:
    """Name and value of what a target is set to, those that are off left out."""
    yield "URL", target.url
    yield "State", _full_state(target)
    yield from _deliveries(target)
    added = [what for what, kept in (("path", target.append_path), ("query", target.keep_query)) if kept]
    yield "Adds", " and ".join(added) + " of the request" if added else "nothing of the request's path or query"
    if target.host == "sender":
        yield "Host", "as the sender sent it"
    for label, headers in (("Sets header", target.set_headers), ("Adds header", target.add_headers)):
        for name, value in headers.pairs:
            yield label, f"{name}: {value}"
    if target.remove_headers:
        yield "Removes", ", ".join(target.remove_headers)
    yield "Timeout", ms_text(target.timeout_ms)
    yield "Retries", full_retry_text(target.retry)
    yield "Parallel", "no, in order" if target.parallel is None else f"up to {target.parallel}"
    yield from _limits(target)
    yield "Pauses", _pauses_text(target)
    if not target.verify_tls:
        yield "TLS", "certificate not verified"
    for label, file in (
        ("Certificate", target.client_certificate),
        ("Key", target.client_key),
        ("CA", target.ca_certificate),
    ):
        if file:
            yield label, file
    if target.follow_redirects:
        yield "Redirects", "followed"


def _pauses_text(target: Target) -> str:
    if not target.pause_after:
        return "never by itself"
    text = f"after {count_of(target.pause_after, 'failed delivery', 'failed deliveries')} in a row"
    return f"{text}, resumes by itself" if target.auto_resume else text


def _limits(target: Target) -> Iterator[tuple[str, str]]:
    if target.rate_limit is not None:
        yield "Rate limit", f"{target.rate_limit:g} a second"
    if target.attempt_header:
        yield "Attempt", f"its number is sent as {target.attempt_header}"


def _deliveries(target: Target) -> Iterator[tuple[str, str]]:
    yield "Queued", f"{target.queued:,}"
    if target.last_error:
        yield "Last error", target.last_error
    if target.deleted:
        yield "Deleted", f"{count_of(target.deleted, 'request')} before being sent"


def _full_state(target: Target) -> str:
    state = state_text(target)
    if state == "off":
        return "off (nothing is queued for it)"
    if state == "paused (failures)":
        return "paused after too many failures in a row; deliveries stay queued"
    return "paused (deliveries stay queued)" if state == "paused" else state
