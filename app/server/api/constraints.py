"""What the program's rules ask of values beyond their types, as JSON Schema. It is documentation: the rules themselves
report violations, in sentences that name the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.core.model import Auth, EndpointDraft, Forward, ResponseSettings
from app.core.record import Record
from app.core.replay.replay_rules import (
    CONCURRENCY_MAX,
    GAP_MAX_MS,
    METHOD_PATTERN,
    RATE_MAX,
    SCALE_MAX,
    SEED_MAX,
    TIMES_MAX,
)
from app.core.replay.replay_rules import (
    DELAY_MAX_MS as FAULT_DELAY_MAX_MS,
)
from app.core.replay.spec import Faults
from app.core.rules import (
    DELAY_MAX_MS,
    DESCRIPTION_MAX,
    FORWARD_URL_MAX,
    HEADER_NAME_PATTERN,
    NAME_MAX,
    NOTE_MAX,
    PARALLEL_MAX,
    PAUSE_AFTER_MAX,
    RATE_LIMIT_MAX,
    RATE_LIMIT_MIN,
    RESPONSE_BODY_MAX,
    RETENTION_MAX,
    RETENTION_MIN,
    RETRIES_MAX,
    RETRY_DELAY_MAX_MS,
    RETRY_TOTAL_MAX_MS,
    STATUS_MAX,
    STATUS_MIN,
    STORAGE_LIMIT_MAX,
    STORAGE_LIMIT_MIN,
    TIMEOUT_MAX_MS,
    TIMEOUT_MIN_MS,
    WAIT_MAX_MS,
    WAIT_MIN_MS,
)
from app.core.settings import Settings, bounds, meta
from app.core.target import RETRY_ON_PATTERN, RetryRule, TargetDraft
from app.server.api.parameters import SLUG_SCHEMA
from app.server.api.replay_schemas import EditIn, ReplayEndpointIn, ReplayIn, ReplayRequestIn
from app.server.api.schemas import RequestPatch, patch_name
from app.server.api.settings import SettingsOut, SettingsPatch

Keywords = Mapping[str, Any]


def _range(least: int, most: int) -> Keywords:
    return {"minimum": least, "maximum": most}


def _trimmed(char: str, least: int, most: int) -> Keywords:
    """`least` to `most` of these characters, besides white space at both ends."""
    some = rf"\S(?:{char}{{0,{most - 2}}}\S)?"
    return {"pattern": rf"^\s*{some if least else f'(?:{some})?'}\s*$"}


_URL: Keywords = {
    "pattern": r"^([Hh][Tt][Tt][Pp][Ss]?://\S+|:?[0-9]{1,5}([/?]\S*)?|[A-Za-z0-9._-]+:[0-9]{1,5}([/?]\S*)?)$",
    "maxLength": FORWARD_URL_MAX,
}
"""`3000` and `localhost:3000` stand for `http://localhost:3000`."""
_SLUG: Keywords = {key: value for key, value in SLUG_SCHEMA.items() if key != "type"}
_HEADER_NAME: Keywords = {"pattern": HEADER_NAME_PATTERN}
_HEADERS: Keywords = {"prefixItems": [{"type": "string", **_HEADER_NAME}, {"type": "string"}]}
_POSITION: Keywords = {"minimum": 1}
_PROBABILITY = _range(0, 1)
_METHOD: Keywords = {"pattern": METHOD_PATTERN}
_BASE64: Keywords = {"pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"}
_SENT = {"url": _URL, "method": _METHOD, "headers": _HEADERS, "body_base64": _BASE64}
_REPLAY = {
    "url": _URL,
    "to_endpoint": _SLUG,
    "scale": _range(0, SCALE_MAX),
    "longest_gap_ms": _range(0, GAP_MAX_MS),
    "rate": {"exclusiveMinimum": 0, "maximum": RATE_MAX},
    "concurrency": _range(1, CONCURRENCY_MAX),
    "times": _range(1, TIMES_MAX),
    "seed": _range(0, SEED_MAX),
}

OF_RECORDS: dict[type[Record], dict[str, Keywords]] = {
    EndpointDraft: {
        "name": _trimmed(".", 1, NAME_MAX),
        "description": {"maxLength": DESCRIPTION_MAX},
        "retention_days": _range(RETENTION_MIN, RETENTION_MAX),
        "storage_limit": _range(STORAGE_LIMIT_MIN, STORAGE_LIMIT_MAX),
        "forward_url": _URL,
        "slug": _SLUG,
        "position": _POSITION,
    },
    ResponseSettings: {
        "status": _range(STATUS_MIN, STATUS_MAX),
        "headers": _HEADERS,
        "body": {"maxLength": RESPONSE_BODY_MAX},
        "delay_ms": _range(0, DELAY_MAX_MS),
        "wait_ms": _range(WAIT_MIN_MS, WAIT_MAX_MS),
    },
    Forward: {"timeout_ms": _range(TIMEOUT_MIN_MS, TIMEOUT_MAX_MS)},
    Auth: {},
    TargetDraft: {
        "url": _URL,
        "set_headers": _HEADERS,
        "add_headers": _HEADERS,
        "remove_headers": _HEADER_NAME,
        "timeout_ms": _range(TIMEOUT_MIN_MS, TIMEOUT_MAX_MS),
        "parallel": _range(1, PARALLEL_MAX),
        "attempt_header": _HEADER_NAME,
        "rate_limit": {"minimum": RATE_LIMIT_MIN, "maximum": RATE_LIMIT_MAX},
        "pause_after": _range(0, PAUSE_AFTER_MAX),
        "position": _POSITION,
    },
    RetryRule: {
        "retries": _range(0, RETRIES_MAX),
        "on": {"pattern": RETRY_ON_PATTERN},
        "first_delay_ms": _range(0, RETRY_DELAY_MAX_MS),
        "longest_delay_ms": _range(0, RETRY_DELAY_MAX_MS),
        "total_ms": _range(0, RETRY_TOTAL_MAX_MS),
    },
    RequestPatch: {"note": _trimmed(r"[\s\S]", 0, NOTE_MAX)},
    ReplayRequestIn: {**_SENT, "to_endpoint": _SLUG},
    EditIn: dict(_SENT),
    ReplayEndpointIn: _REPLAY,
    ReplayIn: {**_REPLAY, "ids": {"minItems": 1}},
    Faults: {
        **dict.fromkeys(("duplicate", "swap", "drop", "delay", "cut_off"), _PROBABILITY),
        "delay_max_ms": _range(0, FAULT_DELAY_MAX_MS),
    },
}
"""What the fields of records that callers send have to be; of lists of texts, what each item has to be."""

_TIMES = frozenset({"at", "after", "before"})


def constrain(name: str, schema: dict[str, Any]) -> None:
    """Add to the component `name` the constraints of its fields."""
    for record, fields in OF_RECORDS.items():
        if name in (record.__name__, patch_name(record)):
            for field, keywords in fields.items():
                if field in schema["properties"]:
                    _add(schema["properties"][field], keywords)
    for field, one in schema.get("properties", {}).items():
        if field in _TIMES or field.endswith("_at"):
            _add(one, {"format": "date-time"})
    if name in (SettingsPatch.__name__, SettingsOut.__name__):
        for key in Settings.__struct_fields__:
            one = schema["properties"][key]
            one["description"] = meta(key).description
            if (allowed := bounds(key)) is not None:
                _add(one, _range(*allowed))


def _add(schema: dict[str, Any], keywords: Keywords) -> None:
    """Constrain a value, unless it is null, or each item of a list."""
    if "anyOf" in schema:
        schema = next(one for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array" and "minItems" not in keywords:
        schema = schema["items"]
    schema.update(keywords)
