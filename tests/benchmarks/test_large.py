"""The benchmark of a large store works, and keeps its store between runs; its numbers are for people."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmarks import large_captures, large_window
from benchmarks.bench import longest_of
from benchmarks.large import main
from benchmarks.large_search import NONE, ONE, SEARCHES, _require_count
from benchmarks.large_store import made
from benchmarks.lines import Line, exit_status
from benchmarks.programs import BenchError, hookline, run_load

pytestmark = pytest.mark.long


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_it_measures_every_search_and_keeps_the_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest, engine: str
) -> None:
    place = ["--folder", str(tmp_path)] if engine == "sqlite" else ["--store", request.getfixturevalue("postgres_url")]
    arguments = ["--rows", "2500", *place, "--searches"]
    assert main(arguments) in (0, 1)  # a busy machine may miss a bar
    first, error = capsys.readouterr()
    assert error == ""
    assert "2,500 requests made" in first
    assert all(name in first for name, *_ in SEARCHES)
    for name in ("new request", "halfway", "oldest request"):
        assert f"{name}: first of 1 " in first
    assert "a word nowhere: first of 0 " in first
    main(arguments)
    assert "requests made" not in capsys.readouterr().out


def test_it_leaves_a_store_of_another_size_alone(postgres_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    made(postgres_url, 10)
    assert main(["--rows", "20", "--store", postgres_url]) == 1
    assert "holds 10 requests, not 20" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_it_walks_through_the_window(tmp_path: Path) -> None:
    """A second time, too, although the window comes back as it was left."""
    made(tmp_path, 500)
    large_window.measure(tmp_path, rounds=1)
    lines = [str(line) for line in large_window.measure(tmp_path, rounds=1)]
    starts = ("a bare window", "painted and answering", "so many times")
    for name in (*starts, "Billing, first page", "jump to the oldest", "needle-halfway, found 1 "):
        assert any(name in line for line in lines), name


def test_it_compares_captures_with_the_index_and_without(tmp_path: Path) -> None:
    without, following, ratio = large_captures.measure(tmp_path, 1, 0.2)
    assert ratio.value == pytest.approx(following.value / without.value)
    assert not (tmp_path / "without-0" / "data" / "search.db").exists()
    with hookline(tmp_path / "with-0", "-m", "hookline", "serve") as url:
        while not (tmp_path / "with-0" / "data" / "search.db").exists():  # begun when a thousand requests wait
            run_load(url, connections=8, seconds=0.2)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (Line("first", 12.34, "ms", 100.0), "12.3 ms    ok (at most 100)"),
        (Line("first", 112.0, "ms", 100.0), "112.0 ms    MISSED (at most 100)"),
        (Line("ratio", 0.89, " ", 0.9, least=True), "0.89       MISSED (at least 0.9)"),
        (Line("ratio", 0.95, " ", 0.9, least=True), "0.95       ok (at least 0.9)"),
        (Line("requests", 2500), "2,500"),
    ],
)
def test_a_line_says_whether_its_bar_is_met(line: Line, text: str) -> None:
    assert str(line).endswith(" " + text)


def test_a_missed_bar_is_an_exit_status() -> None:
    met, missed, without = Line("a", 1.0, "x", 2.0), Line("b", 3.0, "x", 2.0), Line("c", 3.0, "x")
    assert (exit_status([met, without]), exit_status([met, missed])) == (0, 1)
    assert exit_status([Line("nothing measured", float("nan"), "x", 2.0)]) == 1


def test_a_heartbeat_that_never_began_is_no_short_gap() -> None:
    assert longest_of({"beats": 9_000, "gaps": [(1.0, 0.5), (12.0, 0.02)]}, 10.0, 20.0) == 20.0
    with pytest.raises(BenchError, match="beat 0 times in 10 s"):
        longest_of({"beats": 0, "gaps": []}, 10.0, 20.0)


@pytest.mark.parametrize(
    ("one_in", "found", "right"),
    [
        (NONE, 0, True),
        (NONE, 1, False),
        (ONE, 1, True),
        (ONE, 0, False),
        (7, 100, True),
        (7, 0, False),
        (9_999, 0, True),
    ],
)
def test_a_search_that_finds_too_much_or_too_little_is_no_measurement(one_in: int, found: int, right: bool) -> None:
    with nullcontext() if right else pytest.raises(BenchError, match=f"a search: {found} found"):
        _require_count("a search", found, one_in, 2_500)
