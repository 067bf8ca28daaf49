"""Start at sign-in on macOS."""

from __future__ import annotations

import plistlib
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from app.system.autostart.entry import StartCommand, explain_errors, write_atomically

AGENT = "io.hookline.Hookline"


class LaunchAgent:
    """A property list in the user's `LaunchAgents`; launchd reads it at the next sign-in."""

    def __init__(self, folder: Path, start: StartCommand) -> None:
        self.path = folder / f"{AGENT}.plist"
        self._start = start

    def enabled(self) -> bool:
        """Whether the agent is not disabled, runs at load, and starts this program."""
        return self._start.is_started_by(self._active())

    def replaced(self) -> str | None:
        words = self._active()
        return None if not words or self._start.is_started_by(words) else shlex.join(words)

    def unavailable(self) -> str | None:
        """A program run directly from a download is at a path that does not exist at the next start."""
        if "/AppTranslocation/" in self._start.program[0]:
            return "macOS runs Hookline from a temporary folder. Move it to Applications and open it from there."
        return None

    def set(self, on: bool) -> None:
        """On: create or repair the agent. Off: delete it, or disable it if the user changed it."""
        stored = self._stored()
        fresh: dict[str, Any] = {"Label": AGENT, "ProgramArguments": self._start.words, "RunAtLoad": True}
        fresh |= {"ProcessType": "Interactive", "LimitLoadToSessionType": "Aqua"}
        with explain_errors(self.path, "written"):
            if on:
                ours = self._start.is_started_by(_arguments(stored))
                words = stored["ProgramArguments"] if ours else self._start.words
                changed = {**fresh, **stored, "ProgramArguments": words, "RunAtLoad": True}
                changed.pop("Disabled", None)
                write_atomically(self.path, plistlib.dumps(changed))
            elif {**stored, "ProgramArguments": 0} == {**fresh, "ProgramArguments": 0}:
                self.path.unlink(missing_ok=True)
            elif stored:
                write_atomically(self.path, plistlib.dumps({**stored, "Disabled": True}))

    def _active(self) -> list[str]:
        stored = self._stored()
        return _arguments(stored) if stored.get("RunAtLoad") is True and not stored.get("Disabled") else []

    def _stored(self) -> dict[str, Any]:
        stored: object = {}
        with explain_errors(self.path, "read"), suppress(FileNotFoundError, NotADirectoryError):
            stored = _property_list(self.path.read_bytes())
        return stored if isinstance(stored, dict) else {}


def _property_list(content: bytes) -> object:
    """Raises ValueError."""
    try:
        return plistlib.loads(content)
    except ExpatError as error:
        raise ValueError(str(error)) from error


def _arguments(stored: Mapping[str, Any]) -> list[str]:
    words = stored.get("ProgramArguments")
    return [str(word) for word in words] if isinstance(words, list) else []
