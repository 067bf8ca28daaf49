"""What commands show and ask at a terminal; each is a process, and the program that runs answers them all."""

from __future__ import annotations

import os
import subprocess

import pytest

from app.cli.output import cell_count
from tests.cli.conftest import ROOT, Program, Run, command
from tests.cli.sending import post

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals and signals of POSIX")


def on_terminal(*arguments: str, typed: str = "", columns: int = 120, **environment: str) -> tuple[int, str]:
    """Exit code and screen of `hookline ARGUMENTS` at a terminal, where `typed` is typed."""
    import fcntl
    import struct
    import termios

    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        command(*arguments),
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**variables, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    screen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux's way to say that the other end is closed
            break
        if not piece:
            break
        screen += piece
    os.close(ours)
    return process.wait(20), screen.decode().replace("\r\n", "\n")


def test_a_terminal_gets_a_table_with_headings_in_colour(program: Program) -> None:
    code, screen = on_terminal("endpoint", "list", "--data-dir", str(program.folder))
    assert code == 0
    heading, row = screen.splitlines()
    assert heading.startswith("\x1b[1mSLUG  \x1b[0m  \x1b[1mNAME")
    assert "\x1b[32mon   \x1b[0m" in row


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_refused(program: Program, variable: dict[str, str]) -> None:
    _, screen = on_terminal("endpoint", "list", "--data-dir", str(program.folder), **variable)
    assert "SLUG" in screen
    assert "\x1b" not in screen


@pytest.mark.slow
def test_tables_fit_their_terminal(program: Program, run: Run) -> None:
    run("endpoint", "add", "日本語" * 20, "--slug", "a-rather-long-slug")
    post(program, "/catch/orders/" + "x" * 200, b"", headers="X-GitHub-Event: 検査\r\n".encode())
    post(program, "/catch/none/" + "x" * 200, b"", answer=b"HTTP/1.1 404")
    for columns in (80, 120, 200):
        for words, least in (
            (("endpoint", "list"), "a-rather-long-slug"),
            (("requests",), " POST "),
            (("requests", "orders"), " POST "),
            (("refused",), " POST "),
        ):
            _, screen = on_terminal(*words, "--data-dir", str(program.folder), columns=columns, NO_COLOR="1")
            heading, *rows = screen.splitlines()
            assert [line for line in (heading, *rows) if cell_count(line) > columns] == []
            assert least in screen, columns
            assert columns < 120 or words[0] != "endpoint" or rows[-1].endswith("/catch/a-rather-long-slug")


@pytest.mark.slow
def test_the_title_is_among_the_last_to_go(program: Program, run: Run) -> None:
    def columns_at(width: int) -> list[str]:
        _, screen = on_terminal("requests", "--data-dir", str(program.folder), columns=width, NO_COLOR="1")
        assert "charge · JSON" in screen
        return screen.splitlines()[0].split()

    run("endpoint", "add", "Payments of the shop", "--slug", "payments-of-the-shop")
    for _ in range(2):
        post(program, "/catch/payments-of-the-shop", b'{"id": 1, "type": "charge", "data": {}, "livemode": true}')
    assert columns_at(150)[-1] == "TARGET"
    narrow = columns_at(100)
    assert "TITLE" in narrow
    assert not {"TARGET", "DELIVERY", "MARK"} & set(narrow)
    assert {"TITLE", "ENDPOINT", "RECEIVED"} <= set(columns_at(80))
    post(program, "/catch/payments-of-the-shop/refunds", b'{"id": 1, "type": "charge", "data": {}, "livemode": true}')
    assert {"TITLE", "TARGET"} <= set(columns_at(80))


def test_ids_are_as_long_as_tells_them_apart_and_found_again(program: Program, run: Run) -> None:
    for number in range(3):
        post(program, f"/catch/orders/{number}", b"")
    _, screen = on_terminal("requests", "orders", "--data-dir", str(program.folder), columns=80, NO_COLOR="1")
    _, *rows = screen.splitlines()
    ids = [row.split()[0] for row in rows]
    assert all(13 <= len(identity) < 36 for identity in ids)
    whole = [one["id"] for one in run("requests", "orders", "--json").json]
    assert [run("show", identity, "--json").json["id"] for identity in ids] == whole


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 1), ("\n", 1, 1)])
def test_deleting_asks_at_a_terminal(program: Program, run: Run, typed: str, code: int, left: int) -> None:
    ended, screen = on_terminal("endpoint", "rm", "orders", "--data-dir", str(program.folder), typed=typed)
    assert ended == code
    assert "Delete Orders (orders) with 0 requests? [y/N]" in screen
    assert len(run("endpoint", "list", "--json").json) == left


def test_a_body_on_a_terminal_is_shown_escaped(program: Program, run: Run) -> None:
    body = b"one\r\ntwo\x1b[2J\xff" + "ü".encode()
    post(program, "/catch/orders", body)
    identity = run("requests", "orders", "--json").json[0]["id"]
    code, screen = on_terminal("show", identity, "--body", "--data-dir", str(program.folder))
    assert code == 0
    shown, note = screen.split("hookline: ")
    assert shown == "one\ntwo\\x1b[2J\\xffü\n"
    assert "redirect the output to a file" in note
