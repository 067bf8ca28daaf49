"""`hookline mark`, and the marks in `hookline requests` and `hookline show`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Program, Run
from tests.cli.stored import store_requests

UNKNOWN = "01938f7e-0000-7000-8000-000000000000"


@pytest.fixture
def ids(folder: Path) -> list[str]:
    """Of three requests that are stored, oldest first, while no program runs. They have a gist: none is given one in
    the background between two commands."""
    return sorted(store_requests(folder, "orders", [{"gist": "JSON · hello"}] * 3))


def marks(run: Run) -> list[tuple[bool, bool, str | None]]:
    """Whether read, whether starred, and the note, of each request, oldest first."""
    listed = run("requests", "orders", "--json").json
    return [(one["read"], one["starred"], one["note"]) for one in reversed(listed)]


def test_several_are_marked_and_the_rest_left_alone(run: Run, ids: list[str]) -> None:
    done = run("mark", ids[0], ids[2], ids[0], "--star", "--read", "--note", " look here ")
    assert (done.code, done.out, done.err) == (0, "Marked 2 requests.\n", "")
    assert marks(run) == [(True, True, "look here"), (False, False, None), (True, True, "look here")]


def test_each_mark_can_be_taken_back_alone(run: Run, ids: list[str]) -> None:
    run("mark", *ids, "--star", "--read", "--note", "n")
    assert run("mark", ids[0], "--unstar").out == "Marked 1 request.\n"
    run("mark", ids[1], "--unread")
    run("mark", ids[2], "--no-note")
    assert marks(run) == [(True, False, "n"), (False, True, "n"), (True, True, None)]
    run("mark", ids[0], "--note", "")
    assert marks(run)[0] == (True, False, None)


def test_as_json_the_requests_as_they_are_now(run: Run, ids: list[str]) -> None:
    marked = run("mark", ids[1], ids[0], "--star", "--json").json
    assert [(one["id"], one["starred"], one["note"]) for one in marked] == [(ids[1], True, None), (ids[0], True, None)]
    assert marked[0] == {**run("show", ids[1], "--json").json, "damaged": None}


@pytest.mark.parametrize("wrong", [UNKNOWN, "no-id", "../endpoints/orders"])
def test_one_that_is_not_stored_ends_with_1_and_the_others_are_marked(run: Run, ids: list[str], wrong: str) -> None:
    done = run("mark", ids[0], wrong, ids[1], "--star")
    assert (done.code, done.out) == (1, "Marked 2 requests.\n")
    assert wrong in done.err
    assert len(done.err.splitlines()) == 1
    assert [starred for _, starred, _ in marks(run)] == [True, True, False]
    alone = run("mark", wrong, "--star", "--json")
    assert (alone.code, alone.json) == (1, [])


def test_wrong_use_ends_with_2_and_changes_nothing(run: Run, ids: list[str]) -> None:
    for options, said in (
        ((), "hookline mark --help"),
        (("--star", "--unstar"), "--unstar"),
        (("--read", "--unread"), "--unread"),
        (("--note", "x", "--no-note"), "--no-note"),
        (("--note", "n" * 2001, "--star"), "2,000"),
    ):
        done = run("mark", ids[0], *options)
        assert (done.code, done.out) == (2, "")
        assert said in done.err
    assert run("mark", "--star").code == 2
    assert marks(run) == [(False, False, None)] * 3


def test_a_table_tells_of_star_and_note_and_show_prints_them(run: Run, ids: list[str]) -> None:
    run("mark", ids[0], "--star", "--note", "charged twice\nask \x1b[31mBob")
    run("mark", ids[1], "--star")
    rows = run("requests", "orders").out.splitlines()
    assert [row.split("\t")[8] for row in reversed(rows)] == ["*+", "*", "-"]
    shown = run("show", ids[0]).out
    assert "\nStarred: yes\nNote: charged twice\n  ask \\x1b[31mBob\n" in shown
    plain = run("show", ids[2]).out
    assert "Starred" not in plain
    assert "Note" not in plain


def test_the_running_program_marks_what_it_has(
    run: Run, ids: list[str], serve: Callable[..., Program], folder: Path
) -> None:
    program = serve()
    assert run("mark", ids[0], "--star", "--note", "live").code == 0
    assert marks(run)[0] == (False, True, "live")
    assert [one["id"] for one in run("requests", "-q", "is:starred", "--json").json] == [ids[0]]
    assert program.process.poll() is None


def test_all_of_an_endpoint_are_marked_as_read(run: Run, ids: list[str]) -> None:
    run("mark", ids[0], "--read")
    done = run("mark", "--endpoint", "orders", "--read")
    assert (done.code, done.out, done.err) == (0, "Marked 2 requests.\n", "")
    assert marks(run) == [(True, False, None)] * 3
    assert run("mark", "--endpoint", "orders", "--read", "--json").json == {"read": "orders", "requests": 0}
    assert run("mark", "--endpoint", "unknown", "--read").code == 1


@pytest.mark.parametrize(
    "arguments", [("--read",), ("--endpoint", "orders", "--star"), ("@last", "--endpoint", "orders", "--read")]
)
def test_an_endpoint_takes_no_other_marks(run: Run, ids: list[str], arguments: tuple[str, ...]) -> None:
    done = run("mark", *arguments)
    assert (done.code, done.out) == (2, "")
    assert "--endpoint" in done.err
    assert marks(run) == [(False, False, None)] * 3
