"""Runs the trials one after the other and tells what came of each."""

from __future__ import annotations

import time
from collections.abc import Callable

from trial.room import TrialError


class Report:
    """Prints a line per trial. One that fails does not keep the others from being tried."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def trial(self, name: str, attempt: Callable[[], str | None]) -> bool:
        """Run `attempt`, which gives a note worth printing or raises TrialError; whether it passed."""
        started = time.monotonic()
        try:
            note = attempt()
        except TrialError as error:
            self.failed.append(name)
            print(f"FAIL  {name} ({time.monotonic() - started:.1f} s)\n{_indented(str(error))}", flush=True)
            return False
        print(f"ok    {name} ({time.monotonic() - started:.1f} s)", flush=True)
        if note:
            print(_indented(note), flush=True)
        return True

    def close(self) -> int:
        """Print the result; the exit code."""
        print(
            f"{len(self.failed)} failed: {', '.join(self.failed)}" if self.failed else "all trials passed", flush=True
        )
        return 1 if self.failed else 0


def _indented(text: str) -> str:
    return "\n".join(f"      {line}" for line in text.splitlines())
