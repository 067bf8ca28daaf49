"""What `hookline doctor` finds: a result for each check, and what to do where something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from app.core.errors import HooklineError
from app.core.record import Record

FindingState = Literal["ok", "warning", "problem"]


class Finding(Record, frozen=True):
    """The result of one check; `advice` says what to do, None where nothing needs to be done.

    A problem keeps Hookline from working as it should, a warning may.
    """

    name: str
    state: FindingState
    text: str
    advice: str | None = None


Check = tuple[str, Callable[[], Finding]]
"""A check's name, and what carries it out."""


def findings(checks: Iterable[Check]) -> Iterator[Finding]:
    """The results in order, each as it is known. A check that fails is a finding too, and ends no other."""
    for name, check in checks:
        try:
            yield check()
        except HooklineError as error:
            yield problem(name, str(error))
        except Exception as error:
            advice = "If the other checks do not explain it, report it with this line."
            yield problem(name, f"The check failed: {type(error).__name__}: {error}.", advice)


def ok(name: str, text: str) -> Finding:
    return Finding(name=name, state="ok", text=text)


def warning(name: str, text: str, advice: str | None = None) -> Finding:
    return Finding(name=name, state="warning", text=text, advice=advice)


def problem(name: str, text: str, advice: str | None = None) -> Finding:
    return Finding(name=name, state="problem", text=text, advice=advice)
