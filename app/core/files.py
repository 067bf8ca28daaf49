"""What is shipped with Hookline: its files, in the installed package, or beside it in a checkout or bundle, and other
software; and the name of its log in the data folder."""

from __future__ import annotations

from pathlib import Path

from app.core.record import Record

LOG_NAME = "hookline.log"
OLD_LOGS = 2
"""The log was rotated to these; they end in `.1` (the newer one) and `.2`."""
_PACKAGE = Path(__file__).resolve().parents[1]


class Component(Record, frozen=True):
    """Software that Hookline includes. `licence` is the short name, `text` the full text."""

    name: str
    version: str
    licence: str
    text: str


def resource(name: str) -> Path:
    """The path of `resources/<name>`."""
    inside = _PACKAGE / "resources" / name
    return inside if inside.exists() else _PACKAGE.parent / "resources" / name


def tunnel_ids() -> list[str]:
    """The ids of the tunnel programs, which are the names of their files. The files are not read."""
    return sorted(file.stem for file in resource("tunnels").glob("*.toml"))
