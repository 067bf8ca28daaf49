"""What the program's rules ask of values beyond their types, as JSON Schema. It is documentation: the rules themselves
report violations, in sentences that name the field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.core.model import Auth, EndpointDraft, Forward, ResponseSettings
from app.core.raw_request import FRAMING
from app.core.record import Field, Record, fields_of, types_of
from app.core.replay import METHOD_PATTERN, Faults, FixedRate, OriginalGaps, ReplaySpec
from app.core.rules import (
    DELIVERY_HEADERS,
    FORWARD_URL_MAX,
    HEADER_NAME_PATTERN,
    NAME_MAX,
    NOTE_MAX,
    OWN_HEADERS,
    RESPONSE_BODY_MAX,
    SLUG_MAX,
    SLUG_MIN,
    SLUG_PATTERN,
)
from app.core.settings import Settings
from app.core.target import RETRY_ON_PATTERN, RetryRule, TargetDraft
from app.server.api.endpoints import BATCH_MAX, EndpointBatchIn
from app.server.api.replays import FIELDS, EditIn, ReplayEndpointIn, ReplayIn, ReplayRequestIn
from app.server.api.requests import RequestPatch
from app.server.api.status import BackupIn, SettingsOut, SettingsPatch

Keywords = Mapping[str, Any]
SLUG_SCHEMA = {"type": "string", "minLength": SLUG_MIN, "maxLength": SLUG_MAX, "pattern": SLUG_PATTERN}


def _trimmed(char: str, least: int, most: int) -> Keywords:
    """`least` to `most` of these characters, besides white space at both ends."""
    some = rf"\S(?:{char}{{0,{most - 2}}}\S)?"
    return {"pattern": rf"^\s*{some if least else f'(?:{some})?'}\s*$"}


_VISIBLE = r"[^\x00-\x20\x7f-\xa0]"
_URL: Keywords = {
    "pattern": rf"^([Hh][Tt][Tt][Pp][Ss]?://{_VISIBLE}+|([A-Za-z0-9._-]*:)?[0-9]{{1,5}}([/?]{_VISIBLE}*)?)$",
    "maxLength": FORWARD_URL_MAX,
}
"""`3000` and `localhost:3000` stand for `http://localhost:3000`."""
_SLUG: Keywords = {key: value for key, value in SLUG_SCHEMA.items() if key != "type"}
_HEADER_VALUE = {"type": "string", "pattern": r"^[\t\x20-\x7e\x80-\xff]*$"}


def _header_name(own: Iterable[str] = ()) -> Keywords:
    """Any but `own`, in whatever case: JSON Schema has no flag for that."""
    names = ("".join(f"[{one.upper()}{one}]" if one.isalpha() else one for one in name) for name in sorted(own))
    refused = f"(?!(?:{'|'.join(names)})$)" if own else ""
    return {"pattern": f"^{refused}{HEADER_NAME_PATTERN[1:]}"}


def _headers(own: Iterable[str] = ()) -> Keywords:
    return {"prefixItems": [{"type": "string", **_header_name(own)}, _HEADER_VALUE]}


_POSITION: Keywords = {"minimum": 1}
_METHOD: Keywords = {"pattern": METHOD_PATTERN}
_ID = "^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_BASE64: Keywords = {"pattern": "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"}
_SENT = {"url": _URL, "method": _METHOD, "headers": _headers(FRAMING), "body_base64": _BASE64}
_REPLAY = {
    "url": _URL,
    "to_endpoint": _SLUG,
    **{
        FIELDS.get(f"pace.{name}", name): {"minimum": field.low, "maximum": field.high}
        for record in (ReplaySpec, FixedRate, OriginalGaps)
        for name, field in fields_of(record).items()
    },
}

OF_RECORDS: dict[type[Record], dict[str, Keywords]] = {
    EndpointDraft: {
        "name": _trimmed(".", 1, NAME_MAX),
        "forward_url": _URL,
        "slug": _SLUG,
        "position": _POSITION,
    },
    ResponseSettings: {
        "headers": _headers(OWN_HEADERS),
        "body": {"maxLength": RESPONSE_BODY_MAX},
    },
    TargetDraft: {
        "url": _URL,
        "set_headers": _headers(DELIVERY_HEADERS),
        "add_headers": _headers(DELIVERY_HEADERS),
        "remove_headers": _header_name({*DELIVERY_HEADERS, "host"}),
        "attempt_header": _header_name({*DELIVERY_HEADERS, "host"}),
        "position": _POSITION,
    },
    RetryRule: {"on": {"pattern": RETRY_ON_PATTERN}},
    EndpointBatchIn: {
        "create": {"minItems": 0, "maxItems": BATCH_MAX},
        "delete": {"minItems": 0, "maxItems": BATCH_MAX, "items": {"type": "string", **_SLUG}},
    },
    BackupIn: {"path": {"pattern": r"^(?:/|[A-Za-z]:[\\/]|\\\\)[^\x00]*$"}},
    RequestPatch: {"note": _trimmed(r"[^\x00]", 0, NOTE_MAX)},
    ReplayRequestIn: {**_SENT, "to_endpoint": _SLUG},
    EditIn: dict(_SENT),
    ReplayEndpointIn: _REPLAY,
    ReplayIn: {**_REPLAY, "ids": {"minItems": 1, "items": {"type": "string", "pattern": _ID}}},
}
"""What the fields of records that callers send have to be, beyond their declarations; of lists of texts, what each
item has to be."""

DECLARED: tuple[type[Record], ...] = (EndpointDraft, ResponseSettings, Forward, Auth, TargetDraft, RetryRule, Faults)

_GIVEN = {"not": {"type": "null"}}


def _unless(when: Keywords, then: Keywords) -> Keywords:
    """Objects with the fields of `when` have to be as `then` says."""
    return {"if": {"properties": dict(when), "required": list(when)}, "then": then}


def _not_both(one: str, other: str) -> Keywords:
    return {"not": {"properties": {one: _GIVEN, other: _GIVEN}, "required": [one, other]}}


def _absent(names: Iterable[str], schema: Keywords) -> Keywords:
    return {"properties": dict.fromkeys(names, schema)}


_SECRET = {"required": ["secret"], "properties": {"secret": {"minLength": 1}}}
_ONE_URL = _not_both("url", "to_endpoint")
_ONE_BODY = _not_both("body", "body_base64")
_NULL = {"type": "null"}
_NO_GAPS = {"if": {"properties": {"gaps": {"const": "none"}}}, "then": _absent(("scale", "longest_gap_ms"), _NULL)}
_PACE = (_ONE_URL, _NO_GAPS, _unless({"gaps": {"const": "original"}}, _absent(("rate",), _NULL)))
TOGETHER: dict[type[Record], tuple[Keywords, ...]] = {
    Auth: (
        _unless({"kind": {"enum": ["basic", "bearer", "header"]}}, _SECRET),
        _unless(
            {"kind": {"const": "basic"}},
            {"required": ["name"], "properties": {"name": {"pattern": "^[^:]+$"}}},
        ),
        _unless({"kind": {"const": "header"}}, {"required": ["name"], "properties": {"name": _header_name()}}),
    ),
    ReplayRequestIn: (_ONE_URL, _ONE_BODY),
    EditIn: (_ONE_BODY,),
    ReplayEndpointIn: _PACE,
    ReplayIn: (
        *_PACE,
        _unless({"ids": _GIVEN}, _absent(("endpoint", "after", "before"), _NULL)),
        _unless({"ids": _GIVEN}, _absent(("q",), {"const": ""})),
        _unless({"edit": _GIVEN}, {"required": ["ids"], "properties": {"ids": {"type": "array", "maxItems": 1}}}),
    ),
}
"""What the fields of a record have to be together."""

_TIMES = frozenset({"at", "after", "before"})


def patch_name(record: type[Record]) -> str:
    """`EndpointPatch` for `EndpointDraft`, as `patch_of` names it."""
    return f"{record.__name__.removesuffix('Draft')}Patch"


def constrain(name: str, schema: dict[str, Any]) -> None:
    """Add to the component `name` the constraints of its fields."""
    for record in DECLARED:
        if name in (record.__name__, patch_name(record)):
            _constrain_declared(record, schema["properties"])
    for record, fields in OF_RECORDS.items():
        if name in (record.__name__, patch_name(record)):
            for field, keywords in fields.items():
                if field in schema["properties"]:
                    _add(schema["properties"][field], keywords)
    rules = [rule for record, found in TOGETHER.items() if name == record.__name__ for rule in found]
    schema.update({"allOf": rules} if rules else {})
    for field, one in schema.get("properties", {}).items():
        if field in _TIMES or field.endswith("_at"):
            _add(one, {"format": "date-time"})
    if name in (SettingsPatch.__name__, SettingsOut.__name__):
        _constrain_declared(Settings, schema["properties"])


def _constrain_declared(record: type[Record], properties: dict[str, dict[str, Any]]) -> None:
    for key, field in fields_of(record).items():
        if field.help:
            properties[key]["description"] = f"{field.help} In bytes." if field.unit == "bytes" else field.help
        if field.low is not None and field.high is not None and key not in OF_RECORDS.get(record, {}):
            _add(properties[key], _bounds(field, types_of(record)[key]))
        if field.item_pattern:
            _add(properties[key], {"pattern": f"^{field.item_pattern}$"})
        if field.secret:
            _add(properties[key], {"format": "password"})


def _bounds(field: Field, kind: Any) -> Keywords:
    if kind is str:
        low, high = field.bounds
        return {"minLength": low, "maxLength": high} if low else {"maxLength": high}
    if field.item_pattern:
        return {"minItems": field.low, "maxItems": field.high, "uniqueItems": True}
    return {"minimum": field.low, "maximum": field.high}


def _add(schema: dict[str, Any], keywords: Keywords) -> None:
    """Constrain a value, unless it is null, or each item of a list."""
    if "anyOf" in schema:
        schema = next(one for one in schema["anyOf"] if one.get("type") != "null")
    if schema.get("type") == "array" and "minItems" not in keywords:
        schema = schema["items"]
    schema.update(keywords)
