"""The line that `serve --tail` prints for each captured request."""

from __future__ import annotations

from app.serve import format_tail
from tests.factories import capture


def test_a_tail_line_names_what_arrived() -> None:
    summary = capture(b"x" * 2048, target="/catch/orders/new?x=1", method="PUT").summary()
    line = format_tail(summary, "orders")
    assert line[8:] == "  orders  PUT      /new?x=1  2.0 KiB  application/json"
    told = capture(b"x" * 2048, target="/catch/orders", method="PUT", gist="JSON · id").summary()
    assert format_tail(told, "orders")[8:] == "  orders  PUT      JSON · id  /  2.0 KiB  application/json"
    known = capture(target="/catch/orders", provider="stripe", event="invoice.paid", gist="JSON · id").summary()
    assert format_tail(known, "orders")[8:].startswith("  orders  POST     stripe  invoice.paid  /  ")


def test_a_tail_line_tells_of_a_sender_that_broke_off_and_escapes_what_it_wrote() -> None:
    summary = capture(complete=False, content_type="a\x1b[2Jb", target="/catch/orders").summary()
    line = format_tail(summary, "orders")
    assert line.isprintable()
    assert "a\\x1b[2Jb" in line
    assert line.endswith("(incomplete: the sender disconnected)")
