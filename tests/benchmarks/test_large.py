"""The benchmark of a large store works, and keeps its store between runs; its numbers are for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.large import SEARCHES, main


def test_it_measures_every_search_and_keeps_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--rows", "2500", "--folder", str(tmp_path)]
    assert main(arguments) == 0
    first = capsys.readouterr().out
    assert "2,500 requests made" in first
    assert all(name in first for name, _, _ in SEARCHES)
    for name in ("new request", "halfway", "oldest request"):
        assert f"{name}: first of 1 " in first
    assert "a word nowhere: first of 0 " in first
    assert main(arguments) == 0
    assert "requests made" not in capsys.readouterr().out
