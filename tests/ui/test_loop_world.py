"""The Qt-driven loop and the world outside: threads, processes, sockets, signals."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.ui.loop import CHOICE_VARIABLE
from tests.ui.stock_qasync import DEPRECATED, not_on_stock_qasync

pytestmark = pytest.mark.smoke

ROOT = Path(__file__).parents[2]


async def test_the_executor_works():
    names = await asyncio.gather(*(asyncio.to_thread(threading.get_ident) for _ in range(20)))
    assert threading.get_ident() not in set(names)


async def test_child_processes_work():
    code = "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.exit(7)"
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(child.communicate(b"hello" * 50_000), 20)
    assert (out, child.returncode) == (b"HELLO" * 50_000, 7)


def test_servers_and_clients_work(run):
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(-1))
        await writer.drain()
        writer.close()

    async def ask(port: int, text: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text)
        await writer.drain()
        writer.write_eof()
        answer = await reader.read(-1)
        writer.close()
        await writer.wait_closed()
        return answer

    async def main():
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        texts = [bytes([65 + number]) * 300_000 for number in range(20)]
        answers = await asyncio.gather(*(ask(port, text) for text in texts))
        server.close()
        await server.wait_closed()
        return texts == answers

    assert run(main())


SIGNALLED = """
import asyncio, signal, sys
from PySide6.QtWidgets import QApplication
from app.ui.loop import run

async def main():
    stopped = asyncio.Event()
    if sys.argv[1] == "handler":
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
    print("ready", flush=True)
    await stopped.wait()
    return "stopped"

try:
    print(run(QApplication([]), main()))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("kind", "number", "answer"),
    [
        ("handler", signal.SIGINT, "stopped"),
        ("handler", signal.SIGTERM, "stopped"),
        pytest.param(
            *("bare", signal.SIGINT, "interrupted"), marks=not_on_stock_qasync("notices Ctrl-C at the next event only")
        ),
    ],
)
def test_signals_are_noticed_while_idle(kind, number, answer):
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SIGNALLED, kind], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        assert child.stdout.readline() == "ready\n"
        threading.Event().wait(0.1)
        child.send_signal(number)
        try:
            out, _ = child.communicate(timeout=5)
        finally:
            child.kill()
    assert (out, child.returncode) == (f"{answer}\n", 0)


WHICH_LOOP = """
import asyncio, os
from PySide6.QtWidgets import QApplication
from app.ui.loop import run

async def main():
    import qasync
    loop = asyncio.get_running_loop()
    print(type(loop).__qualname__, isinstance(loop, qasync.QEventLoop), os.environ["QT_API"])

run(QApplication([]), main())
"""

WITHOUT_A_SELECTABLE_SELECTOR = """
import asyncio, selectors
selectors.DefaultSelector = selectors.SelectSelector  # all that Windows has
from PySide6.QtWidgets import QApplication
from app.ui.loop import run

async def echo(reader, writer):
    writer.write(await reader.readline())
    writer.close()

async def left_over():
    try:
        await asyncio.sleep(60)
    finally:
        print("cancelled", flush=True)

async def main():
    task = asyncio.create_task(left_over(), name="left over")
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\\n")
    print((await reader.read()).decode(), end="", flush=True)
    writer.close()
    server.close()
    await asyncio.to_thread(int)
    return task.get_loop()

import qasync
loop = run(QApplication([]), main())
print(type(loop).__qualname__, isinstance(loop, qasync.QEventLoop))
"""


def run_with(code: str, **environment: str) -> str:
    """What a process prints that runs the code with these environment variables."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", DEPRECATED, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_without_a_selectable_selector_the_program_runs_on_stock_qasync():
    printed = run_with(WITHOUT_A_SELECTABLE_SELECTOR, **{CHOICE_VARIABLE: ""})
    assert printed == "hello\ncancelled\nQSelectorEventLoop True\n"


@pytest.mark.parametrize(
    ("chosen", "printed"),
    [("", "QtEventLoop True"), ("qasync", "QSelectorEventLoop True"), ("other", "QtEventLoop True")],
)
def test_the_environment_chooses_between_two_loops_of_qasync(chosen, printed):
    """Whatever Qt other programs are told to use."""
    assert run_with(WHICH_LOOP, QT_API="pyqt5", **{CHOICE_VARIABLE: chosen}) == f"{printed} pyqt5\n"
