"""Whose address a request gets."""

from __future__ import annotations

import pytest

from app.core.tunnel.spec import AddressHeader
from app.server.capture.tunnel_client import Client, client_of

HEADER = AddressHeader(name="CF-Connecting-IP")
SENT = (("cf-connecting-ip", "203.0.113.7"), ("X-Forwarded-Proto", "https"))


@pytest.mark.parametrize(
    ("peer", "header", "client"),
    [
        ("127.0.0.1", HEADER, Client("203.0.113.7", 0, "https")),
        ("::1", HEADER, Client("203.0.113.7", 0, "https")),
        ("127.0.0.1", None, Client("127.0.0.1", 50_000, "http")),
        ("192.168.1.5", HEADER, Client("192.168.1.5", 50_000, "http")),
        ("", HEADER, Client("", 50_000, "http")),
        ("127.0.0.1", AddressHeader(name="X-Real-IP"), Client("127.0.0.1", 50_000, "http")),
    ],
)
def test_only_a_tunnel_on_this_machine_names_the_client(
    peer: str, header: AddressHeader | None, client: Client
) -> None:
    assert client_of((peer, 50_000), SENT, header) == client
