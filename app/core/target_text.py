"""What is wrong with targets, in words for window, API and command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.core.bodies.escape import escape
from app.core.record import Record
from app.core.target import PausedBy
from app.core.text import count_of, unsent_text

_URL_MAX = 80


class Pausable(Protocol):
    """What is asked of a target that is paused, by one of `PausedBy`."""

    @property
    def url(self) -> str: ...
    @property
    def paused(self) -> str | None: ...
    @property
    def pause_after(self) -> int: ...


class TargetTrouble(Record, frozen=True):
    """A target to which deliveries fail or wait. `endpoint` is a slug; `failures` counts the deliveries that failed in
    a row, `waiting` those that are queued, `deleted` those whose requests were lately deleted before they were sent.
    `error` is that of the last one that failed, None if it is not known. `unsent` counts those of the last day that
    could not be sent, the last one for `unsent_reason`."""

    endpoint: str
    id: int
    url: str
    paused: PausedBy | None
    pause_after: int
    failures: int
    waiting: int
    deleted: int
    error: str | None
    unsent: int = 0
    unsent_reason: str | None = None

    @property
    def text(self) -> str:
        """What is wrong, with the last error."""
        fails = self._failing_text if self.paused is not None or self.failures else ""
        deleted = unsent_text(self.deleted, _shown(self.url)) if self.deleted else ""
        return " ".join(filter(None, (deleted, self._unsent_text, fails)))

    @property
    def _unsent_text(self) -> str:
        if not self.unsent:
            return ""
        requests = f"{count_of(self.unsent, 'request')} of the last day {'was' if self.unsent == 1 else 'were'}"
        return f"{requests} not sent to {_shown(self.url)}: {self.unsent_reason}"

    @property
    def _failing_text(self) -> str:
        if self.paused is not None:
            text = paused_text([self], self.waiting)
            return f"{text} Last error: {self.error}" if self.paused is PausedBy.FAILURES and self.error else text
        last = "delivery" if self.failures == 1 else f"{self.failures:,} deliveries"
        return f"The last {last} to {_shown(self.url)} failed" + (f": {self.error}" if self.error else ".")

    @property
    def advice(self) -> str:
        """The command that helps."""
        if self.paused is not None:
            return resume_advice(self.id)
        if not self.failures:
            return f"To see them: hookline deliveries {self.endpoint} --not-sent"
        return f"To see them: hookline deliveries {self.endpoint} --failed"


def resume_advice(target_id: int) -> str:
    return f"To resume it: hookline target resume {target_id}"


def paused_text(targets: Sequence[Pausable], waiting: int | None, *, brief: bool = False) -> str:
    """The notice about paused targets; `waiting` is None until it is counted. `brief` leaves out which and why."""
    if brief:
        text = "Forwarding is paused"
    elif len(targets) == 1:
        target = targets[0]
        text = f"Forwarding to {_shown(target.url)} is paused"
        if target.paused == PausedBy.FAILURES and target.pause_after:
            text += f" after {count_of(target.pause_after, 'failed delivery', 'failed deliveries')} in a row"
    else:
        text = f"Forwarding to {len(targets)} targets is paused"
    if not waiting:
        return f"{text}."
    return f"{text}. {count_of(waiting, 'delivery', 'deliveries')} {'is' if waiting == 1 else 'are'} waiting."


def _shown(url: str) -> str:
    return escape(url if len(url) <= _URL_MAX else f"{url[: _URL_MAX - 1]}…")
