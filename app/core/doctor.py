"""What `hookline doctor` finds: a result for each check, and what to do where something is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec.structs import replace

from app.core.errors import HooklineError
from app.core.record import Record

FindingState = Literal["ok", "warning", "problem"]


class Finding(Record, frozen=True):
    """The result of one check, whose `name` it gets from `findings`; `advice` says what to do, None where nothing needs
    to be done.

    A problem keeps Hookline from working as it should, a warning may.
    """

    state: FindingState
    text: str
    advice: str | None = None
    name: str = ""


Check = tuple[str, Callable[[], Finding]]
"""A check's name, and what carries it out."""


def findings(checks: Iterable[Check]) -> Iterator[Finding]:
    """The results in order, each as it is known. A check that fails is a finding too, and ends no other."""
    for name, check in checks:
        try:
            found = check()
        except HooklineError as error:
            found = problem(str(error))
        except Exception as error:
            advice = "If the other checks do not explain it, report it with this line."
            found = problem(f"The check failed: {type(error).__name__}: {error}.", advice)
        yield replace(found, name=name)


def ok(text: str) -> Finding:
    return Finding(state="ok", text=text)


def warning(text: str, advice: str | None = None) -> Finding:
    return Finding(state="warning", text=text, advice=advice)


def problem(text: str, advice: str | None = None) -> Finding:
    return Finding(state="problem", text=text, advice=advice)
