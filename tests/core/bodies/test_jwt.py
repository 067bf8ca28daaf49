"""Tokens are found wherever they stand, taken apart, and told of in words that promise nothing."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.format_registry import ranked
from app.core.bodies.formats import jwt
from app.core.bodies.formats.jwt import NOT_VERIFIED, token_lines
from tests.core.bodies.format_lines import formatted, texts
from tests.core.bodies.wire import token

NOON = int(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp())
TOKEN = token({"sub": "1234567890123456789012", "iat": NOON - 7_200, "exp": NOON - 3_600})


def tokens(text: str) -> list[jwt.JwtToken]:
    return [found for _, found in jwt.tokens_in([("", text)])]


@pytest.mark.parametrize(
    "text",
    [
        TOKEN,
        f"Bearer {TOKEN}",
        f"bearer {TOKEN}  ",
        f"session={TOKEN}; theme=dark",
        f'{{"token":"{TOKEN}","again":"{TOKEN}"}}',
        f"({TOKEN})",
    ],
)
def test_a_token_is_found_in_what_holds_it(text: str) -> None:
    (found,) = tokens(text)
    assert (found.text, found.algorithm, found.claims["exp"]) == (TOKEN, "HS256", NOON - 3_600)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "eyJhbGciOiJIUzI1NiJ9",
        "eyJub3QiOiJhbGcifQ.e30.x",
        "eyJhbGciOiJIUzI1NiJ9.e30",
        f"{TOKEN}.x",
        "ey.ey.ey",
        f"x{TOKEN}",
    ],
)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert tokens(text) == []


def test_an_encrypted_one_has_a_header_only() -> None:
    header = base64.urlsafe_b64encode(b'{"alg":"RSA-OAEP","enc":"A256GCM"}').rstrip(b"=").decode()
    (found,) = tokens(f"{header}.a2V5.aXY.dGV4dA.dGFn")
    assert (found.encrypted, found.payload) == (True, None)
    assert token_lines(found, None)[-1].text == "Encrypted: readable only with the key."


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"exp": NOON - 3 * 3_600}, "exp  2026-11-20 09:00:00 UTC: expired 3 hours before it arrived"),
        ({"exp": NOON + 60}, "exp  2026-11-20 12:01:00 UTC: expires 1 minute after it arrived"),
        ({"iat": NOON - 5.5}, "iat  2026-11-20 11:59:54 UTC: issued 5 seconds before it arrived"),
        ({"nbf": NOON + 86_400 * 2}, "nbf  2026-11-22 12:00:00 UTC: is valid from 2 days after it arrived"),
        ({"nbf": NOON}, "nbf  2026-11-20 12:00:00 UTC: is valid from as it arrived"),
    ],
)
def test_times_are_told_against_the_arrival(claims: dict[str, float], words: str) -> None:
    (found,) = tokens(token(claims))
    assert token_lines(found, NOON * 1_000_000)[0].text == words


@pytest.mark.parametrize("value", ["soon", True, None, 1e300, 10**30, -(10**30), [1]])
def test_times_that_are_none_are_left_alone(value: object) -> None:
    (found,) = tokens(token({"exp": value}))
    assert token_lines(found, NOON * 1_000_000)[0].text == "Header"


def test_header_and_payload_are_shown_as_they_were_written() -> None:
    header = base64.urlsafe_b64encode(b'{"alg":"none","x":1.10}').rstrip(b"=").decode()
    payload = base64.urlsafe_b64encode('{"n":12345678901234567890,"t":"\u202e"}'.encode()).rstrip(b"=").decode()
    (found,) = tokens(f"{header}.{payload}.")
    assert [line.text for line in token_lines(found, None)] == [
        *("Header", "{", '  "alg": "none",', '  "x": 1.10', "}", ""),
        *("Payload", "{", '  "n": 12345678901234567890,', '  "t": "\\u202e"', "}"),
    ]


def test_a_body_has_the_same_lines_as_a_token_elsewhere() -> None:
    (found,) = tokens(TOKEN)
    assert formatted(jwt.write, f"{TOKEN}\n")[0] == token_lines(found, None)


def test_a_body_that_is_a_token_is_shown_as_one() -> None:
    assert ranked("application/jwt", b"")[0].name == "jwt"
    assert ranked("application/secevent+jwt", b"")[0].name == "jwt"
    assert ranked("text/plain", TOKEN.encode() + b"\n")[0].name == "jwt"
    reader = BodyReader((), "application/jwt")
    reader.feed(TOKEN.encode(), True)
    said = [line.text for line in reader.lines(3_000)]
    assert '  "sub": "1234567890123456789012",' in said
    assert reader.notes == [NOT_VERIFIED]
    lines, wrong = formatted(jwt.write, "no token\nat all")
    assert [line.text for line in lines] == ["no token", "at all"]
    assert "three Base64 parts" in (wrong.error or "")


def test_tokens_of_a_request_stand_where_they_were_met_first() -> None:
    other = token({"sub": "other"})
    places = [("Authorization header", f"Bearer {TOKEN}"), ("the body", f'["{TOKEN}","{other}"]')]
    assert [(place, found.text) for place, found in jwt.tokens_in(places)] == [
        ("Authorization header", TOKEN),
        ("the body", other),
    ]
    assert len(jwt.tokens_in([("the body", " ".join(token({"n": n}) for n in range(100)))])) == jwt.TOKENS_MAX


@given(
    st.text(st.sampled_from("eyJ.aA0-_{}\"' \n"), max_size=200)
    | st.binary(max_size=90).map(lambda raw: f"eyJhbGciOjF9.{raw.decode('latin-1')}.x")
)
def test_any_text_is_borne(text: str) -> None:
    lines = texts(jwt.write, text)
    for found in tokens(text):
        lines += [line.text for line in token_lines(found, 0)]
    assert {char for line in lines for char in line if char < " "} <= {"\t"}


def test_deep_and_long_ones_are_borne() -> None:
    deep = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 20_000).rstrip(b"=").decode()
    assert tokens(f"{deep}.e30.x") == []
    assert tokens("eyJ" + "a" * 5_000_000) == []
    assert tokens("eyJa." * 1_000_000) == []
