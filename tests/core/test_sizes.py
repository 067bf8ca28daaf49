"""Sizes as they are typed, and limits that read back the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model import StorageUse
from app.core.settings import TOTAL_LIMIT_MIN, Settings, check, first_storage_limit
from app.core.sizes import GIB, LARGEST, MIB, TIB, exact_size, parse_size
from app.core.text import limit_text, use_text


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("512", 512),
        ("512 B", 512),
        ("500 MB", 500_000_000),
        ("500mb", 500_000_000),
        ("1.5 GiB", GIB + GIB // 2),
        ("2t", 2 * 10**12),
        ("3 TiB", 3 * TIB),
        *(
            (text, None)
            for text in ("", "-1", "1e9", "MB", "5 XB", "1 PB", "5  MB", "1,5 GB", "9" * 15 + " TB", "\u0661")
        ),
    ],
)
def test_a_size_is_read_as_people_write_it(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@given(st.integers(min_value=0, max_value=LARGEST - 1))
def test_every_size_up_to_15_digits_reads_back_the_same(size: int) -> None:
    if size < 10**15:
        assert parse_size(exact_size(size)) == size


@given(st.integers(min_value=1, max_value=9_999), st.sampled_from([MIB, GIB, TIB, 10**6, 10**9, 10**12]))
def test_round_sizes_stay_short_and_read_back_the_same(number: int, unit: int) -> None:
    text = exact_size(number * unit)
    assert parse_size(text) == number * unit
    assert len(text) <= 8


def test_use_is_told_in_binary_units_and_a_limit_as_it_was_typed() -> None:
    assert use_text(1_200_000_000, 20 * 10**9) == "1.1 GiB of 20 GB"
    assert use_text(GIB + GIB // 5, 20 * GIB) == "1.2 GiB of 20 GiB"
    assert use_text(1_200_000_000, None) == "1.1 GiB"


def test_what_happens_at_a_limit_says_what_to_do() -> None:
    use = StorageUse(used=GIB, limit=GIB, when_full="stop_capturing", reached=True)
    assert limit_text(None, use) == (
        "The storage limit (1 GiB) is reached: requests are not captured.",
        "Senders get 503. Delete requests, or raise the limit in Settings.",
    )


def test_a_first_start_takes_half_of_what_is_free_and_20_gib_at_most() -> None:
    assert first_storage_limit(10**13) == 20 * GIB
    assert first_storage_limit(11 * GIB) == 5 * GIB
    assert first_storage_limit(GIB) == 512 * MIB
    assert first_storage_limit(0) == TOTAL_LIMIT_MIN
    assert check(Settings(storage_limit=first_storage_limit(0))) == []
    assert first_storage_limit(GIB, 3 * GIB) >= 3 * GIB + 3 * GIB // 8
    assert first_storage_limit(0, 30 * GIB) >= 30 * GIB + 30 * GIB // 8
    assert check(Settings(storage_limit=None)) == []
