"""Example values for the API's page, made from the schemas of its document."""

from __future__ import annotations

from typing import Any

REQUEST = "019aae3f-6f3b-7d10-8a51-2f0c9be41d77"
DELIVERY = "019aae3f-6f3c-7a2e-9c40-5b1de07f6a12"
REPLAY = "019aae41-11d2-7c55-b3f1-90ad24e8c6f0"
TIME = "2026-11-22T09:41:07.250318Z"
HEADERS = [["Content-Type", "application/json"], ["X-Request-Id", "7f3d"]]
VALUES: dict[str, Any] = {
    "slug": "orders",
    "endpoint": "orders",
    "name": "Orders",
    "description": "",
    "url": "http://localhost:3000/hooks",
    "forward_url": "http://localhost:3000/hooks",
    "base_url": "https://hooks.example",
    "capture_url": "http://127.0.0.1:8787",
    "host": "127.0.0.1",
    "api_host": "127.0.0.1",
    "proxies": "10.0.0.0/8",
    "address": "203.0.113.7",
    "port": 51_324,
    "target": 1,
    "method": "POST",
    "http_version": "1.1",
    "scheme": "http",
    "content_type": "application/json",
    "size": 342,
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "headers": HEADERS,
    "response_headers": [["Content-Type", "application/json"]],
    "trailers": [],
    "set_headers": [],
    "add_headers": [],
    "remove_headers": [],
    "storage_limit": None,
    "storage_limit_reached": False,
    "limit_reached": False,
    "capturing_stopped": False,
    "response_truncated": False,
    "starred": False,
    "more": False,
    "edited": False,
    "reused": False,
    "responded": False,
    "status": 200,
    "ms": 12.4,
    "storage": "ok",
    "pid": 4_711,
    "version": "0.1.0",
    "provider": "stripe",
    "event": "invoice.paid",
    "gist": "invoice.paid 42.00 EUR",
    "note": "charged twice",
    "delivery_id": "evt_1QK2",
    "request": REQUEST,
    "first_delivery": DELIVERY,
    "second_delivery": DELIVERY,
    "error": None,
    "next_step": None,
    "failure": None,
    "problem": None,
    "summary": None,
    "replay": None,
    "reason": None,
    "resumes_in_seconds": None,
    "limit": None,
    "tunnel_program": None,
    "due_at": None,
    "paused": None,
    "client_certificate": None,
    "client_key": None,
    "ca_certificate": None,
    "attempt_header": None,
    "rate_limit": None,
    "auth": {"kind": "none", "name": "", "secret": ""},
    "secret": "",
    "retry": {
        "retries": 4,
        "on": ["connection"],
        "first_delay_ms": 1_000,
        "longest_delay_ms": 30_000,
        "total_ms": 600_000,
    },
    "faults": {"duplicate": 0.0, "swap": 0.0, "drop": 0.0, "delay": 0.0, "delay_max_ms": 1_000, "cut_off": 0.0},
    "response": {"status": 200, "headers": [], "body": None, "delay_ms": 0, "from_target": False, "wait_ms": 10_000},
    "warnings": [],
    "notes": [],
    "q": "method:POST",
    "next": None,
    "cursor": None,
    "ids": [REQUEST],
    "edit": None,
    "where": "data.amount",
    "text": "data.amount is 42 and 43.",
    "first_status": 200,
    "second_status": 200,
    "detail": "No endpoint has the slug 'orders'.",
    "uptime_seconds": 86.25,
    "retention_days": 7,
    "created_at": TIME,
}
"""By the names of fields; a value that does not fit the field's schema is not used."""
PER_TYPE: dict[str, dict[str, Any]] = {
    "Endpoint": {"url": "http://127.0.0.1:8787/catch/orders"},
    "Summary": {"id": REQUEST, "target": "/catch/orders/invoices?test=1", "response": {"status": 200, "ms": 1.8}},
    "RequestHead": {"id": REQUEST, "target": "/catch/orders/invoices?test=1", "response": {"status": 200, "ms": 1.8}},
    "Refusal": {"target": "/catch/unknown", "status": 404, "reason": "No endpoint has this path.", "endpoint": None},
    "Replay": {"id": REPLAY, "ended_at": None, "after": None, "before": None},
    "FullReplay": {"id": REPLAY, "ended_at": None, "after": None, "before": None, "ids": None},
    "Delivery": {"id": DELIVERY},
    "FullDelivery": {"id": DELIVERY},
    "ReplayedRequest": {"id": DELIVERY, "replay": REPLAY},
    "Target": {
        "host": "target",
        "timeout_ms": 10_000,
        "follow_redirects": False,
        "pause_after": 10,
        "auto_resume": False,
        "position": 1,
        "queued": 0,
    },
    "ComparedTargets": {"first": 1, "second": 2},
    "Difference": {"first": "42", "second": "43"},
    "SettingsOut": {"host": "127.0.0.1", "port": 8_787, "api_port": 8_788, "base_url": None},
}


def example_of(schema: dict[str, Any], components: dict[str, Any], name: str = "") -> Any:
    """A value of `schema`; `name` is the field it is the value of."""
    if "$ref" in schema:
        return _component(schema["$ref"].rpartition("/")[2], components)
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], components, name)
    if "enum" in schema:
        return schema["enum"][0]
    if "prefixItems" in schema:
        return ["Content-Type", "application/json"]
    kind = schema.get("type")
    if kind == "array":
        return [example_of(schema["items"], components, name)]
    if kind == "object":
        return {}
    if schema.get("format") == "date-time":
        return TIME
    numbers = {"integer": max(1, schema.get("minimum", 1)), "number": 1.5, "boolean": True}
    return numbers.get(str(kind), "…")


def _component(name: str, components: dict[str, Any]) -> Any:
    schema = components[name]
    if "properties" not in schema:
        return example_of(schema, components)
    own = PER_TYPE.get(name, {})
    return {field: _field(field, one, components, own) for field, one in schema["properties"].items()}


def _field(field: str, schema: dict[str, Any], components: dict[str, Any], own: dict[str, Any]) -> Any:
    if field in own:
        return own[field]
    if field in VALUES and _fits(VALUES[field], schema, components):
        return VALUES[field]
    if "default" in schema:
        return schema["default"]
    return example_of(schema, components, field)


def _fits(value: Any, schema: dict[str, Any], components: dict[str, Any]) -> bool:
    """Whether `value` is of a type that `schema` allows; what an object holds is not looked at."""
    if "$ref" in schema:
        named = components[schema["$ref"].rpartition("/")[2]]
        return isinstance(value, dict) and set(value) == set(named.get("properties", ()))
    if "anyOf" in schema:
        return any(_fits(value, one, components) for one in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    kinds: dict[str, Any] = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "array": list,
        "object": dict,
        "null": type(None),
    }
    return isinstance(value, kinds[schema["type"]]) and (schema["type"] == "boolean") is isinstance(value, bool)
