"""The first card of the tunnel's page: its state, its URL, what the last check found, and Start, Stop and Check."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from app.core.settings import field_of
from app.core.text import exact_time
from app.core.tunnel.spec import TunnelProgram
from app.core.tunnel.tunnel import CONNECTED, Tunnel, TunnelState
from app.ui.services import Services
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.tunnel.actions import TunnelActions
from app.ui.tunnel.words import RUNNING, facts_of, mark_of, probe_text, shown, title_of
from app.ui.widgets.buttons import Button
from app.ui.widgets.card import Card, line
from app.ui.widgets.copy_field import CopyField
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.notice_box import NoticeBox, NoticeTone
from app.ui.widgets.switch import Switch

ICON = 28
_BUSY = frozenset({TunnelState.STARTING, TunnelState.CHECKING})
_WARNED = CONNECTED | {TunnelState.STARTING}
AUTOSTART = field_of("tunnel_autostart").title
_USE_URL = "Your endpoints’ URLs now begin with it. Give providers an endpoint’s URL, not this one."
_NO_PROGRAM = "Start a program below; it can then be started with Hookline."


class StatusCard(Card):
    """Call `show_tunnel` when the tunnel, the time, the settings or the actions changed."""

    output_requested = Signal()
    focus_left = Signal()
    """The button with the focus is gone, and no other took its place."""

    def __init__(self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._actions, self._theme = services, actions, theme
        self._mark: tuple[str, str] | None = None
        self._announced: TunnelState | None = None
        self._icon = QLabel(self)
        self._icon.setFixedSize(ICON, ICON)
        self.title = ElidedLabel("", "title", self)
        self.facts = ElidedLabel("", "muted", self)
        self.output = Button("Show output", theme, self, kind="ghost", icon="terminal")
        self.check = Button("Check now", theme, self, icon="retry")
        self.again = Button("Start again", theme, self, kind="primary", icon="play")
        self.stop = Button("Stop", theme, self, icon="stop")
        self.progress = QProgressBar(self)
        self.progress.setRange(0, 0)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName("Starting the tunnel")
        self.url = CopyField("", theme, self, what="tunnel URL")
        self.url.setAccessibleName("Tunnel URL")
        self.probe = ElidedLabel("", "small", self)
        self.problem = NoticeBox("danger", theme, self)
        self.warning = NoticeBox("warning", theme, self)
        self.hint = ElidedLabel("", "small", self)
        self.autostart = Switch(AUTOSTART, theme, self)
        self.autostart_text = ElidedLabel("", "small", self)
        self._lay_out()
        self.output.clicked.connect(self.output_requested)
        self.check.clicked.connect(actions.check)
        self.again.clicked.connect(actions.start)
        self.stop.clicked.connect(actions.stop)
        self.autostart.clicked.connect(actions.set_autostart)
        theme.changed.connect(self._recolour)

    def show_tunnel(self, tunnel: Tunnel, program: TunnelProgram | None, names: dict[str, str], now_us: int) -> None:
        """`program` is the tunnel's, None until the catalogue is read; `names` are those of all programs."""
        state = tunnel.state
        name = program.name if program is not None else tunnel.program or "the tunnel"
        self._show_mark(mark_of(tunnel))
        self.title.setText(title_of(tunnel, name, now_us))
        facts = facts_of(tunnel, name, now_us) if state is not TunnelState.OFF else self._reach()
        self.facts.setText(facts)
        self.facts.setVisible(bool(facts))
        connected = state in CONNECTED
        since = f"\nUp since {exact_time(tunnel.up_since)}" if tunnel.up_since is not None else ""
        self.facts.set_meaning(facts + since)
        self.progress.setVisible(state in _BUSY)
        self.url.setVisible(tunnel.url is not None and (connected or state is TunnelState.RESTARTING))
        if tunnel.url is not None and tunnel.url != self.url.text():
            self.url.set_text(tunnel.url)
        self.probe.setText(probe_text(tunnel.probe, now_us))
        self.probe.setVisible(connected)
        tone: NoticeTone = "danger" if state is TunnelState.FAILED else "warning"
        self.problem.show_text(shown(tunnel.reason or "") if state is not TunnelState.OFF else "", tone)
        self.warning.show_text(shown("\n".join(program.warnings)) if program is not None and state in _WARNED else "")
        self.hint.setText(self._hint(tunnel))
        self.hint.setVisible(bool(self.hint.text()))
        self._show_buttons(tunnel)
        self._show_autostart(names)
        self._announce(tunnel)

    def _show_buttons(self, tunnel: Tunnel) -> None:
        buttons, state = (self.stop, self.again, self.check, self.output), tunnel.state
        had_focus = any(button.hasFocus() for button in buttons)
        self.check.setVisible(state in CONNECTED)
        # Disabled meanwhile, it would lose the focus.
        self.check.setText("Checking…" if self._actions.checking else "Check now")
        self.stop.setVisible(state in RUNNING)
        self.again.setVisible(state is TunnelState.FAILED)
        self.output.setVisible(bool(tunnel.output) and state in (TunnelState.FAILED, TunnelState.UNREACHABLE))
        if had_focus and not any(button.hasFocus() for button in buttons):
            left = next((button for button in buttons if not button.isHidden()), None)
            if left is not None:
                left.setFocus()
            else:
                self.focus_left.emit()

    def _show_autostart(self, names: dict[str, str]) -> None:
        settings = self._services.settings()
        program = self._actions.program_id()
        self.autostart.setEnabled(program is not None)
        if self.autostart.isChecked() != settings.tunnel_autostart:
            self.autostart.setChecked(settings.tunnel_autostart)
        text = f"With this program: {names.get(program, program)}." if program else _NO_PROGRAM
        self.autostart_text.setText(text)
        self.autostart.setAccessibleDescription(text)

    def _reach(self) -> str:
        """Where the endpoints are reached without a tunnel."""
        return f"Capture URLs begin with {self._services.about.base_url}"

    def _hint(self, tunnel: Tunnel) -> str:
        if tunnel.state not in CONNECTED:
            return ""
        base = self._services.settings().base_url
        return f"{_USE_URL} Without the tunnel they begin with {base}." if base else _USE_URL

    def _show_mark(self, mark: tuple[str, str]) -> None:
        if mark != self._mark:
            self._mark = mark
            self._recolour()

    @Slot()
    def _recolour(self) -> None:
        if self._mark is not None:
            self._icon.setPixmap(self._theme.pixmap(*self._mark, ICON, self.devicePixelRatioF()))

    def _announce(self, tunnel: Tunnel) -> None:
        """Tell screen readers each new state, not each second."""
        if self._announced not in (None, tunnel.state):
            text = f"{self.title.text()}. {shown(tunnel.reason or '')}".strip()
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
        self._announced = tunnel.state

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(self.title)
        words.addWidget(self.facts)
        top = QHBoxLayout()
        top.setSpacing(metrics.SPACE_2)
        top.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        top.addSpacing(metrics.SPACE_1)
        top.addLayout(words, 1)
        for button in (self.output, self.check, self.again, self.stop):
            top.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        starts = QVBoxLayout()
        starts.setSpacing(2)
        starts.addWidget(label(AUTOSTART, "strong", self))
        starts.addWidget(self.autostart_text)
        bottom = QHBoxLayout()
        bottom.setSpacing(metrics.SPACE_5)
        bottom.addLayout(starts, 1)
        bottom.addWidget(self.autostart)
        self.body.setSpacing(metrics.SPACE_3)
        self.body.addLayout(top)
        below = QVBoxLayout()
        below.setSpacing(metrics.SPACE_1)
        below.addWidget(self.probe)
        below.addWidget(self.hint)
        self.body.addWidget(self.progress)
        self.body.addWidget(self.url)
        self.body.addLayout(below)
        self.body.addWidget(self.problem)
        self.body.addWidget(self.warning)
        self.body.addWidget(line(self))
        self.body.addLayout(bottom)
