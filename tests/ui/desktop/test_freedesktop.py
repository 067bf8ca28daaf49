"""Notifications over D-Bus, against a service on a bus of its own."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtDBus import QDBusConnection, QDBusMessage
from PySide6.QtGui import QGuiApplication

from app.ui.desktop import freedesktop
from app.ui.desktop.freedesktop import NAME, PATH, Freedesktop
from app.ui.desktop.notifications import NONE_ON_LINUX, Notice, Notifier
from app.ui.messages import Messages
from app.ui.tasks import Tasks
from tests.ui.desktop.recording import RecordingTray
from tests.ui.waiting import until

DAEMON = shutil.which("dbus-daemon")
pytestmark = pytest.mark.skipif(
    DAEMON is None or not sys.platform.startswith("linux"), reason="there is no dbus-daemon"
)
SERVICE = Path(__file__).with_name("fake_service.py")
CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
</policy></busconfig>"""
ALL = "body,body-markup,actions"
ONE = Notice(key="a-slug", title="Stripe <i>test</i>", text="POST /<b>x</b>&amp; · paid", capture_id="id-1")
TOKEN = "XDG_ACTIVATION_TOKEN"
_names = itertools.count()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A bus without any service."""
    assert DAEMON is not None
    config = tmp_path / "bus.conf"
    config.write_text(CONFIG)
    command = [DAEMON, f"--config-file={config}", "--nofork", "--print-address"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as daemon:
        assert daemon.stdout is not None
        yield daemon.stdout.readline().strip()
        daemon.terminate()


@contextmanager
def serving(address: str, capabilities: str = ALL) -> Iterator[None]:
    """The service is there."""
    command = [sys.executable, str(SERVICE), address, capabilities]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.terminate()


@contextmanager
def connected(address: str) -> Iterator[QDBusConnection]:
    name = f"test-{next(_names)}"
    yield QDBusConnection.connectToBus(address, name)
    QDBusConnection.disconnectFromBus(name)


async def ask(bus: QDBusConnection, call: str, *given: str) -> Any:
    message = QDBusMessage.createMethodCall(NAME, PATH, NAME, call)
    message.setArguments(list(given))
    return (await asyncio.to_thread(bus.call, message)).arguments()


async def told(bus: QDBusConnection) -> list[dict[str, Any]]:
    return list(json.loads((await ask(bus, "Told"))[0]))


@pytest.mark.parametrize(
    ("capabilities", "wanted"),
    [
        (ALL, (ONE.title, "POST /&lt;b&gt;x&lt;/b&gt;&amp;amp; · paid", ["default", "Open"])),
        ("body", (ONE.title, ONE.text, [])),
        ("actions", (f"{ONE.title}: {ONE.text}", "", ["default", "Open"])),
        ("wrong", (f"{ONE.title}: {ONE.text}", "", [])),
    ],
)
async def test_text_stays_plain_whatever_the_service_can_do(
    address: str, capabilities: str, wanted: tuple[str, str, list[str]]
) -> None:
    with serving(address, capabilities), connected(address) as bus:
        assert await Freedesktop(bus).show(ONE)
        (shown,) = await told(bus)
        assert (shown["title"], shown["text"], shown["actions"]) == wanted
        assert (shown["app"], shown["timeout"], shown["hints"]) == ("Hookline", -1, {"desktop-entry": "hookline"})


async def test_a_later_one_takes_the_place_of_its_endpoints_last(address: str) -> None:
    with serving(address), connected(address) as bus:
        service = Freedesktop(bus)
        for key in ("a", "b", "a"):
            assert await service.show(Notice(key=key, title=key, text=""))
        assert [(one["title"], one["replaces"]) for one in await told(bus)] == [("a", 0), ("b", 0), ("a", 1)]


async def test_clicks_and_sweeps_come_back_with_the_notice(address: str) -> None:
    with serving(address), connected(address) as bus:
        service = Freedesktop(bus)
        clicked: list[Notice] = []
        dismissed: list[Notice] = []
        service.clicked.connect(clicked.append)
        service.dismissed.connect(dismissed.append)
        other = Notice(key="b", title="b", text="")
        assert await service.show(ONE)
        assert await service.show(other)
        for what in ("click 77", "expire 2", "click 1", "dismiss 2"):
            await ask(bus, "Act", what)
        await until(lambda: clicked and dismissed)
        assert (clicked, dismissed) == ([ONE], [other])


async def test_a_click_brings_what_lets_the_window_come_to_the_front(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QGuiApplication, "platformName", lambda: "wayland")
    monkeypatch.setenv(TOKEN, "")
    with serving(address), connected(address) as bus:
        service = Freedesktop(bus)
        clicked: list[str] = []
        service.clicked.connect(lambda _: clicked.append(os.environ[TOKEN]))
        assert await service.show(ONE)
        for what in ("click 1", "click 77", "click 1"):
            await ask(bus, "Act", what)
        await until(lambda: len(clicked) == 2)
        assert clicked == ["token-1"] * 2
        await ask(bus, "Act", "click 77")
        assert os.environ[TOKEN] == "token-1", "of another program's notification"


async def test_a_service_that_never_answers_holds_up_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freedesktop, "TIMEOUT_MS", 1_000)
    with serving(address, "silent"), connected(address) as bus:
        async with asyncio.timeout(10):
            assert await Freedesktop(bus).show(ONE)


async def test_without_a_service_the_tray_tells_and_without_a_tray_the_reason_is_known(address: str) -> None:
    with connected(address) as bus:
        tray, tasks = RecordingTray(), Tasks(Messages())
        service = Freedesktop(bus)
        notifier = Notifier(tray, tasks, service, service)
        clicked: list[Notice] = []
        dismissed: list[Notice] = []
        notifier.clicked.connect(clicked.append)
        notifier.dismissed.connect(dismissed.append)
        assert notifier.unavailable_reason() is None
        notifier.check()
        await until(lambda: notifier.unavailable_reason() == NONE_ON_LINUX)
        tray.tooltip = "Hookline"
        assert notifier.unavailable_reason() is None
        notifier.show(ONE)
        await until(lambda: tray.told == [(ONE.title, ONE.text)])
        with serving(address):
            notifier.show(ONE)
            await until(lambda: tasks.running() == 0)
            assert len(await told(bus)) == 1
            assert len(tray.told) == 1
            for what in ("dismiss 1", "click 1"):
                await ask(bus, "Act", what)
            await until(lambda: clicked and dismissed)
            assert clicked == dismissed == [ONE]
        tray.tooltip = None
        notifier.check()
        await until(lambda: notifier.unavailable_reason() == NONE_ON_LINUX)


async def test_a_bus_that_is_not_there_is_no_trouble(tmp_path: Path) -> None:
    with connected(f"unix:path={tmp_path / 'none'}") as bus:
        service = Freedesktop(bus)
        assert not await service.check()
        assert not await service.show(ONE)
