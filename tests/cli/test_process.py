"""The command line as a process: terminals, pipes, Ctrl-C, and programs that are gone, busy or not ours."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from app.cli.main import main
from app.cli.ports import CliDoors
from tests.cli.conftest import ROOT, Program, Run, command

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


@pytest.mark.parametrize(
    ("shell", "code", "told"),
    [
        ("hookline endpoint list > /dev/full", 3, "No space left on device"),
        ("hookline endpoint list >&-", 0, ""),
        ("hookline show nothing 2>&-", 1, ""),
        ("hookline endpoint add $'\\xff'", 2, "UTF-8"),
    ],
)
def test_odd_streams_and_arguments_end_in_words(run: Run, folder: Path, shell: str, code: int, told: str) -> None:
    run("endpoint", "add", "Orders")
    if "/dev/full" in shell and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    script = f'hookline() {{ {sys.executable} -m app "$@" --data-dir {folder}; }}; {shell}'
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert done.stderr.count("\n") == bool(told)


def test_a_terminal_gets_a_table_with_headings_in_colour(run: Run, folder: Path) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    code, screen = on_terminal("endpoint", "list", "--data-dir", str(folder))
    assert code == 0
    heading, row = screen.splitlines()
    assert heading.startswith("\x1b[1mSLUG  \x1b[0m  \x1b[1mNAME")
    assert "\x1b[32mon   \x1b[0m" in row


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_refused(run: Run, folder: Path, variable: dict[str, str]) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    _, screen = on_terminal("endpoint", "list", "--data-dir", str(folder), **variable)
    assert "SLUG" in screen
    assert "\x1b" not in screen


def test_a_table_fits_its_terminal(run: Run, folder: Path) -> None:
    run("endpoint", "add", "N" * 100, "--slug", "a-rather-long-slug")
    _, screen = on_terminal("endpoint", "list", "--data-dir", str(folder), columns=100, NO_COLOR="1")
    heading, row = screen.splitlines()
    assert "N" * 23 + "…  on" in row
    assert heading.index("STATE") == row.index(" on ") + 1
    assert row.endswith("/catch/a-rather-long-slug"), "a URL is there to be copied"


def test_a_long_target_is_cut_at_the_end_of_the_line(serve: Callable[..., Program], run: Run, folder: Path) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    post(serve(), "/catch/orders/" + "x" * 200, b"")
    _, screen = on_terminal("requests", "orders", "--data-dir", str(folder), columns=165, NO_COLOR="1")
    heading, row = screen.splitlines()
    assert len(row) == 165
    assert row.endswith("x…")
    assert heading.index("TARGET") == row.index("/xxx")


def post(program: Program, target: str, body: bytes, headers: bytes = b"", announced: int | None = None) -> None:
    """Send one request byte for byte; with more announced than sent, break off."""
    host, _, port = program.url.removeprefix("http://").partition(":")
    length = len(body) if announced is None else announced
    with socket.create_connection((host, int(port)), timeout=10) as sender:
        head = f"POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n"
        sender.sendall(head.encode() + headers + b"\r\n" + body)
        if announced is None:
            assert sender.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_request_that_broke_off_is_marked(serve: Callable[..., Program], run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    program = serve("--tail")
    post(program, "/catch/orders", b"half", announced=8)
    assert program.read_line().endswith("(incomplete: the sender broke off)")
    identity, *_, size, _, _, _, _ = run("requests", "orders").out.rstrip("\n").split("\t")
    assert size == ">4 B"
    assert "Size: 4 B, then the sender broke off\n" in run("show", identity).out


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 1), ("\n", 1, 1)])
def test_deleting_asks_at_a_terminal(run: Run, folder: Path, typed: str, code: int, left: int) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    ended, screen = on_terminal("endpoint", "rm", "orders", "--data-dir", str(folder), typed=typed)
    assert ended == code
    assert "Delete Orders (orders) with 0 requests? [y/N]" in screen
    assert len(run("endpoint", "list", "--json").json) == left


def test_a_body_on_a_terminal_is_shown_escaped(serve: Callable[..., Program], run: Run, folder: Path) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    program = serve()
    body = b"one\r\ntwo\x1b[2J\xff" + "ü".encode()
    post(program, "/catch/orders", body)
    identity = run("requests", "orders", "--json").json[0]["id"]
    code, screen = on_terminal("show", identity, "--body", "--data-dir", str(folder))
    assert code == 0
    shown, note = screen.split("hookline: ")
    assert shown == "one\ntwo\\x1b[2J\\xffü\n"
    assert "Send it to a file" in note


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(run: Run, folder: Path) -> None:
    for number in range(5):
        run("endpoint", "add", "x" * 90 + str(number))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command("endpoint", "list", "--json", "--data-dir", str(folder)),
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=20,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_ends_a_command_quietly(run: Run, folder: Path) -> None:
    run("endpoint", "list")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the connection and never answers
        pretend(folder, silent.getsockname()[1], os.getpid())
        process = subprocess.Popen(
            command("endpoint", "list", "--data-dir", str(folder)), cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        connection, _ = silent.accept()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        connection.close()
    assert (process.returncode, said) == (130, "")


def pretend(folder: Path, port: int, pid: int) -> None:
    """A note of a running program, as one leaves it behind when it is killed."""
    note = {"pid": pid, "capture_url": None, "api_url": f"http://127.0.0.1:{port}"}
    (folder / "runtime.json").write_text(json.dumps(note), "utf-8")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def gone_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_note_of_a_program_that_was_killed_is_no_hindrance(run: Run, folder: Path) -> None:
    run("endpoint", "add", "Orders")
    pretend(folder, free_port(), gone_pid())
    assert len(run("endpoint", "list", "--json").json) == 1


def test_nor_is_one_whose_process_id_is_another_programs_now(run: Run, folder: Path) -> None:
    run("endpoint", "add", "Orders")
    pretend(folder, free_port(), os.getpid())
    assert len(run("endpoint", "list", "--json").json) == 1


def test_the_token_goes_to_nobody_once_the_program_is_gone(run: Run, folder: Path) -> None:
    run("endpoint", "list")
    with socket.create_server(("127.0.0.1", 0)) as other:
        other.setblocking(False)
        pretend(folder, other.getsockname()[1], gone_pid())
        assert run("endpoint", "list").code == 0
        with pytest.raises(BlockingIOError):
            other.accept()


UNUSABLE = [
    json.dumps({"pid": os.getpid(), "api_url": url}) for url in ("", "no url", "http://127.0.0.1:99999", "http://[")
]


@pytest.mark.parametrize("text", ["", "{", '{"pid": "x"}', "[]", "null", *UNUSABLE], ids=count())
def test_a_note_that_cannot_be_read_is_no_hindrance(run: Run, folder: Path, text: str) -> None:
    run("endpoint", "add", "Orders")
    (folder / "runtime.json").write_text(text, "utf-8")
    assert len(run("endpoint", "list", "--json").json) == 1


def test_a_folder_held_by_a_program_that_tells_no_address_ends_with_3(
    serve: Callable[..., Program], run: Run, folder: Path
) -> None:
    serve()
    (folder / "runtime.json").unlink()
    done = run("endpoint", "list")
    assert (done.code, done.out) == (3, "")
    assert str(folder) in done.err
    assert done.err.count("\n") == 1


def test_commands_at_the_same_time_wait_for_each_other(run: Run, folder: Path) -> None:
    run("endpoint", "list")
    started = [
        subprocess.Popen(
            command("endpoint", "add", name, "--data-dir", str(folder)),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for name in "abc"
    ]
    assert [process.wait(30) for process in started] == [0, 0, 0]
    assert {endpoint["name"] for endpoint in run("endpoint", "list", "--json").json} == {"a", "b", "c"}


def test_a_folder_that_is_a_file_ends_with_3(run: Run, folder: Path) -> None:
    folder.write_text("not a folder", "utf-8")
    done = run("endpoint", "list")
    assert (done.code, done.out) == (3, "")
    assert str(folder) in done.err


def test_serve_prints_where_it_listens_and_then_what_arrives(serve: Callable[..., Program], run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    program = serve("--tail")
    assert program.url.startswith("http://127.0.0.1:")
    post(program, "/catch/orders/a", b"hi", headers=b"Content-Type: a\x9bb\r\n")
    line = program.read_line()
    assert line[8:] == "  orders  POST     /a  2 B  a\\x9bb"
    assert program.stop() == 0


def test_an_error_that_is_a_bug_is_not_hidden(tmp_path: Path) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError

    def unused(_: Path) -> object:
        raise AssertionError

    doors = CliDoors(serve=broken, window=broken, open_api=unused, selftest=broken)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        main(["serve", "--data-dir", str(tmp_path)], doors)
