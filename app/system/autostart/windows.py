"""Start at sign-in on Windows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from app.system.autostart.entry import StartCommand, explain_errors

RUN_KEY = r"Software\Microsoft\Windows\CurrentVersion\Run"
APPROVED_KEY = r"Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run"
RUN_VALUE = "Hookline"


def windows_line(words: Sequence[str]) -> str:
    """A command line whose program is always quoted, as the installer writes it."""
    return " ".join([f'"{words[0]}"', *([subprocess.list2cmdline(words[1:])] if words[1:] else [])])


def windows_words(line: str) -> list[str]:
    """The words of a command line in which no word contains a quote."""
    return [inside or bare for inside, bare in re.findall(r'"([^"]*)"|(\S+)', line)]


if sys.platform == "win32":
    import winreg

    class RunKey:
        """A value of the user's Run key, the same that the installer writes."""

        def __init__(self, start: StartCommand, run: str = RUN_KEY, approved: str = APPROVED_KEY) -> None:
            self._start, self._run, self._approved = start, run, approved

        def enabled(self) -> bool:
            """Whether the value exists, is not switched off in the Task Manager, and starts this program."""
            return self._start.is_started_by(self._active(), os.path.normcase)

        def replaced(self) -> str | None:
            words = self._active()
            other = bool(words) and not self._start.is_started_by(words, os.path.normcase)
            return windows_line(words) if other else None

        def unavailable(self) -> str | None:
            """Never."""
            return None

        def set(self, on: bool) -> None:
            """Write the value and clear that it was switched off elsewhere, or delete it."""
            with explain_errors(Path("HKEY_CURRENT_USER", self._run), "written"):
                if on:
                    if not self._start.is_started_by(windows_words(self._value()), os.path.normcase):
                        with winreg.CreateKey(winreg.HKEY_CURRENT_USER, self._run) as key:
                            winreg.SetValueEx(key, RUN_VALUE, 0, winreg.REG_SZ, windows_line(self._start.words))
                    self._delete(self._approved)
                else:
                    self._delete(self._run)

        def _active(self) -> list[str]:
            # The Task Manager marks what it switched off with an odd first byte.
            state = self._read(self._approved)
            off = isinstance(state, bytes) and bool(state) and state[0] % 2 == 1
            return [] if off else windows_words(self._value())

        def _value(self) -> str:
            value = self._read(self._run)
            return value if isinstance(value, str) else ""

        def _read(self, key_name: str) -> object:
            with explain_errors(Path("HKEY_CURRENT_USER", key_name), "read"):
                try:
                    with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key_name) as key:
                        return winreg.QueryValueEx(key, RUN_VALUE)[0]
                except FileNotFoundError:
                    return None

        def _delete(self, key_name: str) -> None:
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key_name, 0, winreg.KEY_SET_VALUE) as key:
                    winreg.DeleteValue(key, RUN_VALUE)
            except FileNotFoundError:
                return
