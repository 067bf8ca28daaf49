"""Whatever lawful request is sent, the record of it is the request."""

from __future__ import annotations

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.model import METHODS
from app.core.raw_request import slug_of
from tests.server.capture.support import OwnLoop

NAMES = st.text(string.ascii_letters + string.digits + "!#$%&'*+-.^_`|~", min_size=1, max_size=12).map("X-{}".format)
VALUES = st.text([chr(n) for n in range(256) if n >= 32 and n != 127] + ["\t"], max_size=30).map(
    lambda text: text.strip(" \t")
)
TAILS = st.text([chr(n) for n in range(0x21, 0x7F)], max_size=40)
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=8)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(METHODS),
    tail=TAILS.flatmap(lambda text: st.sampled_from(["", "/" + text, "?" + text])),
    headers=HEADERS,
    body=st.binary(max_size=3_000),
    chunks=st.lists(st.integers(1, 900), max_size=5),
)
def test_the_record_is_the_request(  # noqa: PLR0917 - hypothesis draws them
    own_loop: OwnLoop, method: str, tail: str, headers: list[tuple[str, str]], body: bytes, chunks: list[int]
) -> None:
    target = "/catch/orders" + tail
    sent = [("Host", "x"), *headers]
    if chunks:
        sent.append(("Transfer-Encoding", "chunked"))
        wire = in_chunks(body, chunks)
    else:
        sent.append(("Content-Length", str(len(body))))
        wire = body
    head = "".join([f"{method} {target} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in sent), "\r\n"])
    answer = own_loop.runner.run(own_loop.rig.ask(head.encode("latin-1") + wire, bodiless=method == "HEAD"))
    record = own_loop.rig.sink.last
    assert answer.status == 200
    assert (record.method, record.target, record.headers) == (method, target, tuple(sent))
    assert own_loop.rig.sink.last_body == body
    assert record.complete
    own_loop.rig.senders.clear()


def in_chunks(body: bytes, sizes: list[int]) -> bytes:
    """`body` in chunks of these sizes, the last of them again and again, as they go over the wire."""
    wire, rest, sizes = b"", body, list(sizes)
    while rest:
        size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
        wire += b"%x\r\n%b\r\n" % (len(rest[:size]), rest[:size])
        rest = rest[size:]
    return wire + b"0\r\n\r\n"


@given(slug=st.from_regex(r"[a-z0-9-]{1,64}", fullmatch=True), tail=TAILS)
def test_a_slug_ends_where_the_path_goes_on_or_the_query_begins(slug: str, tail: str) -> None:
    for base in ("", "http://h.test:1", "HTTPS://h"):
        for target in (f"/catch/{slug}", f"/catch/{slug}/{tail}", f"/catch/{slug}?{tail}"):
            assert slug_of(base + target) == slug


@given(target=st.text([chr(n) for n in range(0x21, 0x7F)], max_size=60))
def test_only_a_capture_path_has_a_slug(target: str) -> None:
    slug = slug_of(target)
    assert slug is None or f"/catch/{slug}" in target
