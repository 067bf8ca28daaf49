"""The target of a mirrored request: forward URL, sub-path and queries joined, nothing decoded or resolved."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.server.forward.target import mirror_target


@pytest.mark.parametrize(
    ("forward_url", "captured", "sent"),
    [
        ("http://t", "/catch/s", "/"),
        ("http://t/", "/catch/s", "/"),
        ("http://t/hooks", "/catch/s", "/hooks"),
        ("http://t/hooks/", "/catch/s", "/hooks/"),
        ("http://t/hooks", "/catch/s/", "/hooks/"),
        ("http://t/hooks", "/catch/s/a/b", "/hooks/a/b"),
        ("http://t/hooks/", "/catch/s/a/b", "/hooks/a/b"),
        ("http://t", "/catch/s/a%2Fb/../c//d/./e", "/a%2Fb/../c//d/./e"),
        ("http://t/h?own=1", "/catch/s?x=1&x=2", "/h?own=1&x=1&x=2"),
        ("http://t/h?own=1", "/catch/s", "/h?own=1"),
        ("http://t/h", "/catch/s?", "/h?"),
        ("http://t/h?own=1", "/catch/s?", "/h?own=1"),
        ("http://t/h", "/catch/s?q=a/catch/b?c", "/h?q=a/catch/b?c"),
        ("http://t/h", "/catch/s/catch/x", "/h/catch/x"),
        ("http://t/h", "http://proxy.example/catch/s/a?b", "/h/a?b"),
        ("http://t/h#fragment", "/catch/s/a", "/h/a"),
        ("http://t/%7e/ü", "/catch/s/%C3%BC/\xc3\xbc", "/%7e/%C3%BC/%C3%BC/%C3%BC"),
        ("http://t/h", '/catch/s/{a}|"<>^`?[x]=\\', '/h/{a}|"<>^`?[x]=\\'),
    ],
)
def test_target(forward_url: str, captured: str, sent: str) -> None:
    assert mirror_target(forward_url, captured) == sent


@given(
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?/"), max_size=30), st.binary()
)
def test_printable_ascii_stays_and_the_rest_can_be_sent(path: str, query: bytes) -> None:
    sent = mirror_target("http://t", f"/catch/s/{path}?{query.decode('latin-1')}")
    assert sent.startswith(f"/{path}?")
    h11.Request(method="GET", target=sent, headers=[("Host", "t")])
