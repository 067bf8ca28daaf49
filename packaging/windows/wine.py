"""A Windows of its own, made by wine in a folder, with a screen nobody sees."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trial.room import TrialError, tail
from trial.screen import screen

SECONDS = 120
"""How long a single step may take."""


class Windows:
    """The Windows in `folder`, on the X display `display`."""

    def __init__(self, folder: Path, display: str) -> None:
        self.drive = folder / "prefix" / "drive_c"
        home = folder / "home"
        home.mkdir(parents=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if name in {"PATH", "USER", "LOGNAME"}},
            # wine would otherwise put its desktop and documents into those of the person who runs this.
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "DISPLAY": display,
            "WINEPREFIX": str(self.drive.parent),
            "WINEARCH": "win64",
            "WINEDEBUG": "-all",
            # No Mono, no Gecko, and nothing written into the menus of this machine.
            "WINEDLLOVERRIDES": "mscoree,mshtml=;winemenubuilder.exe=d",
        }
        self.run("wineboot", "-i")
        self.local = self.inside(self.run("cmd", "/c", "echo %LOCALAPPDATA%").strip())
        self.menu = (
            self.inside(self.run("cmd", "/c", "echo %APPDATA%").strip()) / "Microsoft/Windows/Start Menu/Programs"
        )
        self.desktop = self.inside(self.run("cmd", "/c", "echo %USERPROFILE%").strip()) / "Desktop"

    def become(self, version: str) -> None:
        """Be Windows `win7`, `win10` and so on."""
        self.run("winecfg", "/v", version)

    def inside(self, path: str) -> Path:
        """Where a file of drive C lies on this machine."""
        return self.drive.joinpath(*path.removeprefix("C:").strip("\\").split("\\"))

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """Start a program and go on."""
        command = ["wine", *map(str, words)]
        return subprocess.Popen(
            command,
            env=self.environment,
            cwd=self.drive.parent.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    def run(self, *words: str | Path, expect: int = 0) -> str:
        """What the program prints; TrialError when it ends with another code than `expect`."""
        with self.start(*words) as process:
            try:
                said = process.communicate(timeout=SECONDS)[0]
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise TrialError(f"{' '.join(map(str, words))} had not ended after {SECONDS} seconds") from error
        if process.returncode != expect:
            raise TrialError(
                f"{' '.join(map(str, words))} ended with {process.returncode}, not {expect}:\n{tail(said)}"
            )
        return said

    def value(self, key: str, name: str = "") -> str | None:
        """A value of the registry under HKCU, None when it is not there; `name` is empty for the key's own value."""
        with self.start("reg", "query", f"HKCU\\{key}", *(["/v", name] if name else ["/ve"])) as process:
            said = process.communicate(timeout=SECONDS)[0]
        found = re.search(r"^ {4}.*? {4}REG_\w+ {4}(.*?)\r?$", said, re.MULTILINE)
        return found[1] if process.returncode == 0 and found else None

    def stop(self) -> None:
        """End everything that runs in it."""
        subprocess.run(["wineserver", "-k"], env=self.environment, check=False, stderr=subprocess.DEVNULL)


@contextmanager
def windows(folder: Path) -> Iterator[Windows]:
    """A new Windows in `folder` while the block runs."""
    with screen(1024, 768) as display:
        made = Windows(folder, display)
        try:
            yield made
        finally:
            made.stop()


def wait_until(true: Callable[[], bool], what: str) -> None:
    """Return once `true()`; TrialError, which says `what` was awaited, when that takes too long."""
    deadline = time.monotonic() + SECONDS
    while not true():
        if time.monotonic() > deadline:
            raise TrialError(f"waited {SECONDS} seconds in vain until {what}")
        time.sleep(0.2)
