"""Doctor's look at the targets, from the rows that the engine's own check has read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from app.core.doctor import Finding, ok, warning
from app.core.text import count_of
from app.db.deliveries.targets import to_troubles

NO_TARGETS = ok("no targets yet")


def forwarding_finding(troubles: Iterable[tuple[Any, ...]], count: int) -> Finding:
    """A warning if a target is paused, or the last delivery to one failed; `count` targets in all."""
    found = to_troubles(troubles)
    if not found:
        return ok(f"{count_of(count, 'target')}, none is paused or failing") if count else NO_TARGETS
    advice = " ".join(dict.fromkeys(trouble.advice + "." for trouble in found))
    return warning(" ".join(trouble.text for trouble in found), advice)
