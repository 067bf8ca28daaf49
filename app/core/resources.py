"""Finds the files shipped with Hookline: in the installed package, or beside it in a checkout or bundle."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def resource(name: str) -> Path:
    """The path of `resources/<name>`."""
    inside = _PACKAGE / "resources" / name
    return inside if inside.exists() else _PACKAGE.parent / "resources" / name
