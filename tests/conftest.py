"""What all tests share.

`--samples FOLDER`: every file below it is shown as a body would be, and a table of them ends the test output.
`--font wide|narrow|FILES`: the only fonts that the program finds; wide unless told.
"""

from __future__ import annotations

import compileall
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from peewee import Model, SqliteDatabase

from app.core import providers, tunnel_program
from app.db.sqlite import schema
from tests.fonts import WIDE, configuration

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

ROOT = Path(__file__).parents[1]
MEMORY = Path("/dev/shm")
ROOM = 2 * 1024**3
"""Bytes that must be free in memory for the tests' folders; they need a tenth of it."""

AUTHORITY = ROOT / "tests" / "authority.pem"
"""The one authority that programs find here, by which nothing is signed."""

Row = list[Any]
"""File, bytes, view, milliseconds to the first screen: plain values, so that they can come from another process."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    parser.addoption("--samples", metavar="FOLDER", help="show every file below this folder as a body, and list them")
    parser.addoption(
        "--font", metavar="FILES", default=WIDE, help="wide, narrow, or the files of a font, as LiberationSans-*"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse samples that are in no folder, and compile the program and the tests.

    A hundred tests start the program as a process. Where Python may not write bytecode, each start would compile it
    anew, and each process of xdist all tests, which takes longer than to collect them.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # What a shell starts in the background ignores Ctrl-C, and so would every program that a test starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput"):  # once, before xdist starts its processes
        for package in ("app", "hookline"):
            compileall.compile_dir(ROOT / package, quiet=2)
        if _has_room_in_memory():
            os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
        # OpenSSL would read the system's authorities at the start of each program, and aiohttp has it do so twice.
        os.environ["SSL_CERT_FILE"] = str(AUTHORITY)
        if sys.platform.startswith("linux"):
            # Qt warns of a locale without UTF-8, and programs would speak the user's language.
            os.environ["LC_ALL"] = "C.UTF-8"
            os.environ["LANGUAGE"] = "C"  # or argparse looks for translations of every text, in each command anew
        _choose_font(config)
    sys.dont_write_bytecode = False  # of the tests and hypothesis; pytest alone can compile them
    import hypothesis  # after it

    # How long an example takes is the machine's matter, which runs other tests at the same time.
    hypothesis.settings.register_profile(
        "tests", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("tests")
    folder = config.getoption("--samples")
    if folder and not Path(folder).is_dir():
        raise pytest.UsageError(f"--samples: {folder} is no folder.")


def _choose_font(config: pytest.Config) -> None:
    """For this process, those of xdist and the programs that tests start, before any starts Qt. Where DejaVu Sans is
    not installed, the tests have the fonts of the machine.
    """
    choice, folder = config.getoption("--font"), Path(tempfile.mkdtemp(prefix="hookline-fonts-"))
    config.add_cleanup(lambda: shutil.rmtree(folder))
    chosen = configuration(choice, folder)
    if chosen is not None:
        os.environ["FONTCONFIG_FILE"] = str(chosen)
    elif choice != WIDE:
        raise pytest.UsageError(f"--font: {choice} is not installed.")


def _has_room_in_memory() -> bool:
    """Whether the tests' folders can be in memory: half the time of a test with a store is the disk's, for every commit
    waits for it, and no test cuts the power. Some tests run scripts from their folder."""
    if not sys.platform.startswith("linux") or not os.access(MEMORY, os.W_OK):
        return False
    found = os.statvfs(MEMORY)
    return found.f_bavail * found.f_frsize >= ROOM and not found.f_flag & os.ST_NOEXEC


@pytest.hookimpl(optionalhook=True)  # absent with `-p no:xdist`
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors: many tests wait for programs that they have started."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Python looks for no garbage while the tests are collected, which all stay, nor among them later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)  # as in the program
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _each_resource_is_parsed_once() -> Iterator[None]:
    """A program reads its TOML files at its start, and a thousand tests start one in this process."""
    from aiohttp import web_app  # it reads the authorities that SSL_CERT_FILE names

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "read_provider", cache(providers.read_provider))
        patch.setattr(tunnel_program, "read_spec", cache(tunnel_program.read_spec))
        patch.setattr(schema, "_Tables", _Tables)
        # aiohttp would keep the last thousand handlers, and with them the stores and services of the tests before.
        patch.setattr(web_app, "_cached_build_middleware", web_app._build_middlewares)
        yield


_AsInTheProgram = schema._Tables


class _Tables(_AsInTheProgram):
    """Peewee takes half the time of opening a new database to put the statements together that create it, which are
    the same for each."""

    def create_all(self, safe: bool = True, **options: Any) -> None:
        for statement in _statements(self.model):
            self.database.execute_sql(statement)


@cache
def _statements(model: type[Model]) -> tuple[str, ...]:
    """What creates the table of `model` with its indexes."""
    executed: list[str] = []
    database = SqliteDatabase(":memory:")
    database.connection().set_trace_callback(executed.append)
    _AsInTheProgram(model, database).create_all(safe=False)
    database.close()
    return tuple(executed)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server without databases, one for each process of xdist: it starts within a second."""
    if sys.platform == "win32":
        pytest.skip("the tests' PostgreSQL server listens on a Unix socket")
    from tests import postgres  # a tenth of a second that few tests need

    why_not = postgres.why_no_server()
    if why_not:
        pytest.skip(why_not)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PG")]:  # they lead to a server of the user's
            patch.delenv(name)
        server = postgres.PostgresServer()
        yield server
        server.close()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """Where a new, empty database is; it is dropped after the test, with what is still connected to it."""
    name = postgres_server.create()
    yield postgres_server.url(name)
    postgres_server.drop_later(name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table of what the tests of samples noted, in this process or in those of xdist."""
    reports = (report for found in terminalreporter.stats.values() for report in found)
    calls = (report for report in reports if getattr(report, "when", None) == "call")
    noted = (found for report in calls for found in report.user_properties)
    rows: list[Row] = sorted(list(value) for name, value in noted if name == "sample")
    if not rows or not config.getoption("--samples"):
        return
    width = max(len(row[0]) for row in rows)
    terminalreporter.section("samples")
    terminalreporter.line(f"{'file':{width}}  {'bytes':>11}  {'view':11}  {'first ms':>8}")
    for file, size, view, first in rows:
        terminalreporter.line(f"{file:{width}}  {size:11,}  {view:11}  {first:8.1f}")
    terminalreporter.line(f"{len(rows):,} files, slowest first screen {max(row[3] for row in rows):.1f} ms")
