"""Puts replays into words: what one will do, how far it is, and how a single request's went."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.core.bodies.escape import escape
from app.core.delivery import Attempt
from app.core.replay import (
    ChosenRequests,
    FixedRate,
    MatchingRequests,
    OneUrl,
    OriginalGaps,
    OtherEndpoint,
    Pace,
    Replay,
    ReplayProgress,
    ReplaySource,
    ReplaySpec,
    ReplayState,
    counted,
)
from app.core.replay_summary import endpoint_name, faults_text
from app.core.text import count_of, duration_text, ms_text

if TYPE_CHECKING:
    from app.db.endpoints import Endpoints

BAR = "█"
INCOMPLETE_LEFT_OUT = "Incomplete ones are left out."
NO_URL = "Enter a URL to send to."
_BAR = re.compile(r"#+$", re.MULTILINE)


def is_single(spec: ReplaySpec) -> bool:
    """Whether one request is sent once: its result is shown where it was replayed, not as progress."""
    return isinstance(spec.source, ChosenRequests) and len(spec.source.ids) == 1 and spec.times == 1


_TITLES = {
    ReplayState.QUEUED: "Replay waiting for the one before it",
    ReplayState.RUNNING: "Replaying: {far}",
    ReplayState.PAUSED: "Replay paused: {far}",
    ReplayState.DONE: "Replay finished: {sent} sent",
    ReplayState.CANCELLED: "Replay cancelled: {far}",
    ReplayState.INTERRUPTED: "Replay interrupted when Hookline closed: {far}",
}
_SHORT = {
    ReplayState.QUEUED: "Waiting",
    ReplayState.RUNNING: "{far}",
    ReplayState.PAUSED: "Paused at {far}",
    ReplayState.DONE: "{sent} sent",
    ReplayState.CANCELLED: "Cancelled at {far}",
    ReplayState.INTERRUPTED: "Interrupted at {far}",
}


def title_text(replay: Replay) -> str:
    """`Replaying: 312 of 1,204`."""
    sent = count_of(replay.progress.sent, "request")
    return _TITLES[replay.state].format(far=_far(replay) or "counting requests…", sent=sent)


def short_text(replay: Replay) -> str:
    """`312 of 1,204 · 3 failed`, `12 sent`, `Paused at 3 of 10`."""
    text = _SHORT[replay.state].format(far=_far(replay) or "Counting requests…", sent=f"{replay.progress.sent:,}")
    return " · ".join(filter(None, (text, failed_text(replay.progress))))


def shown_endpoint(source: ReplaySource, endpoints: Endpoints) -> str | None:
    """The name of the endpoint that the requests are of, if it is one."""
    name = endpoint_name(source, endpoints.by_id)
    return None if name is None else escape(name)


def source_name(source: ReplaySource, endpoint: str | None) -> str:
    """`“Stripe”: status:500`, `3 selected requests`; `endpoint` as in `source_text`."""
    if isinstance(source, ChosenRequests):
        return count_of(len(source.ids), "selected request")
    whose = "All endpoints" if source.endpoint_id is None else f"“{endpoint}”" if endpoint else "A deleted endpoint"
    return f"{whose}: {source.query.strip()}" if source.query.strip() else whose


def which_text(source: ReplaySource, endpoint: str | None) -> str:
    """The requests of a plan: `of “Stripe” that match “status:500” in the time range`."""
    if not isinstance(source, MatchingRequests):
        return "selected in the list"
    whose = "all endpoints" if source.endpoint_id is None else f"“{endpoint}”" if endpoint else "a deleted endpoint"
    query = f" that match “{source.query.strip()}”" if source.query.strip() else ""
    times = " in the time range" if source.received_after is not None or source.received_before is not None else ""
    return f"of {whose}{query}{times}"


def counts_text(progress: ReplayProgress) -> str:
    """`300 delivered · 12 failed`, which are deliveries; what did not happen is left out, except failures."""
    others = counted(
        (progress.dropped, "dropped"),
        (progress.duplicated, "duplicated"),
        (progress.incomplete, "incomplete left out"),
        (progress.repeated, "repeated after a restart"),
    )
    return " · ".join([f"{progress.delivered:,} delivered", f"{progress.failed:,} failed", *others])


def to_text(replay: Replay) -> str:
    """`to 2 targets`; empty while nothing was sent."""
    targets = [target for target in replay.progress.targets if target.url]
    if not targets:
        return ""
    return f"to {targets[0].url.partition('://')[2]}" if len(targets) == 1 else f"to {len(targets):,} targets"


def failed_text(progress: ReplayProgress) -> str:
    """`3 failed`; empty without any."""
    return "".join(counted((progress.failed, "failed")))


def speed_text(replay: Replay) -> str:
    """`48 per second · about 20 s left`; empty unless it is running at a known rate."""
    progress = replay.progress
    if replay.state is not ReplayState.RUNNING or progress.rate <= 0 or progress.total is None:
        return ""
    left = max(0, progress.total - progress.done) / progress.rate
    rate = f"{progress.rate:,.0f}" if progress.rate >= 10 else f"{progress.rate:,.1f}"
    return f"{rate} per second · about {duration_text(left) if left >= 60 else f'{max(1, round(left))} s'} left"


def plan_text(spec: ReplaySpec, requests: str, count: int | None, targets: str) -> str:
    """Says in words what a replay will do: `requests` names them, `targets` where their own targets are."""
    if spec.destination == OneUrl(url=""):
        return NO_URL
    many = count_of(count, "request") if count is not None else "all requests"
    order = ", oldest first" if count != 1 else ""
    sentences = [f"Sends {many} {requests}{order}, to {destination_words(spec, targets)}."]
    if not spec.incomplete:
        sentences.append(INCOMPLETE_LEFT_OUT)
    parallel = "one at a time" if spec.concurrency == 1 else f"at most {spec.concurrency} at once"
    sentences.append(f"{_pace_words(spec.pace)}, {parallel}.")
    if spec.times > 1:
        total = f": {count * spec.times:,} in all" if count is not None else ""
        sentences.append(f"Each is sent {spec.times:,} times{total}.")
    if spec.faults.enabled:
        sentences.append(f"Faults on purpose: {faults_text(spec.faults, spec.seed)}.")
    return " ".join(sentences)


def destination_words(spec: ReplaySpec, targets: str) -> str:
    if isinstance(spec.destination, OneUrl):
        return spec.destination.url
    return f"the endpoint {spec.destination.slug}" if isinstance(spec.destination, OtherEndpoint) else targets


def attempt_text(attempt: Attempt) -> str:
    """`200 in 12 ms`, or why it failed."""
    if attempt.status is None:
        return attempt.error or "No response."
    return f"{attempt.status} in {ms_text(attempt.ms)}"


def with_bars(summary: str) -> str:
    """The summary with solid bars, for display."""
    return _BAR.sub(lambda found: BAR * len(found[0]), summary)


def wordings(facts: Sequence[str]) -> list[str]:
    """The facts, then fewer of them where there is less room."""
    return [" · ".join(facts[:number]) for number in range(len(facts), 0, -1)] or [""]


def _far(replay: Replay) -> str:
    """Empty while it counts what it will send."""
    done, total = replay.progress.done, replay.progress.total
    if total is None:
        return "" if replay.state is ReplayState.RUNNING else f"{done:,}"
    return f"{done:,} of {total:,}"


def _pace_words(pace: Pace) -> str:
    if isinstance(pace, FixedRate):
        return f"{pace.per_second:,g} per second"
    if not isinstance(pace, OriginalGaps):
        return "Back to back"
    speed = "" if pace.scale == 1 else f", {1 / pace.scale:,.4g} times as fast"
    longest = "" if pace.longest_gap_ms is None else f", no gap longer than {ms_text(pace.longest_gap_ms)}"
    return f"With the gaps they were received with{speed}{longest}"
