"""Requests named by the beginning of their id, or as the newest."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cli.identifiers import SHOWN_MIN, short_id
from tests.cli.conftest import Run
from tests.cli.stored import store_requests

OLD = "019a1b2c-0000-7000-8000-000000000001"
SAME_MS, OTHER = (f"019a1b2c-3d4e-7f50-{place}a6b-7c8d9e0f1a2b" for place in "89")


@pytest.fixture
def ids(folder: Path) -> list[str]:
    """Oldest first; the last two came in the same microsecond, and the last is another endpoint's."""
    fields = [{"id": one, "received_at": 1_762_000_000_000_000 + at} for at, one in enumerate((OLD, SAME_MS))]
    store_requests(folder, "orders", fields)
    store_requests(folder, "pay", [{"id": OTHER, "received_at": 1_762_000_000_000_009}])
    return [OLD, SAME_MS, OTHER]


def shown(run: Run, text: str) -> str:
    found: str = run("show", text, "--json").json["id"]
    return found


def test_a_beginning_that_one_request_has_will_do(run: Run, ids: list[str]) -> None:
    for beginning in ("019a1b2c-0", "019A1B2C0000", OLD, OLD.replace("-", ""), OLD[:-1]):
        assert shown(run, beginning) == OLD


def test_the_newest_of_all_or_of_an_endpoint(run: Run, ids: list[str]) -> None:
    assert shown(run, "@last") == OTHER
    assert shown(run, "@last:orders") == SAME_MS
    run("endpoint", "add", "Empty", "--slug", "empty")
    for text, said in (("@last:empty", "Endpoint 'empty' has no requests."), ("@last:none", "'none'")):
        done = run("show", text)
        assert (done.code, done.out) == (1, "")
        assert said in done.err


def test_what_several_begin_with_names_them(run: Run, ids: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    done = run("show", "019a1b2c-3")
    assert (done.code, done.out) == (2, "")
    first, *rows = done.err.splitlines()
    short = ["019a1b2c-3d4e-7f50-9", "019a1b2c-3d4e-7f50-8"]
    said = f"Several requests have an ID that starts with '019a1b2c-3': {', '.join(short)}. Use more characters."
    assert first == f"hookline: {said}"
    assert [row.split()[0] for row in rows] == short
    assert "orders  POST /catch/sample/orders" in rows[1]
    assert len(run("show", "019a1b2c").err.splitlines()[1:]) == 3


def test_what_no_request_begins_with_ends_with_1(run: Run, ids: list[str]) -> None:
    for text in ("019a1b2d", "019a1b2g", "@lst", "last", OLD + "0", ""):
        done = run("show", text)
        assert (done.code, done.out) == (1, "")
        assert done.err == f"hookline: No request has the ID {text!r}. See hookline requests.\n"


def test_a_beginning_that_is_too_short_says_how_long_it_must_be(run: Run, ids: list[str]) -> None:
    for command, text, one, many in (
        ("show", "01", "request", "requests"),
        ("show", "019A-1b2", "request", "requests"),
        ("delivery", "0", "delivery", "deliveries"),
        ("replays", "019a1b2", "replay", "replays"),
    ):
        done = run(command, text)
        assert (done.code, done.out) == (1, "")
        needed = "The start of an ID has at least 8 characters."
        assert done.err == f"hookline: No {one} has the ID {text!r}. {needed} See hookline {many}.\n"


def test_nothing_is_done_while_one_may_mean_several(run: Run, ids: list[str]) -> None:
    for command in (("mark", OLD, "019a1b2c-3", "--star"), ("rm", OLD, "019a1b2c-3", "--yes")):
        done = run(*command)
        assert (done.code, done.out) == (2, "")
    assert [(one["id"], one["starred"]) for one in run("requests", "--json").json][-1] == (OLD, False)


def test_one_that_is_named_twice_counts_once(run: Run, ids: list[str]) -> None:
    assert run("mark", "@last", OTHER, "@last:pay", "--star").out == "Marked 1 request.\n"


def test_marking_and_listing_take_them_too(run: Run, ids: list[str]) -> None:
    assert run("mark", "019a1b2c0", "@last", "--star").out == "Marked 2 requests.\n"
    assert [one["id"] for one in run("requests", "-q", "is:starred", "--json").json] == [OTHER, OLD]
    assert [one["id"] for one in run("requests", "@last", "--json").json] == [OTHER]
    assert [one["id"] for one in run("requests", "019a1b2c-3d4e", "--json").json] == [OTHER, SAME_MS]
    assert run("requests", "019a1b2c-3d4e", "-n", "1").out.split("\t")[2] == "pay"
    assert run("requests", "ffffffff").code == 1
    assert run("requests", "@last", "-q", "x").code == 2


def test_a_slug_that_looks_like_an_id_is_an_endpoints(run: Run, ids: list[str]) -> None:
    run("endpoint", "add", "Odd", "--slug", "019a1b2c")
    assert run("requests", "019a1b2c", "--json").json == []


def test_as_much_of_an_id_as_tells_it_from_its_neighbours() -> None:
    assert short_id(OLD) == OLD[:SHOWN_MIN] == "019a1b2c-0000"
    assert short_id(SAME_MS, OTHER, OLD) == "019a1b2c-3d4e-7f50-8"
    assert short_id(SAME_MS, SAME_MS[:-1] + "c") == SAME_MS
