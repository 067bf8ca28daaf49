"""The headers of a forwarded request."""

from __future__ import annotations

from typing import Any

from app.core.record import Headers
from app.server.forward.request import delivery_headers, edited_headers
from tests.factories import capture, target

OURS = ("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Hookline-Forwarded-By")


def forwarded(headers: Headers, body: bytes = b"", **rules: Any) -> Headers:
    """To a target with these rules."""
    made = capture(body, headers=headers, source_address="203.0.113.7")
    to = target("http://target:3000", **rules)
    return delivery_headers(made, to, "target:3000", "me", size=len(body), number=1)


def without_ours(headers: Headers) -> Headers:
    return tuple(pair for pair in headers if pair[0] not in OURS)


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
    sent = forwarded((("X-Hookline-Forwarded-By", "another"),))
    assert [value for name, value in sent if name == "X-Hookline-Forwarded-By"] == ["another", "me"]


def changed(headers: Headers, **rules: Any) -> list[tuple[str, str]]:
    return list(forwarded(headers, **rules))


def test_headers_are_removed_then_set_then_added() -> None:
    sent = changed(
        (("A", "1"), ("b", "1"), ("C", "1"), ("B", "2")),
        remove_headers=("c", "x-forwarded-for", "X-Forwarded-Proto"),
        set_headers=(("B", "mine"), ("C", "new")),
        add_headers=(("a", "2"),),
    )
    assert sent == [
        ("Host", "target:3000"),
        ("A", "1"),
        ("B", "mine"),
        ("C", "new"),
        ("a", "2"),
        ("X-Hookline-Forwarded-By", "me"),
    ]


def test_a_header_can_be_set_to_several_values() -> None:
    sent = changed((("A", "1"), ("B", "1")), set_headers=(("a", "x"), ("a", "y")))
    assert sent[:4] == [("Host", "target:3000"), ("a", "x"), ("a", "y"), ("B", "1")]


def test_host_of_the_sender_or_as_set() -> None:
    given = (("Host", "hooks.example"),)
    assert changed(given, host="sender")[0] == ("Host", "hooks.example")
    assert changed((), host="sender")[0] == ("Host", "target:3000")
    assert changed(given, set_headers=(("host", "other.example"),))[0] == ("host", "other.example")


def test_framing_and_the_loop_header_cannot_be_changed() -> None:
    rules = (("Content-Length", "9"), ("Transfer-Encoding", "chunked"), ("X-Hookline-Forwarded-By", "x"))
    names = tuple(name for name, _ in rules)
    sent = changed((("content-length", "0"),), remove_headers=names, set_headers=rules, add_headers=rules)
    assert sent[1] == ("content-length", "0")
    assert [value for name, value in sent if name in names] == ["me"]


def test_edited_headers_are_sent_as_given() -> None:
    given = (("host", "x"), ("Connection", "keep-alive"), ("content-length", "999"), ("TE", "trailers"))
    assert edited_headers(given, "target:3000", "me", 5) == (
        ("host", "x"),
        ("Connection", "keep-alive"),
        ("content-length", "5"),
        ("TE", "trailers"),
        ("X-Hookline-Forwarded-By", "me"),
    )
    assert edited_headers((), "target:3000", "me", 5)[:2] == (("Host", "target:3000"), ("Content-Length", "5"))
