"""The tunnel's page: its state, the programs that can be one, what the program writes, and the URLs it had."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from app.core.clock import now_us
from app.core.tunnel.program import FoundProgram, TunnelProgram
from app.core.tunnel.tunnel import TunnelState, TunnelUrl
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.tunnel.actions import TunnelActions
from app.ui.tunnel.history_view import HistoryView
from app.ui.tunnel.outdated import OutdatedCard
from app.ui.tunnel.output_view import OutputView
from app.ui.tunnel.programs_view import ProgramsView
from app.ui.tunnel.status_card import StatusCard
from app.ui.widgets.card import Card
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.labels import ElidedLabel, label

TICK_MS = 1_000
TABS_HEIGHT = 300
"""The least height of programs, output and history; with less the page scrolls."""
LEAST = QSize(600, 200)
SUBTITLE = "Gives your endpoints a URL that reaches this computer from the internet."


class TunnelPage(QWidget):
    """Reads the programs and the history whenever it is shown."""

    def __init__(
        self,
        services: Services,
        theme: Theme,
        tasks: Tasks,
        qt_events: QtEvents,
        *,
        actions: TunnelActions,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._tunnels, self._tasks = services.tunnels, tasks
        self._found: Sequence[FoundProgram] = ()
        self._urls: Sequence[TunnelUrl] = ()
        self._state = services.tunnels.tunnel.state
        self.setProperty("part", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.status = StatusCard(services, actions, theme, self)
        self.outdated = OutdatedCard(services, actions, theme, self)
        self.tabs = _Tabs(self)
        self.programs = ProgramsView(actions, theme, self.tabs)
        self.output = OutputView(theme, self.tabs)
        self.history = HistoryView(theme, self.tabs)
        self._lay_out()
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(self.refresh)
        self.status.output_requested.connect(self._show_output)
        self.status.focus_left.connect(self.programs.list.setFocus)
        self.programs.search_requested.connect(self._read)
        actions.saved.connect(self._saved)
        actions.changed.connect(self.refresh)
        qt_events.tunnel_changed.connect(self._changed)
        qt_events.settings_changed.connect(self.refresh)
        qt_events.endpoints_changed.connect(self.refresh)
        qt_events.capture_urls_changed.connect(self._read)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show the tunnel as it is now."""
        tunnel, now = self._tunnels.tunnel, now_us()
        program = self._program(tunnel.program)
        name = program.name if program is not None else tunnel.program or "the program"
        self.status.show_tunnel(tunnel, program, self._names(), now)
        self.outdated.show_tunnel(tunnel)
        self.programs.show_tunnel(tunnel)
        self.output.show_tunnel(tunnel, name)
        if self.history.isVisible():
            self.history.show_times(now)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tick.start()
        self.refresh()
        self._read()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._tick.stop()

    @Slot()
    def _changed(self) -> None:
        state = self._tunnels.tunnel.state
        if state is not self._state and state is TunnelState.OFF and self.isVisible():
            self._read()  # the history has the end of its last URL
        self._state = state
        self.refresh()

    @Slot()
    def _show_output(self) -> None:
        self.tabs.setCurrentWidget(self.output)
        self.output.text.setFocus()

    @Slot()
    def _read(self) -> None:
        if self.isVisible():
            self._tasks.start(self._load(), "read the tunnel programs", self)

    @Slot(str)
    def _saved(self, program_id: str) -> None:
        self._tasks.start(self._load(program_id), "read the tunnel programs", self)

    async def _load(self, saved: str | None = None) -> None:
        found = await self._tunnels.programs()
        urls = await self._tunnels.history()
        self._found, self._urls = found, urls
        self.programs.show_programs(found, saved)
        self.history.show_urls(urls, self._names(), now_us())
        self.refresh()

    def _program(self, program_id: str | None) -> TunnelProgram | None:
        return next((one.program for one in self._found if one.program.id == program_id), None)

    def _names(self) -> dict[str, str]:
        return {one.program.id: one.program.name for one in self._found}

    def _lay_out(self) -> None:
        self.tabs.setDocumentMode(True)
        self.tabs.setProperty("part", "card")
        for view, title in ((self.programs, "Programs"), (self.output, "Output"), (self.history, "URL history")):
            self.tabs.addTab(view, title)
        content = QWidget(self)
        content.setProperty("transparent", True)
        card = Card(content, padding=1)
        card.body.addWidget(self.tabs)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label("Tunnel", "display", self))
        words.addWidget(ElidedLabel(SUBTITLE, "muted", self))
        column = QVBoxLayout(content)
        column.setContentsMargins(metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5, metrics.SPACE_5)
        column.setSpacing(metrics.SPACE_4)
        column.addLayout(words)
        column.addWidget(self.status)
        column.addWidget(self.outdated)
        column.addWidget(card, 1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(Scrolling(content, LEAST, self))


class _Tabs(QTabWidget):
    """As small as it may be: what the page has left is added."""

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), TABS_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), TABS_HEIGHT)
