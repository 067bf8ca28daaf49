"""However long the parts of a request are, what an agent gets of them is short."""

from __future__ import annotations

from typing import Any

import msgspec

from app.cli.mcp_results import HEADERS_MAX, LISTED_MAX, TEXT_MAX, Serializer
from hookline.calls import decoded
from hookline.records import Delivery, Summary

LONG = "x" * 60_000


def summary(**changed: Any) -> Summary:
    """A request in a list."""
    plain = {
        "id": "01", "endpoint": "orders", "received_at": "2026-11-20T09:00:00Z", "method": "GET", "target": "/",
        "content_type": "", "size": 0, "complete": True, "response": {"status": 200, "ms": 1.0}, "delivery": "none",
        "read": False, "starred": False, "note": None, "provider": None, "event": None, "gist": "",
    }  # fmt: skip
    return msgspec.convert({**plain, **changed}, Summary)


def test_long_texts_of_a_list_are_shortened() -> None:
    for show_secrets in (True, False):
        serializer = Serializer(show_secrets=show_secrets)
        long = serializer.summary(summary(target="/" + LONG, content_type=LONG, note=LONG, event=LONG, gist=LONG))
        for text in (long.target, long.content_type, long.note, long.event, long.summary):
            assert text is not None
            assert (len(text), text[-1]) == (LISTED_MAX, "…")


def test_long_headers_are_shortened_and_counted() -> None:
    serializer = Serializer(show_secrets=False)
    assert serializer.headers([("A", LONG)]) == [("A", "x" * (TEXT_MAX - 1) + "…")]
    many = serializer.headers([("A", "x" * 100), ("Cookie", LONG)] * 500)
    assert sum(len(name) + len(value) for name, value in many) < HEADERS_MAX + TEXT_MAX
    assert many[-1] == ("…", f"{1000 - (len(many) - 1)} more headers")
    assert many[1] == ("Cookie", "[redacted]")


def test_an_error_does_not_quote_what_the_target_sent() -> None:
    error = "The response from a:80 was not valid HTTP: illegal chunk header: b'\\xa1hpassword\\x67hunter2'."
    delivery = {
        "id": "1", "request": "1", "endpoint": "a", "url": "http://a/", "state": "failed", "attempt_count": 1,
        "status": None, "ms": 1.0, "error": error, "next_step": "It is not tried again.", "replay": None,
        "queued_at": "2026-11-20T09:00:00Z", "due_at": None, "method": "GET", "started_at": None, "target": None,
        "responded": False, "waits_for": None, "response_headers": [], "response_size": 0, "response_truncated": False,
    }  # fmt: skip
    sent = decoded(msgspec.json.encode(delivery), Delivery)
    shown = Serializer(show_secrets=False).delivery(sent).error or ""
    assert shown.endswith("illegal chunk header. It is not tried again.")
    assert "hunter2" in (Serializer(show_secrets=True).delivery(sent).error or "")


def test_a_secret_is_redacted_where_a_long_text_is_cut_off() -> None:
    serializer = Serializer(show_secrets=False)
    for padding in range(LISTED_MAX - 60, LISTED_MAX):
        assert "hun" not in serializer.url("/" + "x" * padding + "?token=hunter2&a=1", LISTED_MAX)
        assert "hun" not in serializer.text("x" * padding + " https://user:hunter2@shop.test/", LISTED_MAX)
