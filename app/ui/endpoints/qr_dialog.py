"""The QR code of an endpoint's capture URL, and the dialog that shows it."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.core.bodies.escape import escape
from app.core.errors import HooklineError
from app.core.events import EndpointRemoved, EndpointSaved, Subscriptions, TunnelChanged
from app.core.model import Endpoint
from app.core.own_urls import is_loopback
from app.core.tunnel import CONNECTED, TunnelState
from app.ui.inspector.body.body_export import write_body
from app.ui.inspector.body.body_source import of_bytes
from app.ui.services import Services
from app.ui.tasks import Tasks, in_thread
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import paint_box
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import NoticeBox
from app.ui.widgets.dialog import Dialog, FileDialog
from app.ui.widgets.fields import CopyField
from app.ui.widgets.labels import ElidedLabel, label, style
from app.ui.widgets.layout import Stretch, fill, hbox

QUIET_ZONE = 4
"""Light modules on each side; ISO/IEC 18004 asks for four."""
SIDE = 248
"""The widget's side in device-independent pixels."""
FILE_SCALE = 12
"""Pixels of a module in a saved picture."""
LIGHT, DARK = "#ffffff", "#000000"


def picture_of(text: str, kind: Literal["png", "svg"], *, scale: int = FILE_SCALE, border: int = QUIET_ZONE) -> bytes:
    """The code with a border of so many modules. Error correction M: it can be read with 15 % of it damaged."""
    import segno  # start-up time: few sessions show a QR code

    out = BytesIO()
    code = segno.make(text, error="m", micro=False, boost_error=False)
    code.save(out, kind=kind, scale=scale, border=border, light=LIGHT, dark=DARK)
    return out.getvalue()


def kind_of(path: Path) -> Literal["png", "svg"]:
    """The kind of picture for a file's name."""
    return "svg" if path.suffix.lower() == ".svg" else "png"


