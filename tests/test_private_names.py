"""Every private name of a library that Hookline uses: where, and that it is still there with the shape it relies on.

A library may change these without a word, so an upgrade that does fails here first.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import gc
import inspect
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from aiohttp.base_protocol import BaseProtocol
from aiohttp.web_protocol import RequestHandler
from pygments.lexers.data import YamlLexer

from app.db.models import CaptureModel
from app.ui.loop import QEventLoop, QtEventLoop

ROOT = Path(__file__).parents[1]

ASYNCIO = ("_call_soon", "_csock", "_ready", "_run_once", "_scheduled", "_stopping", "_thread_id")
REBUILT_BY_QASYNC = ("_add_callback", "_add_reader", "_add_writer", "_remove_reader", "_remove_writer")
ARGPARSE = {
    "app/cli/parser.py": ("_SubParsersAction", "_check_value", "_option_string_actions"),
    "app/cli/commands/completion.py": ("_SubParsersAction", "_actions", "_choices_actions", "_option_string_actions"),
}
USED: dict[str, tuple[str, ...]] = {
    "app/core/bodies/formats/code.py": ("_tokens",),  # Pygments
    "app/db/records.py": ("_meta",),  # peewee
    "app/db/sqlite/schema.py": ("_create_table", "_meta"),  # peewee
    "app/db/search/scan.py": ("_meta",),  # peewee
    "app/db/store_copy.py": ("_meta",),  # peewee
    "app/server/api/protocol.py": ("_next_keepalive_close_time", "_parser", "_process_keepalive", "_waiter"),  # aiohttp
    "app/server/listening.py": ("_sockets",),  # asyncio
    "app/ui/loop.py": (*ASYNCIO, *REBUILT_BY_QASYNC),
    **ARGPARSE,
}
DOCUMENTED = {"_MEIPASS", "_exit", "_replace"}
"""Public in spite of their names: PyInstaller's, the os module's, and that of named tuples."""


def sources() -> list[Path]:
    return [path for folder in ("app", "packaging", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(path.read_text("utf-8"))))


@pytest.fixture(scope="module", autouse=True)
def _forget() -> Iterator[None]:
    """So many objects would hold up each garbage collection, while they are made and in the tests that follow."""
    gc.disable()
    yield
    nodes.cache_clear()
    gc.enable()


def defined(path: Path) -> set[str]:
    """What the file gives a value, as a name or as an attribute."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def test_each_private_name_of_a_library_is_listed() -> None:
    known = DOCUMENTED.union(*(defined(path) for path in sources()))
    wrong = [
        f"{name}:{node.lineno}: {node.attr}"
        for path in sources()
        for name in (path.relative_to(ROOT).as_posix(),)
        for node in nodes(path)
        if isinstance(node, ast.Attribute)
        and is_private(node.attr)
        and node.attr not in known
        and node.attr not in USED.get(name, ())
    ]
    assert not wrong, "\n".join(wrong)


