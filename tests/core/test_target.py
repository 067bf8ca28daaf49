"""The target of a forwarded request: forward URL, sub-path and queries joined, nothing decoded or resolved."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.core.delivery import Delivery
from app.core.model import DeliveryState
from app.core.target import escapes_path, forwarded_url, full_url, target_below
from tests import factories


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
        ("http://t/h", "/catch/s/a?next=https://example.org/b", "/h/a?next=https://example.org/b"),
        ("http://t/h", "/catch/s/https://example.org/b", "/h/https://example.org/b"),
        ("http://t/h#fragment", "/catch/s/a", "/h/a"),
        ("http://t/%7e/ü", "/catch/s/%C3%BC/\xc3\xbc", "/%7e/%C3%BC/%C3%BC/%C3%BC"),
        ("http://t/h", '/catch/s/{a}|"<>^`?[x]=\\', '/h/{a}|"<>^`?[x]=\\'),
    ],
)
def test_target(forward_url: str, captured: str, sent: str) -> None:
    assert target_below(forward_url, captured) == sent


@pytest.mark.parametrize(
    ("forward_url", "captured", "url"),
    [
        ("http://t:3000", "/catch/s", "http://t:3000/"),
        ("https://t/h?own=1#part", "/catch/s/a%2Fb?x=1", "https://t/h/a%2Fb?own=1&x=1"),
        ("http://[::1]:3000/h", "http://proxy.example/catch/s/a?b", "http://[::1]:3000/h/a?b"),
        ("http://t/h", "/catch/s/../admin", "http://t/h"),
    ],
)
def test_the_url_that_is_requested(forward_url: str, captured: str, url: str) -> None:
    assert forwarded_url(forward_url, captured) == url


@pytest.mark.parametrize(
    ("append_path", "keep_query", "sent"),
    [
        (True, True, "/h/a?own=1&x=1"),
        (False, True, "/h/?own=1&x=1"),
        (True, False, "/h/a?own=1"),
        (False, False, "/h/?own=1"),
    ],
)
def test_path_and_query_can_be_left_out(append_path: bool, keep_query: bool, sent: str) -> None:
    options = {"append_path": append_path, "keep_query": keep_query}
    assert target_below("http://t/h/?own=1", "/catch/s/a?x=1", **options) == sent
    assert forwarded_url("http://t/h/?own=1", "/catch/s/a?x=1", **options) == f"http://t{sent}"


def test_a_path_that_is_left_out_cannot_escape() -> None:
    assert forwarded_url("http://t/h", "/catch/s/../admin?x=1", append_path=False) == "http://t/h?x=1"


@given(
    st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?/"), max_size=30), st.binary()
)
def test_printable_ascii_stays_and_the_rest_can_be_sent(path: str, query: bytes) -> None:
    sent = target_below("http://t", f"/catch/s/{path}?{query.decode('latin-1')}")
    assert sent.startswith(f"/{path}?")
    h11.Request(method="GET", target=sent, headers=[("Host", "t")])


@pytest.mark.parametrize(
    "below",
    [
        "/..",
        "/../../admin",
        "/a/../../admin",
        "//../admin",
        "/./../admin",
        "/%2e%2e/admin",
        "/.%2E/admin",
        "/%252e%252e/admin",
        "/%2e%2e%2fadmin",
        "/..%2fadmin",
        "/x%2f..%2f..%2fadmin",
        "/..%252fadmin",
        "/..\\admin",
        "/..%5cadmin",
        "/..%255cadmin",
        "/a\\..\\..\\admin",
        "/..;/admin",
        "/..;x=1/admin",
        "/..%3b/admin",
        "/.;a./../admin",
        "/..%00/admin",
        "/.%09./admin",
        "/..%20/admin",
        "/..%3fx/admin",
        "/..#x",
        "/a%2fb/%2e%2e/%2e%2e/admin",
        "/a/%2e%2e/../admin",
        "/..?x=1",
    ],
)
def test_a_sub_path_that_climbs_out_leaves_the_forward_urls_path(below: str) -> None:
    assert escapes_path(f"/catch/s{below}")
    assert escapes_path(f"http://proxy.example/catch/s{below}")


@pytest.mark.parametrize(
    "below",
    [
        "",
        "/",
        "/a/b",
        "/a/../b",
        "/a/b/../..",
        "/a%2Fb/../c//d",
        "/a%2fb",
        "/...",
        "/..a/b",
        "/a../b",
        "/%",
        "/%zz",
        "/v1;x=1/y",
        "/a?next=/../../admin",
        "/a?../..",
        "?../..",
        "/\xc3\xbc/%C3%BC",
    ],
)
def test_a_sub_path_that_stays_below_is_forwarded(below: str) -> None:
    assert not escapes_path(f"/catch/s{below}")


@given(st.lists(st.sampled_from(["a", "..", ".", "", "%2e%2e", "..;", "%252e", "\\", "%2f", "%5c.."]), max_size=8))
def test_what_is_forwarded_stays_below_however_a_server_reads_it(segments: list[str]) -> None:
    below = "".join("/" + segment for segment in segments)
    if escapes_path("/catch/s" + below):
        return
    for path in (below, unquote(below), unquote(unquote(below))):
        for read in (path, path.replace("\\", "/"), re.sub(r";[^/]*", "", path)):
            assert posixpath.normpath("/hooks/app" + read).startswith("/hooks/app")


def test_a_hostile_sub_path_is_judged_at_once() -> None:
    assert not escapes_path("/catch/s/" + "%25" * 20_000)
    assert escapes_path("/catch/s" + "/a" * 10_000 + "/.." * 10_001)


def test_a_delivery_names_the_url_of_its_first_attempt_as_its_target_is_now() -> None:
    waiting = Delivery(
        id="1",
        capture_id="2",
        endpoint_id=3,
        url="http://t/old",
        state=DeliveryState.QUEUED,
        queued_at=4,
        captured_target="/catch/s/a?b=c",
    )
    whole = factories.target("http://t/in")
    assert waiting.request_url(whole) == "http://t/in/a?b=c"
    assert waiting.request_url(replace(whole, append_path=False)) == "http://t/in?b=c"
    assert waiting.request_url(replace(whole, append_path=False, keep_query=False)) == "http://t/in"
    assert waiting.request_url(None) == "http://t/old"
    assert replace(waiting, attempts=1).request_url(whole) == "http://t/old"
    assert replace(waiting, replay_id="5").request_url(whole) == "http://t/old"


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("3000", "http://localhost:3000"),
        (":3000", "http://localhost:3000"),
        ("3000/hooks?a=1", "http://localhost:3000/hooks?a=1"),
        ("localhost:3000", "http://localhost:3000"),
        ("localhost", "http://localhost"),
        ("localhost/hooks", "http://localhost/hooks"),
        ("127.0.0.1:3000/", "http://127.0.0.1:3000/"),
        ("[::1]:3000", "http://[::1]:3000"),
        ("my_app.test:80?x", "http://my_app.test:80?x"),
    ],
)
def test_what_is_left_out_of_a_url_is_added(typed: str, url: str) -> None:
    assert full_url(typed) == url


@pytest.mark.parametrize(
    "text",
    ["", "http://a", "https://a:1", "shop", "example.com/x", "http:3000", "ftp://a:1", "a b:1", "/x", "a:"],
)
def test_another_text_is_no_shortened_url(text: str) -> None:
    assert full_url(text) == text
