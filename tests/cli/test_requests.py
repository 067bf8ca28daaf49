"""`hookline requests` and `hookline show` while no program runs; `running/` has what a running one answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import damage
from tests.cli.conftest import Program, Run
from tests.cli.sending import send
from tests.cli.stored import store_requests

pytestmark = pytest.mark.usefixtures("empty_store")
UNKNOWN = "01938f7e-0000-7000-8000-000000000000"


def test_an_endpoint_without_requests(run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    done = run("requests", "orders")
    assert (done.code, done.out) == (0, "")
    assert "hookline endpoint show orders" in done.err
    assert run("requests", "orders", "--json").json == []


@pytest.mark.parametrize("slug", ["no-such", ".."])
def test_requests_of_an_unknown_endpoint_end_with_1(run: Run, slug: str) -> None:
    done = run("requests", slug)
    assert done.code == 1
    assert slug in done.err


@pytest.mark.parametrize("identity", [UNKNOWN, "not-an-id", "..", "../status"])
def test_an_unknown_request_ends_with_1(run: Run, identity: str) -> None:
    done = run("show", identity)
    assert (done.code, done.out) == (1, "")
    assert identity in done.err


def test_json_and_a_part_do_not_go_together(run: Run) -> None:
    assert run("show", UNKNOWN, "--json", "--body").code == 2


@pytest.mark.slow
def test_what_was_captured_is_there_after_the_program_has_ended(serve: Callable[..., Program], run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    program = serve()
    send(program, "/catch/orders/kept")
    assert program.stop() == 0
    assert [item["target"] for item in run("requests", "orders", "--json").json] == ["/catch/orders/kept"]


def test_a_wrong_search_ends_with_2_and_one_line(run: Run) -> None:
    done = run("requests", "-q", "paid metod:POST")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("hookline: Unknown filter metod:. Did you mean method:?")
    assert len(done.err.splitlines()) == 1


def test_on_a_terminal_a_wrong_search_is_pointed_at(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    done = run("requests", "-q", "paid\x1b metod:POST")
    assert done.err.splitlines()[1:] == ["  paid\\x1b metod:POST", "           ^^^^^^"]
    assert run("requests", "-q", 'a "b').err.splitlines()[1:] == ['  a "b', "    ^^"]


def test_no_requests_at_all(run: Run) -> None:
    assert "No requests are stored yet" in run("requests").err


@pytest.mark.usefixtures("empty_store")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_id_that_no_request_has_ends_with_1_and_prints_nothing(run: Run, options: tuple[str, ...]) -> None:
    done = run("requests", "019a1b2d", *options)
    assert (done.code, done.out) == (1, "")
    assert "no request has an ID that starts with it" in done.err


def test_a_damaged_body_is_printed_only_if_it_is_asked_for(run: Run, folder: Path) -> None:
    (request,) = store_requests(folder, "orders", [{"body": b"as sent"}])
    assert "Damaged:" not in run("show", request).out
    damage.change_body(folder, request)
    done = run("show", request)
    assert done.code == 0
    assert "Damaged: the stored body does not match the SHA-256." in done.out
    assert "as sen" not in done.out
    for part in ("--body", "--raw", "--curl"):
        done = run("show", request, part)
        assert (done.code, "as sen" in done.out) == (3, False), part
        assert "The stored body is damaged" in done.err
    assert "as sen" in run("show", request, "--damaged").out
    assert run("show", request, "--json").json["damaged"] is True
