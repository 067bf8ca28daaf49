"""Says in a sentence which argument of a call is wrong, and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from app.cli.closest import closest

_UNKNOWN = "extra_forbidden"
_SHOWN_MAX = 80
"""Characters of a word that are repeated in an error."""


def unknown_text(kind: str, word: str, known: Sequence[str]) -> str:
    """`Unknown argument 'limt'. Did you mean limit? The arguments are query, endpoint, limit.`"""
    meant = closest(word[:_SHOWN_MAX], known)
    there_are = f"The {kind}s are {', '.join(known)}." if known else f"There are no {kind}s."
    return f"Unknown {kind} {word[:_SHOWN_MAX]!r}. {f'Did you mean {meant}? ' if meant else ''}{there_are}"


def refusal_text(error: ValidationError, parameters: dict[str, Any]) -> str:
    """What is wrong first. `parameters` is the JSON Schema of the tool's arguments."""
    properties: dict[str, Any] = parameters["properties"]
    errors = error.errors(include_url=False, include_context=False)
    # A misspelt name is the reason why the right one is missing.
    for one in errors:
        if one["type"] == _UNKNOWN:
            return unknown_text("argument", str(one["loc"][0]), list(properties))
    return str(error)
