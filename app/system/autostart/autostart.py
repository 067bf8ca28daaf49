"""Start at sign-in: reads and writes the entry that each system has for it.

An entry counts as on only if it starts this program with this data folder. What the user changed in it (a delay, an
option, a prefix) is kept: switching off deletes only an entry that Hookline wrote unchanged, and disables any other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from app.core.errors import HooklineError
from app.system import installation
from app.system.autostart.entry import StartCommand
from app.system.autostart.linux import DesktopEntry


class Autostart(Protocol):
    """Whether Hookline starts when the user signs in. All methods use files or the registry, so they may block."""

    def enabled(self) -> bool:
        """Whether signing in starts this program with this data folder; HooklineError when the entry is unreadable."""

    def set(self, on: bool) -> None:
        """Switch it on or off; HooklineError, with nothing changed, when that fails."""

    def unavailable(self) -> str | None:
        """Why it cannot be switched here; None when it can."""

    def replaced(self) -> str | None:
        """The other command that signing in starts instead of this program, which switching on would replace."""


class Unavailable:
    """Used where it cannot be switched on, for this reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def enabled(self) -> bool:
        return False

    def set(self, on: bool) -> None:
        if on:
            raise HooklineError(self._reason)

    def unavailable(self) -> str:
        return self._reason

    def replaced(self) -> str | None:
        return None


class Portable(Unavailable):
    """A portable program changes nothing on the computer outside its own folder."""

    def __init__(self, mark: Path) -> None:
        super().__init__(
            f"Hookline is in portable mode ({mark.name} is beside the program) and changes nothing on this computer"
            " outside its own folder. An installed Hookline can start at sign-in."
        )


def autostart_for(folder: Path | None, environment: Mapping[str, str] = os.environ) -> Autostart:
    """The implementation for this system. `folder` is the data folder to be given by name, None when it is the usual
    one."""
    if mark := installation.portable_mark():
        return Portable(mark)
    try:
        return _entry(StartCommand(window_command(installation.command()), folder), environment)
    except RuntimeError:  # from Path.home()
        return Unavailable("Start at sign-in is set up in your home folder, which is unknown: HOME is not set.")


def _entry(start: StartCommand, environment: Mapping[str, str]) -> Autostart:
    if sys.platform == "win32":
        from app.system.autostart.windows import RunKey  # there is no registry elsewhere

        return RunKey(start)
    if sys.platform == "darwin":
        from app.system.autostart.mac import LaunchAgent  # start-up time: elsewhere nothing else reads property lists

        return LaunchAgent(Path.home() / "Library" / "LaunchAgents", start)
    config = Path(environment.get("XDG_CONFIG_HOME", ""))
    # The specification says to ignore a relative path.
    return DesktopEntry((config if config.is_absolute() else Path.home() / ".config") / "autostart", start)


def window_command(words: Sequence[str]) -> list[str]:
    """`words` with the variant of its program that opens no console, if there is one: on Windows `hooklinew.exe` beside
    `hookline.exe`, as `pythonw.exe` beside `python.exe`."""
    own = Path(words[0])
    twin = own.with_stem(own.stem + "w")
    return [str(twin if own.suffix.lower() == ".exe" and twin.is_file() else own), *words[1:]]
