"""`hookline rm` and `hookline clear`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.stored import store_requests

UNKNOWN = "01938f7e-0000-7000-8000-000000000000"


@pytest.fixture
def ids(folder: Path) -> list[str]:
    """Of three requests, oldest first."""
    return store_requests(folder, "orders", [{"received_at": 1_762_000_000_000_000 + at * 1000} for at in range(3)])


def left(run: Run) -> list[str]:
    return [one["id"] for one in reversed(run("requests", "orders", "--json").json)]


def test_several_are_deleted(run: Run, ids: list[str]) -> None:
    done = run("rm", ids[0], "@last", ids[2], "--yes")
    assert (done.code, done.out, done.err) == (0, "Deleted 2 requests.\n", "")
    assert left(run) == [ids[1]]


def test_as_json_those_that_were_deleted(run: Run, ids: list[str]) -> None:
    assert run("rm", ids[1], "--yes", "--json").json == {"deleted": [ids[1]]}
    assert left(run) == [ids[0], ids[2]]


def test_one_that_is_not_stored_ends_with_1_and_the_others_are_deleted(run: Run, ids: list[str]) -> None:
    done = run("rm", UNKNOWN, ids[0], "nothing", "--yes")
    assert (done.code, done.out) == (1, "Deleted 1 request.\n")
    assert [UNKNOWN in done.err, "nothing" in done.err, done.err.count("\n")] == [True, True, 2]
    assert left(run) == ids[1:]
    assert run("rm", UNKNOWN, "--yes", "--json").json == {"deleted": []}


@pytest.mark.parametrize("command", [("rm", "@last"), ("clear", "orders")])
def test_nothing_is_deleted_unasked(
    run: Run, ids: list[str], command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    done = run(*command)
    assert (done.code, done.out) == (2, "")
    assert "Add --yes." in done.err
    assert left(run) == ids


class Typed(io.StringIO):
    """What a user types at a terminal."""

    def isatty(self) -> bool:
        return True


def test_the_question_names_what_goes(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = store_requests(folder, "orders", [{}, {"target": "/catch/orders/\x1b[2J"}])
    for typed, code, count in (("n\n", 1, 2), ("", 1, 2), ("y\n", 0, 1)):
        monkeypatch.setattr("sys.stdin", Typed(typed))
        done = run("rm", ids[1])
        assert done.code == code
        assert f"Delete POST /catch/orders/\\x1b[2J ({ids[1]})? [y/N]" in done.err
        assert len(left(run)) == count


def test_clear_deletes_all_requests_and_keeps_the_endpoint(run: Run, ids: list[str]) -> None:
    done = run("clear", "orders", "--yes")
    assert (done.code, done.out) == (0, "Deleted 3 requests of Orders.\n")
    assert left(run) == []
    assert run("endpoint", "show", "orders").code == 0
    assert run("clear", "orders", "--yes", "--json").json == {"cleared": "orders", "requests": 0}


def test_clear_keeps_what_is_marked(run: Run, ids: list[str]) -> None:
    assert run("mark", ids[0], "--star").code == 0
    assert run("mark", ids[2], "--note", "mine").code == 0
    done = run("clear", "orders", "--keep-starred", "--keep-noted", "--yes")
    assert (done.code, done.out) == (0, "Deleted 1 request of Orders. Kept 2.\n")
    assert left(run) == [ids[0], ids[2]]
    assert run("clear", "orders", "--keep-starred", "--yes", "--json").json == {
        "cleared": "orders",
        "requests": 1,
        "kept": 1,
    }
    assert left(run) == [ids[0]]


def test_clear_asks_naming_what_is_kept(run: Run, ids: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for option, kept in (("--keep-starred", "starred requests"), ("--keep-noted", "requests with notes")):
        monkeypatch.setattr("sys.stdin", Typed("n\n"))
        done = run("clear", "orders", option)
        assert done.code == 1
        assert f"Delete 3 requests of Orders (orders) except {kept}? The endpoint is kept." in done.err


@pytest.mark.parametrize("slug", ["none", ".."])
def test_clear_of_an_unknown_endpoint_ends_with_1(run: Run, ids: list[str], slug: str) -> None:
    done = run("clear", slug, "--yes")
    assert (done.code, done.out) == (1, "")
    assert slug in done.err
