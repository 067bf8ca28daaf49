"""What lists say of a request whose event nobody knows: what came, in a few words, bounded and with nothing hidden."""

from __future__ import annotations

import gzip
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies import gist as module
from app.core.bodies.escape import escape
from app.core.bodies.gist import gist
from app.core.bodies.gist_json import GIST_MAX, TOKENS_MAX
from tests.codings import zeros_brotli
from tests.core.gist.samples import FORM, JSON, KINDS, ORDER, Kind

NUMBERED = [pytest.param(kind, id=f"{number}-{kind.gist}") for number, kind in enumerate(KINDS)]


def gist_of(kind: Kind, data: bytes | None = None, *, complete: bool = True) -> str:
    body = kind.body if data is None else data
    size = kind.size or len(kind.body)
    return gist(kind.method, kind.target, kind.all_headers, kind.type, body, size=size, complete=complete)


@pytest.mark.parametrize("kind", NUMBERED)
def test_each_kind_says_what_it_is(kind: Kind) -> None:
    assert gist_of(kind) == kind.gist


@pytest.mark.parametrize("kind", NUMBERED)
def test_what_is_cut_anywhere_still_says_something(kind: Kind) -> None:
    for at in range(0, min(len(kind.body), 400), 7):
        for said in (gist_of(kind, kind.body[:at]), gist_of(kind, kind.body[:at], complete=False)):
            assert 0 < len(said) <= GIST_MAX
            assert said not in ("/", "")


def test_what_senders_write_is_shown_on_one_line_with_nothing_hidden() -> None:
    body = json.dumps({"a\u202egpj": 1, "b\nc\x1b[31m": 2}).encode()
    assert gist_of(Kind("", body)) == "JSON · a\\u202egpj, b\\nc\\x1b[31m"
    body = json.dumps({"\u202e" * 40: 1, "b": 2}).encode()
    said = gist_of(Kind("", body))
    assert said.startswith("JSON · \\u202e\\u202e")
    assert said.endswith("\\u202e…")
    assert len(said) <= GIST_MAX
    long = gist_of(Kind("", json.dumps({"event": "x" * 60, **{"k" * 39 + str(n): n for n in range(9)}}).encode()))
    assert len(long) <= GIST_MAX
    assert long.startswith(f"{'x' * 60} · JSON · event, kkk")


def test_a_body_says_the_same_whether_its_names_were_seen_before() -> None:
    module._kind.cache_clear()
    for _ in range(2):
        assert gist_of(Kind("", ORDER)) == "JSON · id, total, items"


texts = st.sampled_from([kind.type for kind in KINDS]) | st.text(max_size=40)
bodies = st.binary(max_size=300) | st.sampled_from([kind.body for kind in KINDS])
targets = st.sampled_from(["/catch/x", "/catch/x/a?b=c&d"]) | st.text(max_size=40)


@given(
    st.tuples(st.sampled_from(["GET", "POST", "OPTIONS"]), targets),
    st.lists(st.tuples(st.sampled_from(["Content-Encoding", "Access-Control-Request-Method"]), st.text(max_size=12))),
    texts,
    st.builds(lambda body, cut, junk: body[:cut] + junk, bodies, st.integers(0, 300), st.binary(max_size=10)),
    st.booleans(),
)
def test_nothing_that_is_sent_is_a_mistake(
    line: tuple[str, str], headers: list[tuple[str, str]], content_type: str, body: bytes, complete: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.log, "exception", pytest.fail)
        said = gist(*line, tuple(headers), content_type, body, size=len(body), complete=complete)
    assert 0 < len(said) <= GIST_MAX
    assert said == escape(said)
    assert said.encode()


def test_a_mistake_loses_no_request(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object, **__: object) -> str:
        raise RuntimeError

    monkeypatch.setattr("app.core.bodies.gist_formats.of_body", fail)
    assert gist_of(Kind("", b"hello", type="text/plain")) == "binary · 5 B"
    assert "could not be described" in caplog.text


