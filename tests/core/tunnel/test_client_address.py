"""Which of a header's values is believed."""

from __future__ import annotations

from typing import Literal

import pytest

from app.core.tunnel.spec import AddressHeader
from app.server.capture.tunnel_client import client_address, client_scheme


@pytest.mark.parametrize(
    ("values", "take", "address"),
    [
        ((b"203.0.113.7",), "only", "203.0.113.7"),
        ((b"203.0.113.7, 10.0.0.1",), "only", None),
        ((b"1.1.1.1", b"2.2.2.2"), "only", None),
        ((b"1.1.1.1, 2.2.2.2",), "first", "1.1.1.1"),
        ((b"1.1.1.1, 2.2.2.2",), "last", "2.2.2.2"),
        ((b"1.1.1.1", b"2.2.2.2"), "last", "2.2.2.2"),
        ((b"203.0.113.7:5123",), "only", "203.0.113.7"),
        ((b"[2001:db8::1]:5123",), "only", "2001:db8::1"),
        ((b"2001:DB8::1",), "only", "2001:db8::1"),
        ((b"fe80::1%eth0",), "only", "fe80::1"),
        ((b'"[2001:db8::1]"',), "only", "2001:db8::1"),
        ((b"::ffff:203.0.113.7",), "only", "203.0.113.7"),
        ((b"unknown",), "only", None),
        ((b"",), "only", None),
        ((b"<script>",), "last", None),
        ((), "last", None),
    ],
)
def test_client_address(values: tuple[bytes, ...], take: Literal["only", "first", "last"], address: str | None) -> None:
    headers = [(b"Host", b"x"), *((b"x-CLIENT-ip", value) for value in values)]
    assert client_address(headers, AddressHeader(name="X-Client-IP", take=take)) == address


def test_client_scheme() -> None:
    assert client_scheme([(b"x-forwarded-proto", b"http, HTTPS")]) == "https"
    assert client_scheme([(b"x-forwarded-proto", b"gopher")]) is None
    assert client_scheme([]) is None
