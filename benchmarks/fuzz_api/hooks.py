"""Loaded by schemathesis: its calls meet what is stored, and neither move the API away nor reach other computers."""

from __future__ import annotations

import json
import os
import re
from itertools import cycle
from typing import Any

import schemathesis

NOBODY = "http://127.0.0.1:1/"
URLS = ("url", "forward_url")
NO_FOLDER = "/nowhere/at/all"
"""A backup that was asked for would overwrite a file of this computer."""
NO_PROGRAM = "none"
"""A tunnel program that was started would make this computer reachable."""
_SECONDS = re.compile(r"[0-9]{1,3}(\.[0-9]*)?")
_URL = re.compile(r"(?=.{1,2000}$)[Hh][Tt][Tt][Pp][Ss]?://\S+")
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[1-9][0-9]{0,17}")
STORED = {kind: cycle(ids) for kind, ids in json.loads(os.environ.get("HOOKLINE_STORED", "{}")).items()}
"""IDs by the path segment before them."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Change what is valid; what has to be refused stays."""
    if case.meta is not None and case.meta.phase.name.value != "stateful":  # which takes IDs from earlier responses
        _take_stored(case)
    if case.operation.path == "/requests/wait":
        _hurry(case)
    if not isinstance(case.body, dict):
        return
    if case.operation.path == "/settings":
        _stay(case.body)
    if case.operation.path == "/backup" and isinstance(case.body.get("path"), str):
        case.body["path"] = f"{NO_FOLDER}/{case.body['path']}"
    if case.operation.path == "/tunnel/start" and isinstance(case.body.get("program"), str):
        case.body["program"] = NO_PROGRAM
    for part in (case.body, case.body.get("edit")):
        if isinstance(part, dict):
            part.update({key: NOBODY for key in URLS if isinstance(part.get(key), str) and _URL.fullmatch(part[key])})


def _take_stored(case: Any) -> None:
    """Valid IDs in the path become those of stored records, one after the other."""
    for kind, name in re.findall(r"(\w+)/\{(\w+)\}", case.operation.path):
        given = (case.path_parameters or {}).get(name)
        if kind in STORED and (_ID.fullmatch(str(given)) or name == "slug"):
            case.path_parameters[name] = next(STORED[kind])


def _hurry(case: Any) -> None:
    """Nothing comes while it waits."""
    query = case.query or {}
    if "timeout" not in query or _SECONDS.fullmatch(str(query["timeout"])):
        case.query = {**query, "timeout": "0.01"}


def _stay(settings: dict[str, Any]) -> None:
    """A valid port or address would be listened on at once."""
    for key in ("port", "api_port"):
        if type(settings.get(key)) is int and 1 <= settings[key] <= 65535:
            del settings[key]
    if isinstance(settings.get("host"), str):
        del settings["host"]