MEBI = 1024 * 1024
BOMBS = {
    "quotes": Kind("", b'{"' + b'\\"' * (MEBI // 2)),
    "open strings": Kind("", b'{"a":"' + b'"\\' * (MEBI // 2)),
    "brackets": Kind("", b"[" * MEBI),
    "braces": Kind("", b'{"a":' * (MEBI // 5)),
    "names": Kind("", b"{" + b'"a":1,' * (MEBI // 6) + b'"b":2}'),
    "deep": Kind("", b'{"a":' * (MEBI // 6) + b"1" + b"}" * (MEBI // 6), type=JSON),
    "angles": Kind("", b"<" * MEBI, type="text/xml"),
    "tags": Kind("", b"<a '" * (MEBI // 4), type="text/xml"),
    "comments": Kind("", b"<!--" * (MEBI // 4), type="text/xml"),
    "titles": Kind("", b"<title" * (MEBI // 6), type="text/html"),
    "scripts": Kind("", b"<html><script" * (MEBI // 13), type="text/html"),
    "fields": Kind("", b"a=b&" * (MEBI // 4), type=FORM),
    "parts": Kind("", b"--x\n" * (MEBI // 4), type="multipart/mixed; boundary=x"),
    "lines": Kind("", b"{}\n" * (MEBI // 3), type="application/x-ndjson"),
    "columns": Kind("", b'",' * (MEBI // 2), type="text/csv"),
    "spaces": Kind("", b" " * MEBI, type="text/plain"),
    "margins": Kind("", b"a" * MEBI, type="application/yaml"),
    "dots": Kind("", b"ey." * (MEBI // 3), type="application/jwt"),
    "markers": Kind("", b"\xff\xd8" + b"\xff" * MEBI, type="image/jpeg"),
    "entries": Kind("", b"PK\x03\x04" * (MEBI // 4), type="application/zip"),
    "numbers": Kind("", b"\x08\x01" * (MEBI // 2), type="application/protobuf"),
    "maps": Kind("", b"\x81" * MEBI, type="application/msgpack"),
    "gzip": Kind("", gzip.compress(b"[" * 64 * MEBI, 1), headers=(("Content-Encoding", "gzip"),)),
    "brotli": Kind("", zeros_brotli(64 * MEBI), headers=(("Content-Encoding", "br"),)),
    "query": Kind("", type=JSON, method="GET", below="?" + "a=b&" * 16_000),
}


@pytest.mark.parametrize("name", BOMBS)
def test_no_body_takes_long(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first part of 1 MiB within a blink; one that goes back to where it was takes seconds or hours."""
    monkeypatch.setattr(module.log, "exception", pytest.fail)
    gist_of(Kind("", b"<a>hello</a>", type="text/xml"))
    began = time.process_time()
    assert gist_of(BOMBS[name])
    assert time.process_time() - began < 0.1


@pytest.mark.parametrize(("number", "more"), [(10, ", b"), (TOKENS_MAX, "")])
def test_names_are_looked_for_near_the_beginning(number: int, more: str) -> None:
    broken = b'{"a":[' + b"1," * number + b'1],"b":1,'
    assert gist_of(Kind("", broken)) == f"invalid JSON · a{more}, …"
    assert gist_of(Kind("", b"<r>" + b"<a/>" * number + b"<b/></r>")) == f"XML · r · a{more}"


def test_the_usual_body_costs_microseconds() -> None:
    body = json.dumps({"event": "order.paid", "id": 123456789, "note": "x" * 360}).encode()
    headers = (("Host", "x"), ("Content-Type", JSON))
    best = 1.0
    for _ in range(20):
        began = time.thread_time()
        for _ in range(200):
            gist("POST", "/catch/x", headers, JSON, body, size=len(body))
        best = min(best, (time.thread_time() - began) / 200)
    assert best < 30e-6
