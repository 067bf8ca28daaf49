"""The selftest's results: a line for each check as it is made, or one JSON object at the end."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from app import __version__
from app.cli.output import GREEN, RED, Output
from app.core.errors import HooklineError
from app.core.record import Record


class Check(Record, frozen=True):
    """A result; `detail` says what was seen, or what was wrong."""

    name: str
    passed: bool
    detail: str


class CheckDetail:
    """The detail that a running check reports when it passes."""

    detail = ""


class Report:
    """Collects and prints results. `doing` names the current step, for the message that it did not end."""

    def __init__(self, as_json: bool) -> None:
        self._out = Output(as_json)
        self._checks: list[Check] = []
        self._begun = time.monotonic()
        self._lock = threading.RLock()
        self.doing = "start"
        self.first_paint_ns: int | None = None

    @property
    def is_good(self) -> bool:
        """Whether there was a check and none failed."""
        return bool(self._checks) and all(check.passed for check in self._checks)

    @contextmanager
    def check(self, name: str) -> Iterator[CheckDetail]:
        """Run one check, which fails by any exception: a part missing from a bundle may raise anything."""
        self.doing = name
        seen = CheckDetail()
        try:
            yield seen
        except Exception as error:
            self.failed(name, str(error) if isinstance(error, HooklineError) else f"{type(error).__name__}: {error}")
        else:
            self.passed(name, seen.detail)

    def passed(self, name: str, detail: str = "") -> None:
        self._add(Check(name=name, passed=True, detail=detail))

    def failed(self, name: str, detail: str) -> None:
        self._add(Check(name=name, passed=False, detail=detail))

    def give_up(self, reason: str) -> int:
        """Called from another thread: fail the current check and print the results; the checking thread is blocked from
        then on."""
        self._lock.acquire()
        self.failed(self.doing, reason)
        return self.finish()

    def finish(self) -> int:
        """Print the results; returns the exit code."""
        with self._lock:
            return self._finish()

    def _finish(self) -> int:
        seconds = round(time.monotonic() - self._begun, 3)
        if self._out.as_json:
            report = {
                "passed": self.is_good,
                "version": __version__,
                "seconds": seconds,
                "first_paint_ns": self.first_paint_ns,
                "checks": [{"name": one.name, "passed": one.passed, "detail": one.detail} for one in self._checks],
            }
            self._out.json(report)
        elif self.is_good:
            self._out.line(f"selftest passed in {seconds:.1f} s")
        else:
            names = ", ".join(one.name for one in self._checks if not one.passed)
            self._out.line(f"selftest failed after {seconds:.1f} s: {names or 'nothing was tried'}")
        sys.stdout.flush()
        return 0 if self.is_good else 1

    def _add(self, check: Check) -> None:
        with self._lock:
            self._checks.append(check)
            if not self._out.as_json:
                mark, code = ("ok", GREEN) if check.passed else ("FAIL", RED)
                self._out.marked(f"{mark:<4}", code, f"{check.name}: {check.detail}" if check.detail else check.name)
                sys.stdout.flush()
