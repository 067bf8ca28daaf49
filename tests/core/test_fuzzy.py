"""What a few letters find, and what they rather find."""

from __future__ import annotations

import random
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core import fuzzy
from app.core.fuzzy import TEXT_MAX, match


def marked(wanted: str, text: str) -> str:
    """The text with what was found of it in brackets."""
    found = match(wanted, text)
    assert found is not None
    return "".join(f"[{c}]" if position in found.positions else c for position, c in enumerate(text))


def order(wanted: str, *texts: str) -> list[str]:
    """The texts that fit, the best first."""
    found = [(made.score, text) for text in texts if (made := match(wanted, text)) is not None]
    return [text for _, text in sorted(found, key=lambda one: -one[0])]


@pytest.mark.parametrize(
    ("wanted", "text", "shown"),
    [
        ("set", "Settings", "[S][e][t]tings"),
        ("cu", "Copy URL", "[C]opy [U]RL"),
        ("curl", "Copy as curl", "Copy as [c][u][r][l]"),
        ("tgl", "Toggle chart", "[T]og[g][l]e chart"),
        ("ap", "openApi Page", "open[A][p]i Page"),
        ("cafe", "Café", "[C][a][f][é]"),
        ("café", "CAFE\u0301 x", "[C][A][F][E]\u0301 x"),
        ("strasse", "Straße 7", "[S][t][r][a][ß][e] 7"),
        ("lodz", "Łódź", "[Ł][ó][d][ź]"),
        ("ЖЮЩ", "жющ", "[ж][ю][щ]"),
        ("h7", "hooks 7", "[h]ooks [7]"),
    ],
)
def test_which_letters_are_found(wanted: str, text: str, shown: str) -> None:
    assert marked(wanted, text) == shown


@pytest.mark.parametrize(
    ("wanted", "text"),
    [("x", "Settings"), ("tes", "Set"), ("se ting x", "Settings"), ("e", "Settings"), ("ein", "Settings page")],
)
def test_what_does_not_fit(wanted: str, text: str) -> None:
    """Letters that are not there, in another order, or scattered inside words."""
    assert match(wanted, text) is None


@pytest.mark.parametrize(
    ("wanted", "texts"),
    [
        ("re", ["Refused", "All requests", "Score"]),
        ("stripe", ["Stripe", "Stripe test", "My Stripe test"]),
        ("all", ["All requests", "Mark all as read", "Smaller"]),
        ("cu", ["curl", "Copy URL", "Focus"]),
        ("abd", ["abxd", "a bxd"]),
    ],
)
def test_what_comes_first(wanted: str, texts: list[str]) -> None:
    """The start of the text, then of a word, then what stands together; the shorter of two that are alike."""
    assert order(wanted, *reversed(texts)) == texts


def test_words_are_found_in_any_order_and_elsewhere_as_they_are() -> None:
    both = match("url copy", "Copy URL")
    assert both is not None
    assert both.positions == (0, 1, 2, 3, 5, 6, 7)
    assert match("endpoint copy", "Copy URL", ["Endpoint"]) is not None
    assert match("edpt copy", "Copy URL", ["Endpoint"]) is None
    assert match("q7f3", "Stripe", ["aq7f3x"]) is not None
    assert match("q7", "Stripe", ["aq7f3x"]) is None, "two letters inside a random slug mean nothing"


def test_nothing_wanted_fits_everything() -> None:
    for wanted in ("", "  ", "\u0301"):
        found = match(wanted, "Settings")
        assert found is not None
        assert found.positions == ()


def test_any_text_gives_places_inside_it_in_order() -> None:
    chance = random.Random(5)
    letters = string.ascii_letters + "  -_." + "äßøİ\u0301\u202e\U0001f600ﬁ"
    hits = 0
    for _ in range(2_000):
        text = "".join(chance.choices(letters, k=chance.randrange(30)))
        wanted = "".join(text[position] for position in sorted(chance.sample(range(len(text)), min(3, len(text)))))
        found = match(wanted, text)
        if found is None:
            continue
        hits += bool(found.positions)
        assert list(found.positions) == sorted(set(found.positions))
        assert all(0 <= position < len(text) for position in found.positions)
        plain = unicodedata.normalize("NFKD", wanted).casefold().split()
        assert found.positions or not "".join(plain) or all(map(unicodedata.combining, "".join(plain)))
    assert hits > 500


@given(st.text(alphabet="abZ 19-_.", max_size=40))
def test_plain_letters_are_folded_as_all_others(text: str) -> None:
    among_others = fuzzy.fold(f"{text}\u00e4")
    plain = fuzzy.fold(text)
    assert among_others.letters == f"{plain.letters}a"
    assert among_others.at[:-1] == plain.at
    assert among_others.starts[:-1] == plain.starts


@given(st.text(alphabet="ab ", max_size=80), st.text(alphabet="xab ", max_size=250))
def test_however_absurd_only_so_much_is_compared(wanted: str, text: str) -> None:
    compared = []
    real = fuzzy._score_table

    def table(word: str, inside: fuzzy.Folded) -> tuple[list[int], list[list[int]]]:
        compared.append(len(word) * len(inside.letters))
        return real(word, inside)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fuzzy, "_score_table", table)
        match(wanted, text)
    assert sum(compared) <= fuzzy.STEPS_MAX


def test_a_long_word_is_found_as_it_stands_in_a_long_text() -> None:
    text, word = f"{'s-t-r ' * 20}production-webhooks", "production-webhooks"
    assert match(word, text) is not None
    assert match(word.replace("-", ""), text) is None
    assert match("prodhooks", "Production webhooks") is not None


def test_a_very_long_text_is_read_to_a_bound() -> None:
    assert match("zz", "a" * TEXT_MAX + " zz") is None
    assert match("aaaa" * 1_000, "a" * 100_000) is not None
