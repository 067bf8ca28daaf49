"""The headers of a forwarded request."""

from __future__ import annotations

from app.core.model import Headers
from app.server.forward.request import delivery_headers
from tests.factories import capture

OURS = ("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Hookline-Mirror")


def forwarded(headers: Headers, body: bytes = b"") -> Headers:
    return delivery_headers(capture(body, headers=headers, source_address="203.0.113.7"), "target:3000", "me")


def without_ours(headers: Headers) -> Headers:
    assert headers[-1] == ("Connection", "close")
    return tuple(pair for pair in headers[:-1] if pair[0] not in OURS)


def test_order_case_and_duplicates_stay() -> None:
    sent = forwarded((("x-b", "1"), ("X-A", ""), ("X-B", "2"), ("under_score", "\xff"), ("x-b", "3")))
    assert without_ours(sent) == (
        ("Host", "target:3000"),
        ("x-b", "1"),
        ("X-A", ""),
        ("X-B", "2"),
        ("under_score", "\xff"),
        ("x-b", "3"),
    )


def test_the_target_gets_its_own_host_and_learns_the_original() -> None:
    sent = forwarded((("HOST", "hooks.example:8787"),))
    assert [value for name, value in sent if name.lower() == "host"] == ["target:3000"]
    assert ("X-Forwarded-Host", "hooks.example:8787") in sent
    assert ("X-Forwarded-Proto", "http") in sent


def test_headers_of_the_senders_connection_are_dropped() -> None:
    sent = forwarded(
        (
            ("Connection", "close, X-Hop"),
            ("connection", "Other"),
            ("x-hop", "1"),
            ("OTHER", "1"),
            ("Keep-Alive", "timeout=5"),
            ("Proxy-Authorization", "Basic x"),
            ("Proxy-Connection", "keep-alive"),
            ("TE", "trailers"),
            ("Trailer", "x"),
            ("Upgrade", "h2c"),
            ("Expect", "100-continue"),
            ("Authorization", "Bearer kept"),
        )
    )
    assert without_ours(sent) == (("Host", "target:3000"), ("Authorization", "Bearer kept"))


def test_length_stands_where_the_sender_framed_the_body() -> None:
    assert without_ours(forwarded((("A", "1"), ("content-length", "4"), ("B", "2")), b"four"))[1:] == (
        ("A", "1"),
        ("content-length", "4"),
        ("B", "2"),
    )
    assert without_ours(forwarded((("Transfer-Encoding", "chunked"), ("B", "2")), b"four"))[1:] == (
        ("Content-Length", "4"),
        ("B", "2"),
    )


def test_no_length_when_the_sender_gave_none() -> None:
    assert not [name for name, _ in forwarded((("A", "1"),)) if name.lower() == "content-length"]
    assert ("Content-Length", "0") in forwarded((("Content-Length", "0"),))


def test_the_sender_is_appended_to_forwarded_for() -> None:
    assert ("X-Forwarded-For", "203.0.113.7") in forwarded(())
    sent = forwarded((("x-forwarded-for", "a"), ("x-forwarded-for", "b, c")))
    assert [pair for pair in sent if pair[0].lower() == "x-forwarded-for"] == [
        ("x-forwarded-for", "a"),
        ("x-forwarded-for", "b, c, 203.0.113.7"),
    ]


def test_what_a_tunnel_said_of_host_and_scheme_stays() -> None:
    given = (("Host", "127.0.0.1:8787"), ("X-Forwarded-Host", "abc.example"), ("X-Forwarded-Proto", "https"))
    sent = forwarded(given)
    assert [value for name, value in sent if name == "X-Forwarded-Host"] == ["abc.example"]
    assert [value for name, value in sent if name == "X-Forwarded-Proto"] == ["https"]


def test_the_loop_marker_is_added_after_those_of_others() -> None:
    sent = forwarded((("X-Hookline-Mirror", "another"),))
    assert [value for name, value in sent if name == "X-Hookline-Mirror"] == ["another", "me"]
