"""The sidebar's row of the tunnel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRect, QTimer, Slot
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from app.core.clock import now_us
from app.core.tunnel.tunnel import TunnelState
from app.ui.qt_events import QtEvents
from app.ui.shell.sidebar_rows import PAD, SidebarRow
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.tunnel.words import mark_of, sentence, short_text
from app.ui.widgets.labels import plain_tooltip

if TYPE_CHECKING:
    from app.server.tunnel.service import TunnelService

COUNTDOWN_MS = 500


class TunnelRow(SidebarRow):
    """Follows the tunnel; a restart is counted down."""

    def __init__(self, tunnels: TunnelService, theme: Theme, qt_events: QtEvents, parent: QWidget) -> None:
        super().__init__("", theme, parent)
        self._tunnels = tunnels
        self._mark = mark_of(tunnels.tunnel)
        self._timer = QTimer(self, interval=COUNTDOWN_MS)
        self._timer.timeout.connect(self.refresh)
        qt_events.tunnel_changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        tunnel = self._tunnels.tunnel
        text, mark = short_text(tunnel, now_us()), mark_of(tunnel)
        if (text, mark) != (self.text(), self._mark):
            self._mark = mark
            self.setText(text)
            self.update()
        words = sentence(tunnel)
        if words != self.accessibleName():
            self.setAccessibleName(words)
            self.setToolTip(plain_tooltip(words))
        if tunnel.state is not TunnelState.RESTARTING:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    def emphasised(self) -> bool:
        """While it needs attention."""
        return self._mark[1] in ("warning", "danger")

    def paint_mark(self, painter: QPainter, tokens: Tokens) -> None:
        self.theme.icon(*self._mark).paint(painter, QRect(PAD, (self.height() - 18) // 2, 18, 18))
