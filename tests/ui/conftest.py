"""What window tests share: Qt without a display, and an event loop that moves both Qt and asyncio."""

from __future__ import annotations

import os
from pathlib import Path

# Windows keep to the screen, which is only 800 by 800 if nothing is said. Qt splits this text at colons, which a path
# on Windows holds.
if os.environ.setdefault("QT_QPA_PLATFORM", "offscreen") == "offscreen" and os.name != "nt":
    os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={Path(__file__).with_name('screen.json')}"

import asyncio
import gc
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest
import pytestqt.plugin
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QAccessibleEvent, QFontDatabase
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.ui import deleting
from app.ui.loop import new_loop
from app.ui.shell.main_window import MainWindow
from app.ui.theme import fonts
from app.ui.widgets.badge import method_font
from tests.fonts import FILES, NARROW, WIDE, configuration
from tests.ui.desk import Desk, open_desk, shown_over
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.stock_qasync import DEPRECATED, STOCK_QASYNC

GARBAGE_MAX = 20_000
"""Objects made since the last collection."""


def pytest_configure(config: pytest.Config) -> None:
    """Let stock qasync use what is deprecated."""
    if STOCK_QASYNC:
        config.addinivalue_line("filterwarnings", DEPRECATED)


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Async tests and fixtures run inside Qt's event loop. HOOKLINE_EVENT_LOOP chooses which."""
    return {"qt": _loop_of_the_application}


def _loop_of_the_application() -> asyncio.AbstractEventLoop:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    return new_loop(app)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With a font that the user chose, a test of `each_font` runs once."""
    if "each_font" in metafunc.fixturenames:
        choice = metafunc.config.getoption("--font")
        metafunc.parametrize("each_font", FILES if choice == WIDE else [choice], indirect=True)


@pytest.fixture(scope="session")
def narrow_font(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What FONTCONFIG_FILE has to name for programs to find only that."""
    found = configuration(NARROW, tmp_path_factory.mktemp(NARROW))
    if found is None:
        pytest.skip("no narrow font is installed: fonts-yanone-kaffeesatz in Debian and Ubuntu")
    return found


@pytest.fixture
def each_font(request: pytest.FixtureRequest, qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The test runs with the wide font, then with the narrow one; for those that measure what has room."""
    if request.param == request.config.getoption("--font"):
        yield
        return
    chosen: Path = request.getfixturevalue("narrow_font")
    monkeypatch.setenv("FONTCONFIG_FILE", str(chosen))
    added = [QFontDatabase.addApplicationFont(str(file)) for file in sorted(chosen.with_name("fonts").iterdir())]
    families = QFontDatabase.applicationFontFamilies(added[0])
    monkeypatch.setattr(fonts, "UI_FAMILIES", families)
    monkeypatch.setattr(fonts, "MONO_FAMILIES", families)
    before = qapp.font()
    qapp.setFont(fonts.ui_font())
    method_font.cache_clear()
    yield
    qapp.setFont(before)
    method_font.cache_clear()
    for number in added:
        QFontDatabase.removeApplicationFont(number)


@pytest.fixture
def runner(qapp: QApplication) -> Iterator[asyncio.Runner]:
    """Closing it cancels the tasks left, so a forgotten one cannot reach into the next test."""
    with asyncio.Runner(loop_factory=partial(new_loop, qapp)) as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield runner
    asyncio.set_event_loop(None)


@pytest.fixture
def loop(runner: asyncio.Runner) -> asyncio.AbstractEventLoop:
    """The window's event loop, not running, set as the current one; for tests of the loop itself."""
    return runner.get_loop()


@pytest.fixture
def run(runner: asyncio.Runner) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """`run(coroutine)` inside Qt's event loop; as often as a test likes, tasks live on between two runs."""
    return runner.run


@pytest.fixture(autouse=True)
def qt_stands_still_with_the_loop(request: pytest.FixtureRequest) -> Iterator[None]:
    """Between an async fixture and its test the loop does not run, and what pytest-qt lets Qt do then could start no
    task. Qt does it when the loop runs again, or after the fixtures."""
    with pytest.MonkeyPatch.context() as patch:
        if inspect.iscoroutinefunction(request.function):
            patch.setattr(pytestqt.plugin, "_process_events", lambda: None)
        yield


@pytest.fixture(autouse=True)
def stock_qasync_is_freed() -> Iterator[None]:
    """Its QObjects are in reference cycles, and must not be freed on another thread."""
    yield
    if STOCK_QASYNC:
        gc.collect()


@pytest.fixture(scope="session", autouse=True)
def what_other_tests_left_is_frozen() -> None:
    """It would be looked through after each test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def garbage_is_collected_on_this_thread() -> Iterator[None]:
    """As in the program: the collector runs on whatever thread makes many objects, and must not free widgets there."""
    gc.disable()
    yield
    is_unfrozen = gc.isenabled()  # by what stops the program's collector
    if is_unfrozen or gc.get_count()[0] > GARBAGE_MAX:
        gc.collect()
    if is_unfrozen:
        gc.freeze()


@pytest.fixture(autouse=True)
def no_keys_held() -> Iterator[None]:
    """Shift or Ctrl of `QTest.keyClick` stays held, and would change what the next test's clicks select."""
    yield
    if QApplication.keyboardModifiers() != Qt.KeyboardModifier.NoModifier:
        QTest.keyRelease(QWidget(), Qt.Key.Key_Shift)


@pytest.fixture(scope="session", autouse=True)
def an_empty_clipboard_at_the_end(qapp: QApplication) -> Iterator[None]:
    """The offscreen platform deletes what is copied when the process exits, long after Python ended, which crashes."""
    yield
    qapp.clipboard().clear()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Over an empty store in `tmp_path`. For one with endpoints in it there is `open_desk`."""
    async with open_desk(tmp_path) as desk:
        yield desk


@pytest.fixture
async def window(desk: Desk) -> AsyncIterator[MainWindow]:
    """The program's window over `desk`, shown. For one with endpoints in it there is `tests.ui.desk.shown`."""
    async with shown_over(desk) as window:
        yield window


@pytest.fixture
async def shown(tmp_path: Path) -> AsyncIterator[PageDesk]:
    """The page of an endpoint without requests. For an endpoint of a certain kind there is `open_page`."""
    async with open_page(tmp_path) as shown:
        yield shown


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What screen readers are told to say; without one Qt would drop it."""
    texts: list[str] = []

    def note(event: QAccessibleEvent) -> None:
        if isinstance(event, QAccessibleAnnouncementEvent):
            texts.append(event.message())

    monkeypatch.setattr(QAccessible, "updateAccessibility", note)
    return texts


@pytest.fixture
def no_time_to_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is deleted in the window is deleted from the store at once."""
    monkeypatch.setattr(deleting, "DELAY_MS", 0.0)
