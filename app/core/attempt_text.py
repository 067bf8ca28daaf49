"""Why an attempt was made and how it ended, in words."""

from __future__ import annotations

from app.core.delivery import Attempt, AttemptTrigger, FailureKind

FAILURES = {
    FailureKind.CONNECTION: "Could not connect",
    FailureKind.TIMEOUT: "Timed out",
    FailureKind.TLS: "TLS failed",
    FailureKind.PROTOCOL: "Invalid response",
    FailureKind.STATUS: "Failed",
    FailureKind.LOOP: "Would loop",
    FailureKind.NOT_SENT: "Not sent",
    FailureKind.INTERRUPTED: "Interrupted",
    FailureKind.CUT_OFF: "Cut off on purpose",
    FailureKind.INTERNAL: "Internal error",
}
RESPONSE_REMOVED = "Its headers and body were removed to make room for newer responses."
TRIGGERS = {
    AttemptTrigger.FORWARD: "forwarded",
    AttemptTrigger.RETRY: "retry",
    AttemptTrigger.MANUAL: "retried by you",
    AttemptTrigger.RESTART: "after a restart",
    AttemptTrigger.RESENT: "sent again because the open connection had closed",
    AttemptTrigger.REPLAY: "replay",
}


def trigger_text(attempt: Attempt) -> str:
    """Why it was made; empty for a request that was never forwarded."""
    never = attempt.trigger is AttemptTrigger.FORWARD and attempt.failure is FailureKind.NOT_SENT
    return "" if never else TRIGGERS[attempt.trigger]


def short_result(attempt: Attempt) -> str:
    """`200`, `500`, `Timed out`: attempts that ended the same way have the same one."""
    return result_text(attempt.failure, attempt.status)


def result_text(failure: FailureKind | None, status: int | None) -> str:
    """The same, of an attempt with this failure and status. Nothing in it comes from a sender or a target."""
    if failure in (None, FailureKind.STATUS) and status is not None:
        return str(status)
    return FAILURES[failure or FailureKind.STATUS]
