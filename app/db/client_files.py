"""The files of a target's client certificate, checked when the target is saved."""

from __future__ import annotations

import asyncio
from pathlib import Path

from app.core.rules import FieldError
from app.core.target import TargetDraft

_FILES = (("client_certificate", "Client certificate"), ("client_key", "Client key"))


async def client_file_errors(draft: TargetDraft, before: TargetDraft | None = None) -> list[FieldError]:
    """What keeps the files from being read that `before` does not name: a target whose file vanished can be edited."""
    found = []
    for field, label in _FILES:
        path: str | None = getattr(draft, field)
        if path and (before is None or path != getattr(before, field)):
            problem = await asyncio.to_thread(_problem, path)
            if problem is not None:
                found.append(FieldError(field=field, message=f"{label} {path} {problem}."))
    return found


def _problem(path: str) -> str | None:
    file = Path(path)
    try:
        file.stat()
        if not file.is_file():
            return "is not a file"
        with file.open("rb"):
            return None
    except (OSError, ValueError) as error:
        return f"cannot be read: {getattr(error, 'strerror', None) or error}"
