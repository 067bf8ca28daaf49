"""What `hookline endpoint add` and `edit` can set, and `add --ensure`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from app.cli.commands.endpoint import SECRET_VARIABLE
from tests.cli.conftest import Run

REFUSED: list[tuple[list[str], int, str]] = [
    (["--response-status", "99"], 2, "--response-status must be 200 to 599, not 99."),
    (["--response-header", "no colon"], 2, "'no colon' has no colon"),
    (["--response-header", "Content-Length: 1"], 2, "Content-Length is set by Hookline itself"),
    (["--response-delay", "31"], 2, "0 to 30 seconds"),
    (["--response-body", "x", "--no-response-body"], 2, "not allowed with"),
    (["--response-body-file", "no-such-file"], 3, "no-such-file cannot be read: No such file"),
    (["--forward-timeout", "0.01"], 2, "0.01 is out of range; use 0.1 to 600 seconds"),
    (["--auth", "basic:bob:s3cret"], 2, "--auth must not contain the secret"),
    (["--auth", "bearer:s3cret"], 2, "--auth must not contain the secret"),
    (["--auth", "basic"], 2, "needs a user"),
    (["--auth", "digest"], 2, "not 'digest'"),
    (["--auth", "bearer"], 2, SECRET_VARIABLE),
    (["--auth-secret-file", "x"], 2, "requires --auth"),
]


NO_TARGET = {"from_target": False, "wait_ms": 10_000}
"""What a response has unless it is a target's."""


def endpoint(run: Run) -> Any:
    return run("endpoint", "show", "orders", "--json").json


def test_the_response_credentials_and_timeout_are_set(run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret\n", "utf-8")
    added = run(
        *(
            "endpoint",
            "add",
            "Orders",
            "--slug",
            "orders",
            "--forward-url",
            "http://127.0.0.1:9",
            "--forward-timeout",
            "2.5",
        ),
        *("--response-status", "503", "--response-header", "Retry-After: 5", "--response-header", "X-A:b:c"),
        *("--response-body", "later", "--response-delay", "0.25", "--auth", "basic:bob"),
        *("--auth-secret-file", str(tmp_path / "secret")),
    )
    assert added.code == 0
    assert endpoint(run)["response"] == {
        "status": 503,
        "headers": [["Retry-After", "5"], ["X-A", "b:c"]],
        "body": "later",
        "delay_ms": 250,
        **NO_TARGET,
    }
    assert endpoint(run)["auth"] == {"kind": "basic", "name": "bob", "secret": "s3cret"}
    assert endpoint(run)["forward"] == {"timeout_ms": 2500}
    assert "Response: 503, 2 headers, body of 5 B, after 250 ms\nCredentials: Basic, user bob\n" in added.out
    assert "Forwarded to: http://127.0.0.1:9, timeout 2.5 s\n" in added.out
    assert "s3cret" not in added.out


def test_an_edit_changes_one_and_leaves_the_others(run: Run, tmp_path: Path) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders", "--response-status", "201", "--response-header", "A: b")
    (tmp_path / "body").write_bytes("a\r\nž\n".encode())
    run("endpoint", "edit", "orders", "--response-body-file", str(tmp_path / "body"))
    assert (
        endpoint(run)["response"]
        == {"status": 201, "headers": [["A", "b"]], "body": "a\r\nž\n", "delay_ms": 0} | NO_TARGET
    )
    run("endpoint", "edit", "orders", "--no-response-headers", "--no-response-body")
    assert endpoint(run)["response"] == {"status": 201, "headers": [], "body": None, "delay_ms": 0} | NO_TARGET


def test_a_secret_comes_from_a_file_a_variable_or_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    monkeypatch.setenv(SECRET_VARIABLE, "from the environment")
    assert run("endpoint", "edit", "orders", "--auth", "bearer").code == 0
    assert endpoint(run)["auth"] == {"kind": "bearer", "name": "", "secret": "from the environment"}
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"typed\r\n")))
    shown = run("endpoint", "edit", "orders", "--auth", "header:X-Key", "--auth-secret-file", "-").out
    assert "Credentials: header X-Key\n" in shown
    assert endpoint(run)["auth"] == {"kind": "header", "name": "X-Key", "secret": "typed"}
    run("endpoint", "edit", "orders", "--auth", "none")
    assert endpoint(run)["auth"] == {"kind": "none", "name": "", "secret": ""}


def test_what_cannot_be_set_is_said_and_nothing_changes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    run("endpoint", "add", "Orders", "--slug", "orders")
    before = endpoint(run)
    for arguments, code, said in REFUSED:
        done = run("endpoint", "edit", "orders", *arguments)
        assert (done.code, done.out) == (code, "")
        assert said in done.err
        assert done.err.count("\n") == 1
    assert endpoint(run) == before


def test_a_body_that_is_no_text_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"\xff")
    done = run("endpoint", "add", "x", "--response-body-file", str(tmp_path / "body"))
    assert done.code == 2
    assert "is not UTF-8 text" in done.err


ENSURE = ("endpoint", "add", "Orders", "--slug", "orders", "--ensure")


def test_ensure_makes_it_once(run: Run) -> None:
    made = run(*ENSURE, "--retention-days", "9", "--json")
    again = run(*ENSURE, "--retention-days", "9", "--json")
    assert (again.code, again.json) == (0, made.json)
    assert "already exists. Nothing to change." in again.err
    assert len(run("endpoint", "list", "--json").json) == 1


def test_ensure_changes_what_is_given_says_so_and_leaves_the_rest(run: Run) -> None:
    run(*ENSURE, "--description", "mine", "--retention-days", "9", "--response-status", "201")
    run("endpoint", "off", "orders")
    done = run(*ENSURE[:2], "All orders", *ENSURE[3:], "--retention-days", "30", "--response-delay", "1", "--json")
    assert done.code == 0
    assert "Endpoint orders already exists. Changed: name, retention, response.\n" in done.err
    kept = {key: done.json[key] for key in ("name", "description", "retention_days", "active")}
    assert kept == {"name": "All orders", "description": "mine", "retention_days": 30, "active": False}
    assert (done.json["response"]["status"], done.json["response"]["delay_ms"]) == (201, 1000)


def test_ensure_without_a_slug_goes_by_the_name(run: Run) -> None:
    first = run("endpoint", "add", " Orders ", "--ensure", "--json").json
    again = run("endpoint", "add", "Orders", "--ensure", "--forward-url", "http://127.0.0.1:9", "--json")
    assert again.json["slug"] == first["slug"]
    assert again.json["forward_url"] == "http://127.0.0.1:9"


def test_ensure_still_refuses_what_breaks_a_rule(run: Run) -> None:
    run(*ENSURE)
    for retention in ("0", "91"):
        assert run(*ENSURE, "--retention-days", retention).code == 2
    assert run("endpoint", "add", "x", "--slug", "X", "--ensure").code == 2
    assert run("endpoint", "add", "Orders", "--slug", "orders").code == 2, "without --ensure a slug is taken"
