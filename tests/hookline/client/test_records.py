"""The client's records: the fields that the API has, and how a request's body is read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from app.core.delivery import Timing
from app.core.model import Auth, Forward, ResponseSettings
from app.core.target import RetryRule
from app.server.api import event_schemas, replay_schemas, schemas
from hookline.client import Headers, Request, Summary, records
from hookline.client.records import SentResponse, SourceAddress

PAIRS = [
    (records.Attempt, schemas.AttemptOut),
    (records.Auth, Auth),
    (records.Delivery, schemas.DeliveryOut),
    (records.DeliverySummary, schemas.DeliverySummaryOut),
    (records.Edit, replay_schemas.EditOut),
    (records.Endpoint, schemas.EndpointOut),
    (records.EndpointChange, event_schemas.EndpointChangeOut),
    (records.EndpointUsage, schemas.EndpointUsage),
    (records.Faults, replay_schemas.Faults),
    (records.Forward, Forward),
    (records.FullDelivery, schemas.FullDeliveryOut),
    (records.FullReplay, replay_schemas.FullReplayOut),
    (records.Gap, event_schemas.GapOut),
    (records.Refusal, schemas.RefusalOut),
    (records.Replay, replay_schemas.ReplayOut),
    (records.ReplayProgress, replay_schemas.ProgressOut),
    (records.ReplayedRequest, replay_schemas.ReplayedOut),
    (records.Request, schemas.RequestOut),
    (records.ResponseSettings, ResponseSettings),
    (records.Retention, schemas.RetentionOut),
    (records.RetryRule, RetryRule),
    (records.SentResponse, schemas.ResponseOut),
    (records.SourceAddress, schemas.SourceAddress),
    (records.Status, schemas.StatusOut),
    (records.Storage, schemas.StoredOut),
    (records.Summary, schemas.SummaryOut),
    (records.Target, schemas.TargetOut),
    (records.Timing, Timing),
    (records.TunnelChange, event_schemas.TunnelChangeOut),
    (records.Totals, schemas.Totals),
]
OWN = {records.Request: {"body", "decoded_body"}}
"""Read by calls of their own."""


@pytest.mark.parametrize(("record", "schema"), PAIRS, ids=lambda kind: kind.__name__)
def test_a_record_has_the_fields_of_the_api(record: type[msgspec.Struct], schema: type[msgspec.Struct]) -> None:
    assert set(record.__struct_fields__) - OWN.get(record, set()) == set(schema.__struct_fields__)


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
