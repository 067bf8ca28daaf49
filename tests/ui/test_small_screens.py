"""Windows and dialogs lie on the screen, whatever its size and scale, and their buttons can be reached."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.core.model import Plan, StorageUse
from app.ui.dashboard import Stats
from app.ui.qt_events import SessionStats
from app.ui.theme.metrics import SPACE_5
from app.ui.theme.theme import Theme
from app.ui.widgets import fit_screen
from app.ui.widgets.fit_screen import bounded, fit, room
from tests import factories
from tests.ui.desk import shown
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(os.name == "nt", reason="the offscreen platform takes no path with a colon")
@pytest.mark.parametrize(
    ("width", "height", "scale", "logical"),
    [
        pytest.param(1366, 768, "1", [1366, 768], marks=pytest.mark.long),  # larger than the next
        (1920, 1080, "1.5", [1280, 720]),
        (1920, 1080, "2", [960, 540]),
    ],
)
@pytest.mark.usefixtures("each_font")
def test_every_window_and_dialog_fits(tmp_path: Path, width: int, height: int, scale: str, logical: list[int]) -> None:
    screens = tmp_path / "screens.json"
    screens.write_text(json.dumps({"screens": [{"name": "s", "x": 0, "y": 0, "width": width, "height": height}]}))
    (folder := tmp_path / "data").mkdir()
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": f"offscreen:configfile={screens}",
        "QT_SCALE_FACTOR": scale,
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "tests.ui.small_screen", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["screen"] == logical
    assert report["wrong"] == []
    assert len(report["seen"]) == 18
    first = report["seen"]["first start"]
    assert first[0] > 0.95 * min(1280, logical[0]), "as large as there is room"
    assert first[1] > 0.88 * min(800, logical[1]), "as large as there is room"


@pytest.mark.usefixtures("each_font")
async def test_no_page_scrolls_sideways_at_1080p_and_200_percent(tmp_path: Path) -> None:
    """Nor with figures of some length."""

    async with shown(tmp_path, endpoints=6) as (desk, window):
        window.resize(944, 494)  # 960 by 540 less the frame of a window
        await desk.capture(desk.store.endpoints.all()[0])
        use = StorageUse(used=1_200_000, limit=11 << 30, when_full="delete_oldest", reached=False)
        window.dashboard.stats.show_kept(12_345, use)
        await settle(10)
        scrolling = window.pages.parentWidget().parentWidget()
        assert isinstance(scrolling, QScrollArea)
        assert scrolling.horizontalScrollBar().maximum() == 0


@pytest.mark.usefixtures("each_font")
async def test_a_request_beside_its_list_does_not_scroll_sideways_at_150_percent(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        window.hide()
        window.resize(894, 466)  # 1366 by 768 at 150 %, less the frame of a window
        window.show()
        endpoint = desk.store.endpoints.all()[0]
        scrolling = window.pages.parentWidget().parentWidget()
        assert isinstance(scrolling, QScrollArea)
        loaded: list[object] = []
        window.requests.detail.body.loader.begun.connect(lambda *_: loaded.append(None))
        for content_type, body in (
            ("application/json", b'{"a":1}'),
            ("text/html", b"<p>Hello"),
            ("image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg"/>'),
            ("application/x-www-form-urlencoded", b"a=1&b=2"),
            ("text/csv", b"a,b\n1,2\n"),
            (
                "multipart/form-data; boundary=b",
                b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nhello\r\n--b--\r\n',
            ),
        ):
            capture = factories.capture(body, endpoint_id=endpoint.id, content_type=content_type)
            await desk.store.captures.add(capture, body)
            loaded.clear()
            window.show_endpoint(endpoint.id)
            window.requests.go_to(capture)
            await until(lambda: loaded)
            await settle(10)
            assert scrolling.horizontalScrollBar().maximum() == 0, content_type


class SmallScreen:
    """A screen with a panel at its left and a taskbar below."""

    def geometry(self) -> QRect:
        return QRect(0, 0, 1280, 720)

    def availableGeometry(self) -> QRect:
        return QRect(72, 0, 1208, 680)


class TestFitting:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fit_screen, "_screen", lambda _: SmallScreen())

    def test_panels_and_the_frame_are_left_out(self, qtbot: QtBot) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        assert room(window) == QRect(72, 0, 1208, 680).marginsRemoved(fit_screen.FRAME).size()
        window.show()
        frame = window.windowHandle().frameMargins()
        assert not frame.isNull()
        assert room(window) == QSize(1208 - frame.left() - frame.right(), 680 - frame.top() - frame.bottom())

    def test_a_window_that_is_too_large_or_out_of_sight_comes_back(self, qtbot: QtBot) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        window.setMinimumSize(1300, 700)
        window.setGeometry(2000, -500, 1800, 1200)
        fit(window)
        window.show()
        assert QRect(72, 0, 1208, 680).contains(window.frameGeometry())
        assert window.size() == window.minimumSize() == QSize(1192, 634)

    @pytest.mark.parametrize("place", [QRect(1100, 500, 600, 400), QRect(-300, -50, 600, 400)])
    def test_a_window_that_is_partly_out_of_sight_is_moved(self, qtbot: QtBot, place: QRect) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        window.setGeometry(place)
        fit(window)
        window.show()
        assert QRect(72, 0, 1208, 680).contains(window.frameGeometry())
        assert window.size() == place.size()

    def test_a_window_that_fits_is_left_alone(self, qtbot: QtBot) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        window.setGeometry(200, 100, 600, 400)
        fit(window)
        assert window.geometry() == QRect(200, 100, 600, 400)

    def test_a_window_without_a_place_is_given_none(self, qtbot: QtBot) -> None:
        """The system puts a dialog over its window; a move beforehand would forestall that."""
        window = QWidget()
        qtbot.addWidget(window)
        window.resize(2000, 400)
        fit(window)
        assert window.width() == 1208 - 16
        assert not window.testAttribute(fit_screen.Qt.WidgetAttribute.WA_Moved)

    def test_a_dialog_is_no_taller_than_its_window_unless_that_is_low(self, qtbot: QtBot) -> None:
        window = QWidget()
        qtbot.addWidget(window)
        dialog = QWidget(window)
        for height, allowed in ((2000, 634), (300, 634), (660, 634)):
            window.resize(900, height)
            assert bounded(dialog, QSize(600, 5000)) == QSize(600, allowed)
        assert bounded(dialog, QSize(600, 400)) == QSize(600, 400)


def test_a_dialog_is_no_taller_than_its_window(qapp: QApplication, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    dialog = QWidget(window)
    for height, allowed in ((900, 852), (300, 640), (5000, 1394)):
        window.resize(900, height)
        assert bounded(dialog, QSize(600, 5000)) == QSize(600, allowed)


def test_the_numbers_of_a_day_fit_the_dashboard_of_a_small_window(qapp: QApplication, qtbot: QtBot) -> None:
    theme = Theme()
    theme.apply(qapp)
    stats = Stats(theme)
    qtbot.addWidget(stats)
    ledger = SessionStats()
    ledger.stored = ledger.forwarded = 9_999
    ledger.failed = ledger.refused = 999
    stats.show_session_stats(ledger)
    stats.show_plan(6, Plan.FREE)
    stats.show_kept(9_999, StorageUse(used=5 << 30, limit=11 << 30, when_full="delete_oldest", reached=False))
    assert stats.minimumSizeHint().width() + 2 * SPACE_5 <= 722  # what a window of 944 leaves a page
