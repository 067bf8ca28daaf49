"""What a bar of the activity chart counts; each request once."""

from __future__ import annotations

from app.core.model import Record
from app.core.text import count_of


class Bar(Record, frozen=True):
    """Requests of one period. `plain` counts those not mirrored, or not yet."""

    plain: int = 0
    delivered: int = 0
    failed: int = 0
    incomplete: int = 0

    @property
    def total(self) -> int:
        return self.plain + self.delivered + self.failed + self.incomplete

    def __add__(self, other: Bar) -> Bar:
        return Bar(
            plain=self.plain + other.plain,
            delivered=self.delivered + other.delivered,
            failed=self.failed + other.failed,
            incomplete=self.incomplete + other.incomplete,
        )

    def text(self) -> str:
        """`37 requests, 2 mirror failures`: only problems are listed separately."""
        parts = [count_of(self.total, "request") if self.total else "no requests"]
        if self.failed:
            parts.append(count_of(self.failed, "mirror failure"))
        if self.incomplete:
            parts.append(f"{self.incomplete:,} incomplete")
        return ", ".join(parts)


EMPTY = Bar()
