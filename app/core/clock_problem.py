"""Why the clock is not trusted for deleting requests by age, with the message for the user."""

from __future__ import annotations

from typing import Literal

from app.core.record import Record
from app.core.text import count_of, span_text

Kind = Literal["ahead", "behind", "future"]


class ClockProblem(Record, frozen=True):
    """Retention waits because of this.

    `ahead` and `behind`: the clock differs by `by_us` from the time the store last saw. `future`: `requests` stored
    requests were received later than the clock says now, the newest by `by_us`. `expired` requests would be deleted
    if the clock were trusted. After `left_us` more of running on this clock, Hookline trusts it by itself.
    """

    kind: Kind
    by_us: int
    left_us: int
    requests: int = 0
    expired: int = 0

    @property
    def reason(self) -> str:
        span = span_text(self.by_us)
        if self.kind == "future":
            one = self.requests == 1
            were, at = ("was", f"{span} from now") if one else ("were", f"the newest {span} from now")
            return f"{count_of(self.requests, 'stored request')} {were} received in the future, {at}."
        side = "ahead of" if self.kind == "ahead" else "behind"
        return f"The clock is {span} {side} the last time Hookline ran."

    @property
    def advice(self) -> str:
        """The consequences, and what to do."""
        past = ""
        if self.expired:
            past = f": {count_of(self.expired, 'request')} {'is' if self.expired == 1 else 'are'} past their retention"
            past = past.replace("is past their", "is past its")
        return (
            f"Nothing is deleted by age for now. If the clock is right, resume deleting{past}. If it is wrong,"
            f" correct it. Deleting resumes by itself after {span_text(self.left_us)} of running on this clock."
        )
