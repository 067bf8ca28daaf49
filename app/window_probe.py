"""Inspects a window from outside, as its user would: whether it painted, what it lists, what it shows of a request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QTimer, Signal, Slot
from PySide6.QtGui import QFontInfo, QGuiApplication, QIcon, QImage

from app.core.bodies.formats.code import LANGUAGES, lexer_of, token_runs
from app.core.errors import HooklineError
from app.core.files import resource
from app.ui.endpoints.qr_dialog import QrCode
from app.ui.shell.main_window import MainWindow
from app.ui.theme.fonts import can_write, ui_font
from app.ui.theme.icons import app_icon, characters
from app.ui.theme.theme import Theme

PATIENCE_S, LOOK_S = 10.0, 0.005
ICON_SIZE = 32
CONTROLS = ("check", "chevron-down", "chevron-left", "chevron-right", "chevron-up")


class WindowProbe(QObject):
    """Created when the window was shown but not yet painted, that is, before the loop continues.

    `hidden` is emitted when the window is hidden.
    """

    hidden = Signal()

    def __init__(self, window: MainWindow, theme: Theme) -> None:
        super().__init__(window)
        self._window, self._theme = window, theme
        self._painted_at: int | None = None
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Records the first paint, which ends before Qt does anything else, and the hiding."""
        if event.type() == QEvent.Type.Paint and self._painted_at is None:
            QTimer.singleShot(0, self._record_paint)
        elif event.type() == QEvent.Type.Hide:
            self.hidden.emit()
        return False

    @Slot()
    def _record_paint(self) -> None:
        self._painted_at = self._painted_at or time.monotonic_ns()

    async def first_paint(self) -> int:
        """When the window was first painted, in nanoseconds of the system's monotonic clock."""
        await _until(lambda: self._painted_at is not None, "The window was not painted")
        return self._painted_at or 0

    @staticmethod
    def platform() -> str:
        """What Qt paints on: `xcb`, `wayland`, `offscreen`, ..."""
        return QGuiApplication.platformName()

    def checks(self) -> dict[str, Callable[[], str]]:
        """The checks that need no request, by name; each returns what was seen."""
        return {
            "icons": self._look_at_icons,
            "fonts": _look_at_fonts,
            "syntax colours": _look_at_colours,
            "QR code": self._look_at_qr_code,
        }

    async def check_list(self, ids: Sequence[str]) -> str:
        """Wait until the list shows exactly these requests, the last one on top."""
        model = self._window.requests.feed.model

        def rows() -> list[str]:
            return [model.summary(row).id for row in range(model.rowCount())]

        expected = sorted(ids, reverse=True)
        await _until(lambda: rows() == expected, f"The list does not show the {len(ids)} requests")
        self._window.requests.show_list()  # on a small screen the first request has its place
        await _until(self._window.requests.list.isVisible, "The list is not to be seen")
        return f"{len(ids)} requests"

    async def check_body(self, name: str, view: str, text: str) -> str:
        """Open a request and wait until its body is shown in `view` (code, hex, nothing) and contains `text`."""
        page = self._window.requests
        body = page.detail.body
        page.open_request(name)

        def is_there() -> bool:
            capture = page.detail.capture
            return (
                capture is not None
                and capture.id == name
                and body.stack.currentWidget() is getattr(body, view)
                and (view != "code" or text in body.code.toPlainText())
            )

        await _until(is_there, f"The body is not shown as {view}")
        return body.facts.text() or "no body"

    def _look_at_icons(self) -> str:
        icons = {name: self._theme.icon(name) for name in characters()}
        icons["Hookline's own"] = app_icon()
        icons |= {name: QIcon(str(resource(f"icons/controls/{name}.svg"))) for name in CONTROLS}
        blank = [name for name, icon in icons.items() if _is_blank(icon.pixmap(ICON_SIZE).toImage())]
        if blank:
            raise HooklineError(f"These icons are blank: {', '.join(blank)}.")
        return f"{len(icons)} are drawn"

    def _look_at_qr_code(self) -> str:
        """Its library is imported only when there is one to draw."""
        code = QrCode(self._window)
        code.resize(code.sizeHint())
        code.show_text("https://hooks.example.org/catch/selftest")
        image = code.grab().toImage()
        code.deleteLater()
        if len({image.pixel(x, image.height() // 2) for x in range(image.width())}) == 1:
            raise HooklineError("The QR code is blank.")
        return f"{code.modules.width()} modules a side"


def _look_at_fonts() -> str:
    if not can_write():
        raise HooklineError("Text cannot be drawn, because no font is installed.")
    return QFontInfo(ui_font()).family()


def _is_blank(image: QImage) -> bool:
    """Whether every pixel is transparent."""
    alpha = image.convertToFormat(QImage.Format.Format_Alpha8)
    return not any(bytes(alpha.constBits()))


async def _until(condition: Callable[[], bool], otherwise: str) -> None:
    """Wait until `condition` is true; HooklineError saying `otherwise` when it stays false."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise HooklineError(f"{otherwise} within {PATIENCE_S:g} s.")
        await asyncio.sleep(LOOK_S)


def _look_at_colours() -> str:
    """A bundle contains only the parts of Pygments that were listed."""
    for language in LANGUAGES:
        list(token_runs(lexer_of(language.lexer), "a = 'b'\n"))
    return f"{len(LANGUAGES)} languages"
