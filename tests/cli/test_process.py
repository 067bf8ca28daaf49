"""The command line as a process: pipes, Ctrl-C, and programs that are gone, busy or not ours."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from app.cli.main import main
from tests.cli.conftest import ROOT, Program, Run, command, services
from tests.cli.sending import post
from tests.support import free_port

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals and signals of POSIX")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shell", "code", "told"),
    [
        ("hookline endpoint list > /dev/full", 3, "No space left on device"),
        ("hookline endpoint list >&-", 0, ""),
        ("hookline mcp <&-", 0, ""),
        ("hookline show nothing 2>&-", 1, ""),
        ("hookline endpoint add $'\\xff'", 2, "UTF-8"),
    ],
)
def test_odd_streams_and_arguments_end_in_words(run: Run, folder: Path, shell: str, code: int, told: str) -> None:
    run("endpoint", "add", "Orders")
    if "/dev/full" in shell and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    script = f'hookline() {{ {sys.executable} -m hookline "$@" --data-dir {folder}; }}; {shell}'
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert done.stderr.count("\n") == bool(told)


@pytest.mark.slow
def test_a_request_that_broke_off_is_marked(serve: Callable[..., Program], run: Run) -> None:
    run("endpoint", "add", "Orders", "--slug", "orders")
    program = serve("--tail")
    post(program, "/catch/orders", b"half", announced=8)
    assert program.read_line().endswith("(incomplete: the sender disconnected)")
    identity, *_, size, _, _, _, _ = run("requests", "orders").out.rstrip("\n").split("\t")
    assert size == ">4 B"
    assert "Size: 4 B, then the sender disconnected\n" in run("show", identity).out


@pytest.mark.slow
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
    run("endpoint", "add", "Orders")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes the connection and never answers
        pretend(folder, silent.getsockname()[1], os.getpid())
        process = subprocess.Popen(
            command("endpoint", "list", "--data-dir", str(folder)), cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        connection, _ = silent.accept()
        assert connection.recv(1000)  # it has asked, and waits for the answer
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=20)
        connection.close()
    assert (process.returncode, said) == (130, "")


@pytest.mark.parametrize(("at_terminal", "said"), [(True, "\n"), (False, "")])
def test_ctrl_c_leaves_the_line_that_a_terminal_shows(
    run: Run, monkeypatch: pytest.MonkeyPatch, at_terminal: bool, said: str
) -> None:
    """It shows `^C` there, or a question; the shell's prompt belongs below."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: at_terminal, raising=False)
    monkeypatch.setattr("app.cli.main.parse", interrupted)
    done = run("endpoint", "list")
    assert (done.code, done.out, done.err) == (130, "", said)


def interrupted(_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_so_does_serve(folder: Path) -> None:
    ours, theirs = os.openpty()
    with subprocess.Popen(
        command("serve", "--data-dir", str(folder), "--port", "0", "--api-port", "0"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith(b"listening on ")
            process.send_signal(signal.SIGINT)
            assert os.read(ours, 1000) == b"\r\n"
            assert process.wait(20) == 0
        finally:
            process.kill()
            os.close(ours)


def pretend(folder: Path, port: int, pid: int) -> None:
    """A note of a running program, as one leaves it behind when it is killed."""
    note = {"pid": pid, "capture_url": None, "api_url": f"http://127.0.0.1:{port}"}
    (folder / "runtime.json").write_text(json.dumps(note), "utf-8")


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
    run("endpoint", "add", "Orders")
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
    serve: Callable[..., Program], run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli.client.PATIENCE_S", 0.2)  # it would wait for an address that never comes
    serve()
    (folder / "runtime.json").unlink()
    done = run("endpoint", "list")
    assert (done.code, done.out) == (3, "")
    assert str(folder) in done.err
    assert done.err.count("\n") == 1


@pytest.mark.slow
def test_commands_at_the_same_time_wait_for_each_other(run: Run, folder: Path) -> None:
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
    assert line[8:] == "  orders  POST     text · hi  /a  2 B  a\\x9bb"
    assert program.stop() == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="the program is stopped by SIGINT")
def test_all_that_serve_says_on_standard_error_can_be_lines_of_json(run: Run, folder: Path) -> None:
    assert run("endpoint", "add", "Orders", "--forward-url", "http://localhost:8/in").code == 0
    words = ("--endpoint", "Orders", "--port", "0", "--api-port", "0", "--log-json", "--forward-url", "localhost:9/in")
    started = command("serve", "--data-dir", str(folder), *words)
    with subprocess.Popen(started, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("listening on ")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    lines = [json.loads(line) for line in err.splitlines()]
    assert [set(line) for line in lines] == [{"time", "level", "logger", "message"}] * len(lines)
    said = [line["message"] for line in lines]
    assert "has started as process" in said[0]
    assert any("http://localhost:9/in" in text for text in said)  # a second target
    assert said[-1] == "Hookline has stopped"


def test_an_error_that_is_a_bug_is_not_hidden(tmp_path: Path) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        main(["serve", "--data-dir", str(tmp_path)], services(serve=broken))
