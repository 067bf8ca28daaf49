"""Which of a header's values is believed."""

from __future__ import annotations

from typing import Literal

import pytest

from app.core.tunnel_program import AddressHeader
from app.server.capture.client import client_address, client_scheme


@pytest.mark.parametrize(
    ("values", "take", "address"),
    [
        (("203.0.113.7",), "only", "203.0.113.7"),
        (("203.0.113.7, 10.0.0.1",), "only", None),
        (("1.1.1.1", "2.2.2.2"), "only", None),
        (("1.1.1.1, 2.2.2.2",), "first", "1.1.1.1"),
        (("1.1.1.1, 2.2.2.2",), "last", "2.2.2.2"),
        (("1.1.1.1", "2.2.2.2"), "last", "2.2.2.2"),
        (("203.0.113.7:5123",), "only", "203.0.113.7"),
        (("[2001:db8::1]:5123",), "only", "2001:db8::1"),
        (("2001:DB8::1",), "only", "2001:db8::1"),
        (("fe80::1%eth0",), "only", "fe80::1"),
        (('"[2001:db8::1]"',), "only", "2001:db8::1"),
        (("::ffff:203.0.113.7",), "only", "203.0.113.7"),
        (("unknown",), "only", None),
        (("",), "only", None),
        (("<script>",), "last", None),
        ((), "last", None),
    ],
)
def test_client_address(values: tuple[str, ...], take: Literal["only", "first", "last"], address: str | None) -> None:
    headers = (("Host", "x"), *(("x-CLIENT-ip", value) for value in values))
    assert client_address(headers, AddressHeader(name="X-Client-IP", take=take)) == address


def test_client_scheme() -> None:
    assert client_scheme((("x-forwarded-proto", "http, HTTPS"),)) == "https"
    assert client_scheme((("x-forwarded-proto", "gopher"),)) is None
    assert client_scheme(()) is None
