"""Values that hold something in another form are decoded; those that only look a little like it are left alone."""

from __future__ import annotations

import base64
import gzip
import json
import random
import string
import time
import zlib

import pytest

from app.core.bodies.values import DECODED_MAX, HEAD, Embedded, decode, may_decode


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"
JSON = '{"a":"b"}'


@pytest.mark.parametrize(
    ("value", "text", "source", "is_json"),
    [
        (' {"a":1}', ' {"a":1}', "JSON in a string", True),
        ("[1,2]", "[1,2]", "JSON in a string", True),
        (b64(JSON.encode()), JSON, "Base64", True),
        (b64(JSON.encode()).rstrip("="), JSON, "Base64", True),
        (b64(b"Hello, world, again"), "Hello, world, again", "Base64", False),
        (b64(b"abcd"), "abcd", "Base64", False),
        (b64(b"hello, world"), "hello, world", "Base64", False),
        (base64.encodebytes(b"Hello, world! " * 20).decode(), "Hello, world! " * 20, "Base64", False),
        (base64.urlsafe_b64encode(b'{"a":"???>>>~~~"}').decode(), '{"a":"???>>>~~~"}', "Base64 (URL-safe)", True),
        (b64("Grüße aus München, bis bald".encode()), "Grüße aus München, bis bald", "Base64", False),
        (b64(gzip.compress(JSON.encode(), mtime=0)), JSON, "Base64, gzip", True),
        (b64(zlib.compress(b"two words")), "two words", "Base64, deflate", False),
        ("Basic " + b64(b"user:pass"), "user:pass", "Base64", False),
        ("data:text/plain;charset=utf-8;base64," + b64(b"Hello"), "Hello", "Base64", False),
        ("%7B%22a%22%3A1%7D", '{"a":1}', "URL encoding", True),
        ("caf%C3%A9", "café", "URL encoding", False),
        (TOKEN, '{"header":{"alg":"HS256"},"payload":{"sub":"1"}}', "JSON Web Token", True),
        ("Bearer " + TOKEN, '{"header":{"alg":"HS256"},"payload":{"sub":"1"}}', "JSON Web Token", True),
    ],
)
def test_what_is_embedded_is_decoded(value: str, text: str, source: str, is_json: bool) -> None:
    found = decode(value)
    assert found is not None
    assert (found.text, found.source, found.is_json) == (text, source, is_json)
    assert may_decode(value)


def test_a_token_says_that_it_is_not_verified() -> None:
    found = decode(TOKEN)
    assert found is not None
    assert "Not verified" in found.note


def test_a_decoded_value_may_hold_another() -> None:
    inner = b64(json.dumps({"token": TOKEN}).encode())
    first = decode(json.dumps({"data": inner}))
    assert first is not None
    second = decode(json.loads(first.text)["data"])
    assert second is not None
    assert decode(json.loads(second.text)["token"]).source == "JSON Web Token"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "administration",
        "internationalization",
        "HelloWorldHelloWorld",
        "ThisIsALongCamelCaseIdentifier",
        "usr/local/share/something",
        "evt_1NabcdefGHIJKLMNOP",
        "20261122",
        "12345678901234567890",
        "deadbeef" * 5,
        "550e8400-e29b-41d4-a716-446655440000",
        "100% sure",
        "a%ffb",
        "a%2",
        "{not json}",
        '"text"',
        "true",
        "a.b.c",
        b64(bytes(range(256))),
        b64(b"\x89PNG\r\n\x1a\n" + bytes(20)),
        b64(gzip.compress(b"\0\1\2\3" * 9, mtime=0)),
        b64(gzip.compress(b"cut short, which is no text", mtime=0)[:-4]),
    ],
)
def test_what_only_looks_like_it_is_left_alone(value: str) -> None:
    assert decode(value) is None
    assert not may_decode(value)


def test_random_ids_are_no_base64() -> None:
    rng = random.Random(5)
    ids = ("".join(rng.choices(string.ascii_letters + string.digits, k=rng.choice((16, 20, 32)))) for _ in range(2_000))
    assert [value for value in ids if decode(value)] == []


def test_what_would_be_too_much_is_refused_quickly() -> None:
    began = time.thread_time()
    assert decode(b64(gzip.compress(b"a" * (DECODED_MAX + 1), 9))) is None
    assert decode("[" * 300_000 + "]" * 300_000) is None
    assert decode("%41" * 300_000 + "\x01") is None
    assert decode("A" * 5_000_000) is None
    assert time.thread_time() - began < 1.0


def test_the_beginning_of_a_long_value_tells_enough_to_offer_it() -> None:
    for value in (b64(b"long text " * 400), json.dumps(list(range(900))), "%20a" * 900):
        assert len(value) > HEAD
        assert may_decode(value)
        assert isinstance(decode(value), Embedded)
    assert not may_decode("words and more words " * 90)
