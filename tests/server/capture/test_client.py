"""Whose address a request gets."""

from __future__ import annotations

import pytest

from app.core.settings import networks
from app.core.tunnel_program import AddressHeader
from app.server.capture.client import Client, client_of

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


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.0.5", "203.0.113.7", Client("203.0.113.7", 0, "https")),
        ("::ffff:10.0.0.5", "203.0.113.7", Client("203.0.113.7", 0, "https")),
        ("192.0.2.9", "203.0.113.7, 10.0.0.8", Client("203.0.113.7", 0, "https")),
        ("10.0.0.5", "198.51.100.1, 203.0.113.7", Client("203.0.113.7", 0, "https")),
        ("10.0.0.5", "203.0.113.7, unknown", Client("10.0.0.5", 50_000, "https")),
        ("10.0.0.5", "10.0.0.8", Client("10.0.0.5", 50_000, "https")),
        ("192.168.1.5", "203.0.113.7", Client("192.168.1.5", 50_000, "http")),
        ("", "203.0.113.7", Client("", 50_000, "http")),
    ],
)
def test_only_a_proxy_that_is_listed_names_the_client(peer: str, forwarded: str, client: Client) -> None:
    """The last of them that is none of the proxies: a sender may begin the header with anything."""
    sent = (("X-Forwarded-For", forwarded), ("X-Forwarded-Proto", "https"))
    assert client_of((peer, 50_000), sent, None, networks("10.0.0.0/8, 192.0.2.9")) == client


def test_a_proxy_that_names_nobody_is_the_client() -> None:
    assert client_of(("10.0.0.5", 50_000), (), None, networks("10.0.0.5")) == Client("10.0.0.5", 50_000, "http")
