"""A text is found where a character of the body begins, in charsets of several bytes too. A view marks a word as
senders write it, and nothing that is no spelling of it."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.search.body_search import BodySearch, Encoding, base64_matches, encodings_of, may_be_encoded, pattern_of


@pytest.mark.parametrize(("charset", "width"), [("utf-8", 1), ("utf-16-le", 2), ("utf-32-le", 4)])
def test_a_text_begins_where_a_character_does(charset: str, width: int) -> None:
    assert BodySearch(charset, "a").search("bb\u6100a".encode(charset)) == [len("bb\u6100".encode(charset))]
    assert BodySearch(charset, "a", begin=width).search("ba".encode(charset)) == [2 * width]


def found(word: str, text: str, *written: Encoding) -> list[str]:
    pattern = pattern_of([word], written)
    return pattern.findall(text) if pattern is not None else []


@pytest.mark.parametrize(
    ("word", "text", "written", "marked"),
    [
        ("zo\u00eb", r"zo\u00eb ZO\u00CB zo\\u00eb zo\u00e9", "json", [r"zo\u00eb", r"ZO\u00CB", r"zo\\u00eb"]),
        ("\U0001f600", r"\ud83d\ude00 \\ud83d\\ude00 \ud83d", "json", [r"\ud83d\ude00", r"\\ud83d\\ude00"]),
        ("https://x", r"https:\/\/x", "json", [r"https:\/\/x"]),
        ("C:\\new", r"C:\\new C:\new", "json", [r"C:\\new", r"C:\new"]),
        ('say "hi"', r"say \"hi\"", "json", [r"say \"hi\""]),
        ("+1 555", "%2B1+555 +1%20555", "form", ["%2B1+555", "+1%20555"]),
        ("a b", "a+b", "percent", []),
        ("caf\u00e9", "caf%E9", "form", ["caf%E9"]),
        ("caf\u00e9", "caf%c3%a9 CAF%C3%89", "percent", ["caf%c3%a9", "CAF%C3%89"]),
        ("caf\u00e9", "caf=C3=A9 caf=E9 ca=\nf=C3=A9", "mail", ["caf=C3=A9", "caf=E9", "ca=\nf=C3=A9"]),
        ("a.b", "axb a.b", "json", ["a.b"]),
    ],
)  # fmt: skip
def test_what_is_marked(word: str, text: str, written: Encoding, marked: list[str]) -> None:
    assert found(word, text, written) == marked


@given(word=st.text('aZ\u00eb\u0130\u00df\U0001f600"\\/ +%\n\x00', min_size=1, max_size=5))
def test_every_way_to_write_a_word_is_marked(word: str) -> None:
    in_json = json.dumps(word)[1:-1]
    assert found(word, f"x{in_json}y", "json") == [in_json]
    twice = json.dumps(in_json)[1:-1]
    assert found(word, f"x{twice}y", "json") == [twice]
    assert found(word, f"!{quote_plus(word)}!", "form") == [quote_plus(word)]
    assert found(word, f"!{quote(word, safe='')}!", "percent") == [quote(word, safe="")]
    assert found(word, word) == [word]


def test_which_notations_a_body_may_be_in() -> None:
    assert encodings_of("application/x-www-form-urlencoded; charset=x") == ("json", "form")
    assert encodings_of("", ["form", "text"]) == ("json", "form")
    assert encodings_of("message/rfc822") == ("json", "mail")
    assert encodings_of("application/json") == ("json",)
    assert may_be_encoded("a=b+c", ("form",))
    assert not may_be_encoded("a=b+c", ("json",))


@pytest.mark.parametrize(
    ("charset", "sent"), [("utf-8", r"zo\u00EB"), ("utf-16-le", r"zo\u00cb"), ("latin-1", "zo\u00eb")]
)
def test_beyond_what_is_shown_escapes_are_found_too(charset: str, sent: str) -> None:
    search = BodySearch(charset, "zo\u00eb", 0, ("json",))
    assert search.search(("... " + sent).encode(charset)) == [4 * len("x".encode(charset))]


HEAD = "--b\ncontent-transfer-encoding: BASE64\nContent-Type: text/plain\n\n"


@pytest.mark.parametrize(
    ("sent", "word", "marked"),
    [
        ("a zo\u00eb b".encode(), "ZO\u00eb", b"zo\xc3\xab"),
        ("a zo\u00eb b".encode("latin-1"), "\u00eb", b"\xeb"),
        ("\U0001f600 zo\u00eb".encode() * 30, "zo\u00eb", b"zo\xc3\xab"),
        (b"", "a", None),
        (b"nothing", "a", None),
    ],
)
def test_in_base64_the_characters_that_stand_for_a_word_are_marked(
    sent: bytes, word: str, marked: bytes | None
) -> None:
    text = "before\n" + HEAD + base64.encodebytes(sent).decode()
    pattern = pattern_of([word], ("json", "mail"))
    assert pattern is not None
    places = list(base64_matches(text, pattern))
    if marked is None:
        assert places == []
        return
    assert len(places) == sent.count(marked)
    inside = {at for begin, end in places for at in range(begin, end)}
    start = text.index(HEAD) + len(HEAD)
    for kept, there in ((inside, True), ({*range(len(text))} - inside, False)):
        digits = [sign if at in kept else "A" for at, sign in enumerate(text) if at >= start and sign != "\n"]
        assert (marked in base64.b64decode("".join(digits)[: len(digits) // 4 * 4].replace("=", "A"))) is there


@pytest.mark.parametrize("text", [HEAD + "A", HEAD + "A===", HEAD, HEAD * 2_000, HEAD + "QUFB" * 100_000])
def test_broken_or_endless_base64_is_left_alone(text: str) -> None:
    pattern = pattern_of(["zo\u00eb"], ("mail",))
    assert pattern is not None
    assert list(base64_matches(text, pattern)) == []
