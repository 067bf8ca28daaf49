"""Drawings and pages are drawn in a separate process, which uses no file, no network and little time."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QGuiApplication, QImage, QTextDocument
from PySide6.QtWidgets import QApplication, QTextBrowser

from app.start import DRAW
from app.ui.inspector.body import pictures
from app.ui.inspector.body.image_view import PageView
from app.ui.inspector.body.pictures import ARGUMENT, NOT_LOADED, DrawRequest, Ending, draw_apart, drawn
from tests.ui.requests.page_desk import open_body, open_page
from tests.ui.stock_qasync import not_on_stock_qasync
from tests.ui.waiting import until

IN_OPEN = 0x20
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who opens a file")


class Watched:
    """A picture on the disk, and a server that would send one; `touched` tells whether anything came to either."""

    def __init__(self, folder: Path, server: socket.socket, inotify: int) -> None:
        self.file, self._server, self._inotify = folder / "secret.png", server, inotify
        self.url = f"http://127.0.0.1:{server.getsockname()[1]}/secret.png"

    def touched(self) -> list[str]:
        found = []
        try:
            self._server.accept()[0].close()
            found.append("server")
        except BlockingIOError:
            pass  # nobody connected
        try:
            os.read(self._inotify, 4_096)
            found.append("file")
        except BlockingIOError:
            pass  # nobody opened the file
        return found


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    image = QImage(20, 20, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    assert image.save(str(tmp_path / "secret.png"))
    libc = ctypes.CDLL(None, use_errno=True)
    inotify = libc.inotify_init1(os.O_NONBLOCK)
    assert libc.inotify_add_watch(inotify, os.fsencode(tmp_path / "secret.png"), IN_OPEN) > 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield Watched(tmp_path, server, inotify)
    os.close(inotify)


def places(watched: Watched) -> list[str]:
    return [str(watched.file), watched.file.as_uri(), watched.url, watched.url.removeprefix("http:")]


def svg_of(watched: Watched) -> bytes:
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">']
    for place in places(watched):
        parts += [
            f'<image width="9" height="9" href="{place}"/><image width="9" height="9" xlink:href="{place}"/>',
            f'<style>@import "{place}"; rect {{ fill: url({place}#a) }}</style><use xlink:href="{place}#a"/>',
            f'<rect width="1" height="1" fill="url({place}#a)" style="fill:url({place})"/>',
        ]
    return ("".join(parts) + '<circle r="1"/></svg>').encode()


def html_of(watched: Watched) -> bytes:
    parts = ["<html><body><p>Words"]
    for place in places(watched):
        parts += [
            f'<link rel="stylesheet" href="{place}"><img src="{place}"><p style="background-image:url({place})">x',
            f'<table background="{place}"><tr><td style="background:url({place})">x</table><iframe src="{place}">',
            "</iframe>",
            f'<style>@import "{place}";</style><ul style="list-style-image:url({place})"><li>x</ul>',
        ]
    return "".join(parts).encode()


def wanted(kind: str) -> DrawRequest:
    return DrawRequest(kind=kind, content_type="", width=400, ratio=1.5)


@linux
def test_what_qt_itself_would_open(watched: Watched, qapp: QApplication) -> None:
    """Why pages are rebuilt: Qt opens the file even if the document refuses to load anything."""

    class Nothing(QTextBrowser):
        def loadResource(self, kind: int, name: object) -> object:
            return None

    browser = Nothing()
    browser.setHtml(f'<img src="{watched.file}">')
    browser.resize(200, 200)
    browser.grab()
    browser.deleteLater()
    assert watched.touched() == ["file"]
    assert isinstance(browser.document(), QTextDocument)


@pytest.mark.slow
@linux
def test_no_file_and_no_server_is_touched(watched: Watched) -> None:
    for kind, body in (("svg", svg_of(watched)), ("html", html_of(watched))):
        picture = drawn(wanted(kind), body, 30)
        assert picture.image is not None, picture.words
        assert NOT_LOADED in picture.words
        assert watched.touched() == []
        red = QColor("red").rgb()
        image = picture.image
        assert kind == "svg" or image.deviceIndependentSize().width() == wanted(kind).width
        assert not any(
            image.pixel(x, y) == red for x in range(0, image.width(), 5) for y in range(0, image.height(), 5)
        )


SLOW = [sys.executable, "-c", "import sys, time; sys.stdin.buffer.read(); print(flush=True); time.sleep(60)"]


def test_what_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_command", lambda: SLOW)
    begun = time.monotonic()
    assert "too long" in drawn(wanted("svg"), SVG, 0.5).words
    assert time.monotonic() - begun < 30


@linux
def test_the_system_ends_what_outlives_the_window() -> None:
    from resource import RLIMIT_AS, RLIMIT_CPU, prlimit  # not on Windows

    with subprocess.Popen(pictures._command(), stdin=subprocess.PIPE) as process:
        end = time.monotonic() + 60
        while prlimit(process.pid, RLIMIT_AS)[0] != pictures.MEMORY and time.monotonic() < end:
            time.sleep(0.01)
        seconds, _ = prlimit(process.pid, RLIMIT_CPU)
        process.kill()
    assert 0 < seconds < 10


def test_a_process_that_fails_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = drawn(wanted("svg"), b"<svg", 60)
    assert refused.image is None
    assert "damaged" in refused.words
    head = b'{"words": "", "width": 9, "height": 9, "stride": 36, "format": 4}'
    half = struct.pack("<I", len(head)) + head
    write = f"import sys; sys.stdout.buffer.write({half!r})"
    for code in ("import sys; sys.exit(3)", "print('no picture at all')", "import os; os.abort()", write):
        monkeypatch.setattr(pictures, "_command", lambda code=code: [sys.executable, "-c", code])
        assert "The preview failed" in drawn(wanted("svg"), b"<svg/>").words


@not_on_stock_qasync("leaves its executor's threads until the loop closes")
async def test_the_end_of_the_program_does_not_wait_for_a_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_command", lambda: SLOW)
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)

    with in_time(monkeypatch):
        drawing = asyncio.create_task(draw_apart(wanted("svg"), SVG))
        await until(lambda: started)
        drawing.cancel()
        await asyncio.gather(drawing, return_exceptions=True)
        begun = time.monotonic()
        await asyncio.get_running_loop().shutdown_default_executor()
        assert time.monotonic() - begun < 20
        assert started[0].returncode is not None
        ending = Ending()
        ending.end()  # before the process has started
        drawn(wanted("svg"), SVG, ending=ending)
        assert time.monotonic() - begun < 20


def test_no_module_comes_from_the_folder_it_was_started_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("html", "struct", "msgspec"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert drawn(wanted("svg"), SVG, 60).image is not None
    assert not (tmp_path / "ran").exists()


def test_the_packaged_program_draws_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/opt/hookline/hookline")
    assert pictures._command() == ["/opt/hookline/hookline", DRAW]
    assert ARGUMENT == DRAW


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="blue"/></svg>'


@pytest.mark.slow
def test_a_drawing_has_its_own_size_on_any_screen() -> None:
    for ratio in (1.0, 1.5, 2.0):
        image = drawn(DrawRequest(kind="svg", content_type="", width=0, ratio=ratio), SVG, 60).image
        assert image is not None
        assert image.size() == QSize(round(40 * ratio), round(20 * ratio))


@contextmanager
def in_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However busy the machine is."""
    monkeypatch.setattr(pictures.drawn, "__defaults__", (60.0,))
    yield


@pytest.mark.slow
async def test_drawings_and_pages_are_previewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with in_time(monkeypatch):
        async with open_page(tmp_path) as shown:
            body = shown.detail.body
            await open_body(shown, SVG, "image/svg+xml")
            assert body.views.current() == "pretty"
            body.views.activated.emit("preview")
            await until(lambda: body.image.caption.text().startswith("SVG · 40×20 pixels"))
            assert NOT_LOADED in body.image.caption.text()
            assert body.stack.currentWidget() is body.image
            assert body.image.canvas.picture_rect().size() == QSize(40, 20)
            # What is copied is the drawing's text.
            body.copy.click()
            await until(lambda: QGuiApplication.clipboard().text() == SVG.decode())
            await open_body(shown, b"<h1>Hello</h1><script>x</script>", "text/html")
            body.views.activated.emit("preview")
            await until(lambda: body.views.current() == "preview")
            page = body.lazy_views.view("page")
            assert isinstance(page, PageView)
            await until(lambda: NOT_LOADED in page.words.text())
            assert "Not shown: script" in page.words.text()
            assert page.page.pixmap().width() >= 300
            assert not body.grab().isNull()
            await open_body(shown, b"{}", "application/json")
            assert page.page.pixmap().isNull()