class QrCode(QWidget):
    """Dark on light in every theme, because many scanners read nothing else. Each module is a whole number of the
    screen's pixels, so that all edges are sharp.
    """

    accessible_role = QAccessible.Role.Graphic

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.modules = QImage()
        """A pixel for each, without the quiet zone."""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_text(self, text: str) -> None:
        self.modules.loadFromData(picture_of(text, "png", scale=1, border=0))
        self.setAccessibleName("QR code")
        self.setAccessibleDescription(text)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(SIDE, SIDE)

    def module_pixels(self) -> int:
        """The side of a module in pixels of the screen."""
        across = self.modules.width() + 2 * QUIET_ZONE
        return max(1, int(self.width() * self.devicePixelRatioF()) // across)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_box(painter, QRectF(self.rect()), 8, LIGHT)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        ratio, side = self.devicePixelRatioF(), self.module_pixels() * self.modules.width()
        start = (int(self.width() * ratio) - side) // 2
        painter.scale(1 / ratio, 1 / ratio)
        painter.drawImage(QRect(start, start, side, side), self.modules)


WIDTH = 500
SCROLL_BAR = 12
BUSY = {
    TunnelState.STARTING: "Starting…",
    TunnelState.RESTARTING: "Starting…",
    TunnelState.STOPPING: "Stopping…",
}
FILES = ("PNG picture (*.png)", "SVG drawing (*.svg)")


class QrDialog(Dialog):
    """Follows name and capture URL. `tunnel_requested`: the user wants a URL that other devices reach.
    `page_requested`: and has to change the tunnel for it."""

    tunnel_requested = Signal()
    page_requested = Signal()

    def __init__(
        self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget | None, endpoint: Endpoint
    ) -> None:
        super().__init__("QR code", theme, parent)
        self._services, self._tasks, self._endpoint = services, tasks, endpoint
        self.name = ElidedLabel("", "muted", self)
        self.code = QrCode(self)
        self.url = CopyField("", theme, self, what="capture URL")
        self.url.setAccessibleName("Capture URL")
        self.warning = NoticeBox("warning", theme, self)
        self.tunnel_button = Button("Start tunnel", theme, self.warning, icon="tunnel", run=self._request_tunnel)
        self.warning.buttons.addWidget(self.tunnel_button)
        self.status = label("", "success", self, wrap=True)
        self.save_button = Button("Save…", theme, self, icon="download", run=self.save)
        self.close_button = self.make_close_button("Close", kind="primary")
        middle = hbox(Stretch(), (self.code, 0, Qt.AlignmentFlag.AlignCenter), Stretch())
        fill(self.body, self.name, middle, self.url, self.warning)
        fill(self.footer, (self.status, 1), self.save_button, self.close_button)
        self.url.copied.connect(self._copied)
        self._subscriptions = Subscriptions(services.bus)
        self._subscriptions.follow_urls(self.refresh)
        for kind in (TunnelChanged, EndpointSaved):
            self._subscriptions.add(kind, lambda _: self.refresh())
        self._subscriptions.add(EndpointRemoved, self._removed)
        self.finished.connect(self._subscriptions.end)
        self.refresh()
        self.setFixedWidth(WIDTH)
        self.close_button.setFocus()

    def sizeHint(self) -> QSize:
        """As high as the wrapped lines need beside a scroll bar: one that is there wraps them earlier and so stays."""
        return QSize(WIDTH, self.sized_for(WIDTH - SCROLL_BAR).height())

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            self.resize(self.sizeHint())
        return done

    def is_idle(self) -> bool:
        return True

    def refresh(self) -> None:
        """Show name and capture URL as they are now."""
        endpoint = self._services.store.endpoints.by_id(self._endpoint.id) or self._endpoint
        self.name.setText(f"Capture URL of “{escape(endpoint.name)}”")
        url = self._services.capture_url(self._endpoint)
        if url != self.url.text():
            self.code.show_text(url)
        self.url.set_text(url, self._services.url_mark)
        self.warning.show_text(self._warning(url) if is_loopback(url) else "")
        busy = BUSY.get(self._services.tunnels.tunnel.state)
        self.tunnel_button.setText(busy or ("Show tunnel" if self._has_url() else "Start tunnel"))
        self.tunnel_button.setEnabled(busy is None)

    def _has_url(self) -> bool:
        return self._services.tunnels.tunnel.state in CONNECTED

    def _warning(self, url: str) -> str:
        """A tunnel to a server on this computer has a URL that leads no further."""
        text = f"Other devices cannot reach {urlsplit(url).hostname or ''}."
        if self._has_url():
            return f"{text} The tunnel’s URL leads to this computer. Use another tunnel program or server."
        text += " A tunnel gives the endpoint a public URL."
        tunnel = self._services.tunnels.tunnel
        failed = tunnel.state is TunnelState.FAILED and tunnel.problem
        return f"{text}\nThe tunnel failed: {escape(tunnel.problem or '')}" if failed else text

    @Slot()
    def save(self) -> None:
        """Ask for a path, and save the code there as PNG or SVG."""
        self._tasks.start(self._save(), "save a QR code")

    async def _save(self) -> None:
        place = Path.home() / f"{self._endpoint.slug}.png"
        path = await FileDialog(self, "Save QR code as", place, FILES, save=True).chosen()
        if path is None:
            return
        self._show_status("")
        try:
            await self.save_to(path)
        except HooklineError as error:
            self._show_status(str(error), "error")  # a message would be in the window below

    async def save_to(self, path: Path) -> None:
        """Save the code as PNG, or as SVG if the file's name ends in `.svg`."""
        await self._tasks.complete(self._write(path), self)
        self._show_status(f"Saved as {escape(path.name)}.")

    def _show_status(self, text: str, kind: str = "success") -> None:
        style(self.status, "kind", kind)
        self.status.setText(text)

    async def _write(self, path: Path) -> None:
        picture = await in_thread(picture_of, self._services.capture_url(self._endpoint), kind_of(path))
        await write_body(of_bytes(picture, path.name), path, "QR code")
        await self._services.tunnels.copied(self._endpoint.id)

    @Slot()
    def _request_tunnel(self) -> None:
        if self._has_url():
            self.page_requested.emit()
        else:
            self.tunnel_requested.emit()

    @Slot()
    def _copied(self) -> None:
        self._tasks.start(self._services.tunnels.copied(self._endpoint.id), "note a copied URL")

    def _removed(self, event: EndpointRemoved) -> None:
        if event.endpoint.id == self._endpoint.id:
            self.reject()
