"""Headers: order and letter case kept, found in any letter case."""

from __future__ import annotations

import pytest

from hookline.client import Headers

SENT = Headers([["Host", "a"], ["x-dup", "1"], ["X-Dup", "2"]])


def test_they_are_found_in_any_letter_case() -> None:
    assert SENT["HOST"] == "a"
    assert SENT["X-DUP"] == "1, 2"
    assert SENT.get_all("x-Dup") == ["1", "2"]
    assert "host" in SENT
    assert 7 not in SENT
    assert SENT.get("x-none") is None
    with pytest.raises(KeyError):
        SENT["x-none"]


def test_pairs_are_as_sent_and_names_come_once() -> None:
    assert SENT.pairs == (("Host", "a"), ("x-dup", "1"), ("X-Dup", "2"))
    assert list(SENT) == ["Host", "x-dup"]
    assert len(SENT) == 2
    assert dict(SENT) == {"Host": "a", "x-dup": "1, 2"}


def test_they_are_equal_when_all_pairs_are() -> None:
    same = Headers(SENT.pairs)
    assert (same, hash(same)) == (SENT, hash(SENT))
    assert Headers([("host", "a")]) != Headers([("Host", "a")])
    assert repr(Headers([("A", "b")])) == "Headers([('A', 'b')])"
