"""The start of a response, whatever bytes it is made of."""

from __future__ import annotations

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.server.forward.exchange import HEAD_MAX, MalformedResponseError, take_head

HEADER_LINES = (
    *(b"A: b", b"a:b", b"X:", b" folded", b"No colon", b": x", b"B\xe9: 1", b"C: \xff"),
    *(b"Content-Length: 3", b"Content-Length: 03", b"content-length:4", b"Transfer-Encoding: chunked"),
    b"Connection: close",
)
LINES = st.lists(st.sampled_from(HEADER_LINES), max_size=5)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_head_or_malformed_or_incomplete(data: bytes) -> None:
    for given_bytes in (data, b"HTTP/1.1 200 OK\r\n" + data + b"\r\n\r\n"):
        try:
            take_head(bytearray(given_bytes), "POST")
        except MalformedResponseError as error:
            assert str(error)  # noqa: PT017


@given(LINES, st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.0 404", b"HTTP/1.1 299 "]))
def test_what_h11_accepts_is_read_the_same(lines: list[bytes], status: bytes) -> None:
    data = b"\r\n".join([status, *lines, b"", b""])
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method="POST", target="/", headers=[("Host", "x"), ("Content-Length", "0")]))
    reader.send(h11.EndOfMessage())
    reader.receive_data(data)
    try:
        event = reader.next_event()
    except h11.RemoteProtocolError:
        return
    assert isinstance(event, h11.Response)
    head = take_head(bytearray(data), "POST")
    assert head is not None
    assert (head.status, head.version.encode()) == (event.status_code, event.http_version)
    expected = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers.raw_items()]
    if b" folded" not in lines and len(set(lines)) == len(lines):  # h11 joins equal lengths
        assert list(head.headers) == expected


@pytest.mark.parametrize("value", ["short", "long " * 100])
def test_a_line_that_came_before_is_read_the_same(value: str) -> None:
    data = f"HTTP/1.1 200 OK\r\nX-Note:  {value} \r\nCONTENT-length: 3\r\n\r\n".encode()
    first, second = (take_head(bytearray(data), "POST") for _ in range(2))
    assert first == second
    assert first is not None
    assert first.headers == (("X-Note", value.strip()), ("CONTENT-length", "3"))
    assert first.length == 3


def test_what_follows_a_head_stays() -> None:
    buffer = bytearray(b"HTTP/1.1 204 x\r\nA: 1\r\n\r\nrest")
    head = take_head(buffer, "GET")
    assert head is not None
    assert (head.headers, bytes(buffer)) == ((("A", "1"),), b"rest")


@pytest.mark.parametrize("end", [b"", b"\0"])
def test_a_header_of_blanks_is_read_in_one_pass(end: bytes) -> None:
    data = bytearray(b"HTTP/1.1 200 OK\r\nA:" + b" " * (HEAD_MAX - 100) + end + b"\r\n\r\n")
    if end:
        with pytest.raises(MalformedResponseError, match="illegal header line"):
            take_head(data, "GET")
    else:
        head = take_head(data, "GET")
        assert head is not None
        assert head.headers == (("A", ""),)
