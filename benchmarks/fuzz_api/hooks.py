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
SLUG, PROGRAM = "orders", "ngrok"
NO_PROGRAM = "none"
"""A tunnel program that was started would make this computer reachable."""
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
TIMEOUT_MAX_S = 300
_URL = re.compile(r"(?=.{1,2000}$)([Hh][Tt][Tt][Pp][Ss]?://\S+|([A-Za-z0-9._-]*:)?[0-9]{1,5}([/?]\S*)?)")
_ID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[1-9][0-9]{0,17}")
STORED = {kind: cycle(ids) for kind, ids in json.loads(os.environ.get("HOOKLINE_STORED", "{}")).items()}
"""IDs by the path segment before them."""


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Change what is valid; what has to be refused stays."""
    # The stateful phase takes IDs from earlier responses; of a replay also its `ids`, which are those of requests.
    if case.meta is not None and (case.meta.phase.name.value != "stateful" or _is_list(case)):
        _take_stored(case)
    if case.operation.path == "/requests/wait":
        _hurry(case)
    valid = case.meta is not None and case.meta.generation.mode is schemathesis.GenerationMode.POSITIVE
    if valid:
        _fit(case)
    if not isinstance(case.body, dict):
        return
    if case.operation.path == "/settings":
        _stay(case.body)
    if case.operation.path == "/backup" and isinstance(case.body.get("path"), str):
        case.body["path"] = f"{NO_FOLDER}/{case.body['path']}"
    if case.operation.path == "/tunnel/start" and isinstance(case.body.get("program"), str):
        case.body["program"] = NO_PROGRAM
    created = case.body.get("create")
    for part in (case.body, case.body.get("edit"), *(created if isinstance(created, list) else ())):
        if isinstance(part, dict):
            given = {key: part[key] for key in URLS if isinstance(part.get(key), str)}
            part.update({key: NOBODY for key, url in given.items() if valid or _URL.fullmatch(url)})


def _is_list(case: Any) -> bool:
    return any(str(given).startswith("['") for given in (case.path_parameters or {}).values())


def _take_stored(case: Any) -> None:
    """Valid IDs in the path become those of stored records, one after the other."""
    for kind, name in re.findall(r"(\w+)/\{(\w+)\}", case.operation.path):
        given = (case.path_parameters or {}).get(name)
        if kind in STORED and (_ID.fullmatch(str(given).strip("[']")) or name == "slug"):
            case.path_parameters[name] = next(STORED[kind])


SEARCHES = cycle(["", "number", "method:POST -status:5xx", 'path:/orders OR "3 9"', "json:number>3 since:2h"])
PATHS = ["data.*.id", "$..at"]
PRINTABLE = ("name", "secret")
FITTING = {
    "auth": {"kind": "none"},
    "base_url": "https://hooks.example",
    "ca_certificate": None,
    "client_certificate": None,
    "client_key": None,
    "endpoint": SLUG,
    "position": 1,
    "to_endpoint": SLUG,
    "tunnel_program": PROGRAM,
}
"""In a body: what names a stored record, a file or a program names one that is there, and credentials do not depend on
those that are stored."""


def _fit(case: Any) -> None:
    """Make what is valid by the document fit to what is stored, and to what no schema can say."""
    query, body = case.query or {}, case.body
    for given in (query, body):
        if isinstance(given, dict) and given.get("q"):
            given["q"] = next(SEARCHES)
    if "ignore_path" in query:
        query["ignore_path"] = PATHS
    if case.operation.path.endswith("/options"):  # each program has others
        case.path_parameters["id"], case.body = PROGRAM, {"domain": "example.ngrok-free.dev"}
    elif isinstance(body, dict):
        _fit_body(body, is_new=case.operation.method.upper() == "POST")
    if "/replay" in case.operation.path and case.operation.body:
        _send_to_nobody(case)


def _send_to_nobody(case: Any) -> None:
    """An endpoint need not have a target."""
    if not isinstance(case.body, dict):
        case.body, case.media_type = {}, "application/json"
    if case.body.get("to_endpoint") is None:
        case.body["url"] = NOBODY


def _fit_body(body: dict[str, Any], *, is_new: bool) -> None:
    for part in (body, body.get("auth")):
        if isinstance(part, dict):
            part.update({key: _printable(part[key]) for key in PRINTABLE if key in part})
    body.update(
        {key: one for key, one in FITTING.items() if body.get(key) is not None and not (is_new and key == "auth")}
    )
    if body.get("target") is not None:
        body["target"] = int(next(STORED["targets"]))
    if body.get("before") is not None and "after" in body:
        body["after"] = None
    body.pop("slug", None)  # taken, or another than it is
    for one in body.get("create") or ():
        _fit_body(one, is_new=True)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "x" for char in text)


def _hurry(case: Any) -> None:
    """Nothing comes while it waits."""
    query = case.query or {}
    given = str(query.get("timeout", "0"))
    if _NUMBER.fullmatch(given) and float(given) <= TIMEOUT_MAX_S:
        case.query = {**query, "timeout": "0.01"}


def _stay(settings: dict[str, Any]) -> None:
    """A valid port or address would be listened on at once, or at the next start; most texts are none."""
    for key in ("port", "api_port"):
        if type(settings.get(key)) in (int, float) and 1 <= settings[key] <= 65535:
            del settings[key]
    for key in ("host", "api_host", "proxies", "store"):
        if isinstance(settings.get(key), str):
            del settings[key]
