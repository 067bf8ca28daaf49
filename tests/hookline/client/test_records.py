"""The API's records: those that the program has too, and how a request's body is read."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec
import pytest

from app.core.backup import Backup
from app.core.delivery import AttemptTrigger, FailureKind, Timing, WaitReason
from app.core.model import Auth, DeliveryState, Forward, Plan, ResponseSettings
from app.core.replay import Faults, ReplayState
from app.core.target import RetryRule
from app.core.tunnel import TunnelState
from hookline import records
from hookline.client import Headers, Request, Summary
from hookline.records import SentResponse, SourceAddress

SAME = [
    (records.Auth, Auth),
    (records.Backup, Backup),
    (records.Faults, Faults),
    (records.Forward, Forward),
    (records.ResponseSettings, ResponseSettings),
    (records.RetryRule, RetryRule),
    (records.Timing, Timing),
]
CHOICES = [
    (records.AttemptTrigger, AttemptTrigger),
    (records.DeliveryState, DeliveryState),
    (records.FailureKind, FailureKind),
    (records.Plan, Plan),
    (records.ReplayState, ReplayState),
    (records.TunnelState, TunnelState),
    (records.WaitReason, WaitReason),
]


@pytest.mark.parametrize(("record", "own"), SAME, ids=lambda kind: kind.__name__)
def test_a_record_that_is_sent_as_it_is_has_the_programs_fields(
    record: type[msgspec.Struct], own: type[msgspec.Struct]
) -> None:
    assert record.__struct_fields__ == own.__struct_fields__


@pytest.mark.parametrize(("choices", "own"), CHOICES, ids=lambda kind: getattr(kind, "__name__", ""))
def test_a_fields_words_are_the_programs(choices: Any, own: type[StrEnum]) -> None:
    assert sorted(msgspec.json.schema(choices)["enum"]) == sorted(own)


def request(body: bytes = b"", **fields: Any) -> Request:
    """A request as the client returns it."""
    values: dict[str, Any] = {
        "id": "0",
        "endpoint": "orders",
        "received_at": datetime.now(UTC),
        "method": "POST",
        "target": "/catch/orders/new?x=1",
        "size": len(body),
        "content_type": "application/json",
        "complete": True,
        "response": SentResponse(status=200, ms=None),
        "delivery": "none",
        "read": False,
        "starred": False,
        "note": None,
        "provider": None,
        "event": None,
        "gist": None,
        "http_version": "1.1",
        "headers": Headers(),
        "trailers": Headers(),
        "sha256": "",
        "source": SourceAddress(address="127.0.0.1", port=1),
        "scheme": "http",
        "delivery_id": None,
        "deliveries": (),
        "damaged": None,
        "body": body,
        "decoded_body": body,
        **fields,
    }
    return Request(**values)


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/catch/orders", "/", ""),
        ("/catch/orders?x=1", "/", "x=1"),
        ("/catch/orders/", "/", ""),
        ("/catch/orders/a%2Fb/?x=1?y", "/a%2Fb/", "x=1?y"),
        ("http://localhost:8787/catch/orders/a", "/a", ""),
    ],
)
def test_path_and_query_are_below_the_endpoints_url_as_sent(target: str, path: str, query: str) -> None:
    sent: Summary = request(target=target)
    assert (sent.path, sent.query) == (path, query)


def test_a_body_is_text_in_its_charset() -> None:
    assert request("é".encode("latin-1"), content_type='text/plain; charset="ISO-8859-1"').text == "é"
    assert request("é".encode(), content_type="text/plain; charset=unknown").text == "é"
    assert request(b"\xff").text == "\ufffd"


def test_a_body_is_json_if_it_is() -> None:
    assert request(b'{"a": [1]}').json() == {"a": [1]}
    with pytest.raises(ValueError, match="Expecting value"):
        request(b"a=1").json()
    assert request(b"{}", decoded_body=None).json() == {}
