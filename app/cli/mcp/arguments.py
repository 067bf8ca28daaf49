"""Says in a sentence which argument of a call is wrong, and what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic import ValidationError

from app.core.closest import closest

_UNKNOWN, _MISSING = "extra_forbidden", "missing"
_SHOWN_MAX = 80
"""Characters of a word or a value that are repeated in an error."""
_TYPES = {"string": "text", "boolean": "true or false", "object": "an object", "array": "a list", "number": "a number"}


def unknown_text(kind: str, word: str, known: Sequence[str]) -> str:
    """`Unknown argument 'limt'. Did you mean limit? The arguments are query, endpoint, limit.`"""
    meant = closest(word[:_SHOWN_MAX], known)
    there_are = f"The {kind}s are {', '.join(known)}." if known else f"There are no {kind}s."
    return f"Unknown {kind} {word[:_SHOWN_MAX]!r}. {f'Did you mean {meant}? ' if meant else ''}{there_are}"


def refusal_text(error: ValidationError, parameters: dict[str, Any]) -> str:
    """`limit must be a whole number from 1 to 100, not 500.` `parameters` is the JSON Schema of the arguments.

    Of several wrong arguments one is named.
    """
    properties: dict[str, Any] = parameters["properties"]
    errors = error.errors(include_url=False, include_context=False)
    # A misspelt name is the reason why the right one is missing, so it comes first.
    first = min(errors, key=lambda one: (one["type"] != _UNKNOWN, one["type"] != _MISSING))
    name = str(first["loc"][0])
    if first["type"] == _UNKNOWN:
        return unknown_text("argument", name, list(properties))
    allowed = _allowed(properties[name])
    if first["type"] == _MISSING:
        return f"{name} is missing. It must be {allowed}: {properties[name]['description']}"
    within = "".join(f", in {part!r}" for part in first["loc"][1:2] if isinstance(part, str))
    return f"{name} must be {allowed}, not {_shown(first['input'])}{within}."


def _allowed(schema: dict[str, Any]) -> str:
    """`a whole number from 1 to 100`, `one of queued, delivered, failed`, `text or null`."""
    if "anyOf" in schema:
        return " or ".join(_allowed(one) for one in schema["anyOf"])
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if schema["type"] == "integer":
        least, most = schema.get("minimum"), schema.get("maximum")
        if most is not None:
            return f"a whole number from {least} to {most}"
        return "a whole number" if least is None else f"a whole number of at least {least}"
    if schema["type"] == "object" and schema.get("additionalProperties") == {"type": "string"}:
        return "an object of texts"
    return _TYPES.get(schema["type"], str(schema["type"]))


def _shown(value: object) -> str:
    """As JSON, on one line, shortened."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN_MAX else f"{text[: _SHOWN_MAX - 1]}…"