def test_no_private_module_is_imported() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources()
        for node in nodes(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        if any(is_private(part) for part in name.split("."))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", USED)
def test_each_name_listed_is_still_used_there(file: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    assert [name for name in USED[file] if name not in text] == []


def parameters(function: object) -> list[str]:
    return list(inspect.signature(function).parameters)  # type: ignore[arg-type]


class TestAiohttp:
    def test_a_connection_that_is_idle_for_too_long_is_ended_by_one_method(self) -> None:
        assert parameters(RequestHandler._process_keepalive) == ["self"]
        assert {"_next_keepalive_close_time", "_parser", "_waiter"} <= {
            *RequestHandler.__slots__,
            *BaseProtocol.__slots__,
        }


class TestAsyncio:
    """What `QtEventLoop` drives."""

    def test_the_selector_loop_keeps_what_is_ready_and_what_is_due(self) -> None:
        loop = asyncio.SelectorEventLoop()
        try:
            ready = loop.call_soon(int)
            later, sooner = loop.call_later(20, int), loop.call_later(10, int)
            assert isinstance(loop._ready, deque)
            assert loop._ready[-1] is ready
            assert isinstance(loop._scheduled, list)
            assert loop._scheduled[0] is sooner
            assert later in loop._scheduled
            assert (loop._stopping, loop._thread_id) == (False, None)
            assert loop._csock.fileno() >= 0
            loop.stop()
            assert loop._stopping
        finally:
            loop.close()

    def test_one_iteration_runs_what_is_ready(self) -> None:
        loop = asyncio.SelectorEventLoop()
        try:
            seen: list[int] = []
            loop._call_soon(seen.append, (1,), None)
            loop.call_soon(int)  # with something ready, the selector does not wait
            loop._run_once()
            assert seen == [1]
        finally:
            loop.close()

    def test_the_parameters_are_those_that_are_passed_on(self) -> None:
        assert parameters(asyncio.SelectorEventLoop._run_once) == ["self"]
        assert parameters(asyncio.SelectorEventLoop._call_soon) == ["self", "callback", "args", "context"]

    async def test_a_server_has_its_sockets_before_it_listens(self) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, start_serving=False)
        sockets = server._sockets  # type: ignore[attr-defined]
        assert isinstance(sockets, list)
        assert [one.getsockname() for one in sockets] == [one.getsockname() for one in server.sockets]
        server.close()

    def test_transports_read_no_more_at_once_than_they_are_told(self) -> None:
        """`max_size` is not private, but not documented either; `capture/connection.py` sets it."""
        from asyncio.selector_events import _SelectorTransport

        assert isinstance(_SelectorTransport.max_size, int)


class TestQasync:
    @pytest.mark.skipif(sys.platform == "win32", reason="stock qasync runs there")
    def test_no_method_that_qasync_rebuilds_on_qt_is_left_in_the_loop(self) -> None:
        """A method that asyncio has too must be asyncio's or overridden: qasync's own needs parts that are not made."""
        rebuilt = {name for kind in QEventLoop.__mro__ if kind.__module__.startswith("qasync") for name in vars(kind)}
        rebuilt -= {"__dict__", "__doc__", "__module__", "__weakref__"}
        assert set(REBUILT_BY_QASYNC) <= rebuilt
        shared = {name for name in rebuilt if hasattr(asyncio.SelectorEventLoop, name)}
        assert shared - vars(QtEventLoop).keys() == set()


class TestPygments:
    def test_a_lexer_keeps_its_rules_by_state_once_one_was_made(self) -> None:
        YamlLexer()
        for state, rules in YamlLexer._tokens.items():
            assert isinstance(state, str)
            assert all(len(rule) == 3 and callable(rule[0]) for rule in rules)


class TestPeewee:
    def test_a_model_knows_its_table(self) -> None:
        assert CaptureModel._meta.table_name == "capture"
        assert CaptureModel._meta.combined["endpoint_id"] is CaptureModel.endpoint
        assert CaptureModel.id.model._meta.table_name == "capture"


class TestHttpx:
    def test_a_command_loads_httpx_without_its_own_command_line(self, tmp_path: Path) -> None:
        run = "from app.__main__ import main; main(['version']); import httpx"
        loaded = "import sys; assert not {'click', 'rich'} & set(sys.modules)"
        command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {run}; {loaded}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


class TestArgparse:
    """What completes a command line, and what a mistyped command line is compared with."""

    def test_a_parser_lists_its_arguments_and_commands(self) -> None:
        parser = argparse.ArgumentParser()
        one = parser.add_argument("--one")
        commands = parser.add_subparsers()
        commands.add_parser("run", help="runs")
        assert one in parser._actions
        assert parser._option_string_actions["--one"] is one
        assert isinstance(commands, argparse._SubParsersAction)
        assert [(action.dest, action.help) for action in commands._choices_actions] == [("run", "runs")]
        assert parameters(argparse.ArgumentParser._check_value) == ["self", "action", "value"]
