"""What the command line asks of `serve` and of the window, and where the data folder is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import platformdirs

from app.core.errors import HooklineError
from app.core.launch_request import LaunchAction
from app.core.links import BrokenLink, Link
from app.core.model import Record

FOLDER_VARIABLE = "HOOKLINE_DATA_DIR"


def default_folder(portable: Path | None = None) -> Path:
    """`HOOKLINE_DATA_DIR`, else the folder of a portable program, else the usual one; HooklineError without any."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    folder = Path(chosen) if chosen else portable or usual_folder()
    if folder is None:
        raise HooklineError(f"Your home folder is not known. Set HOME, or set {FOLDER_VARIABLE} to a data folder.")
    return folder


def usual_folder() -> Path | None:
    """The system's place for a user's application data; None when it does not know the user's home folder."""
    try:
        return platformdirs.user_data_path("hookline", appauthor=False)
    except RuntimeError:
        return None


class ListenOptions(Record, frozen=True):
    """Settings of this run alone; None leaves the saved one in force. Port 0 takes any free port."""

    data_dir: Path
    port: int | None = None
    host: str | None = None
    api_port: int | None = None
    base_url: str | None = None

    def overrides(self) -> dict[str, Any]:
        """The settings given, by their names in `Settings`."""
        given = {name: getattr(self, name) for name in ("port", "host", "api_port", "base_url")}
        return {name: value for name, value in given.items() if value is not None}


class ServeOptions(ListenOptions, frozen=True):
    """`hookline serve`. `endpoints` are names: each is made unless one of that name is there."""

    endpoints: tuple[str, ...] = ()
    tail: bool = False
    set_aside_damaged: bool = False
    new_database: bool = False


class WindowOptions(ListenOptions, frozen=True):
    """`hookline` alone. At most one of `link`, `new_endpoint` and `minimized` is given."""

    link: Link | BrokenLink | None = None
    new_endpoint: bool = False
    minimized: bool = False

    @property
    def wish(self) -> LaunchAction | Link | BrokenLink:
        """What the window is to open, in this process or in the one that runs already."""
        if self.link is not None:
            return self.link
        return (
            LaunchAction.NEW_ENDPOINT
            if self.new_endpoint
            else LaunchAction.STAY
            if self.minimized
            else LaunchAction.SHOW
        )

    def arguments(self) -> list[str]:
        """The command line that runs on the same folder with the same settings, and asks for nothing but the window."""
        given = (("--" + name.replace("_", "-"), str(value)) for name, value in self.overrides().items())
        return ["--data-dir", str(self.data_dir), *(word for pair in given for word in pair)]

    def headless(self) -> ServeOptions:
        """The same without a window."""
        given = {name: getattr(self, name) for name in ListenOptions.__struct_fields__}
        return ServeOptions(**given)


class SelftestOptions(Record, frozen=True):
    """`hookline selftest`. `on_screen` shows the window on the real display, `headless` tries all but the window."""

    as_json: bool = False
    on_screen: bool = False
    headless: bool = False
    time_limit_s: float = 30.0
