"""The tunnel's page: its state, the programs that can be one, what the program writes, and the URLs it had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QGuiApplication,
    QKeySequence,
    QShowEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QHeaderView, QPlainTextEdit, QProgressBar, QTabWidget, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.settings import field_of
from app.core.text import count_of, exact_time, span_text
from app.core.tunnel import CONNECTED, Tunnel, TunnelState, TunnelUrl
from app.core.tunnel_program import FoundProgram, TunnelProgram
from app.ui.commands.command import add_view_action
from app.ui.messages import MessageTone
from app.ui.qt_events import QtEvents
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.throttle import WhileShown
from app.ui.tunnel.area import OutdatedCard, TunnelActions
from app.ui.tunnel.programs_view import ProgramsView
from app.ui.tunnel.words import RUNNING, facts_of, mark_of, moment, probe_text, shown, title_of
from app.ui.widgets.buttons import Button, CopyButton
from app.ui.widgets.card import Card, EmptyState, NoticeBox, Page, line
from app.ui.widgets.fields import CopyField, Switch
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.focus import bring_into_view
from app.ui.widgets.labels import ElidedLabel, FittingLabel, IconLabel, label, show_or_hide
from app.ui.widgets.layout import Space, fill, hbox, stack, vbox
from app.ui.widgets.rows import Column, Rows, RowsView

ICON = 28
_BUSY = frozenset({TunnelState.STARTING, TunnelState.CHECKING})
_WARNED = CONNECTED | {TunnelState.STARTING}
AUTOSTART = field_of("tunnel_autostart").title
_USE_URL = "Your endpoints’ URLs now begin with it. Give providers an endpoint’s URL, not this one."
_NO_PROGRAM = "Start a program below to choose it."


class StatusCard(Card):
    """Call `show_tunnel` when the tunnel, the time, the settings or the actions changed."""

    focus_left = Signal()
    """The button with the focus is gone, and no other took its place."""

    def __init__(self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._services, self._actions, self._theme = services, actions, theme
        self._announced: TunnelState | None = None
        self._icon = IconLabel(ICON, theme, self)
        self._icon.setFixedSize(ICON, ICON)
        self.title = FittingLabel("title", self)
        self.facts = ElidedLabel("", "muted", self)
        self.output = Button("Show output", theme, self, kind="ghost", icon="terminal")
        self.check = Button("Check", theme, self, icon="retry", run=actions.check)
        self.again = Button("Start again", theme, self, kind="primary", icon="play", run=actions.start)
        self.stop = Button("Stop", theme, self, icon="stop", run=actions.stop)
        self.progress = QProgressBar(self, maximum=0, textVisible=False)
        self.progress.setAccessibleName("Starting the tunnel")
        self.url = CopyField("", theme, self, what="tunnel URL")
        self.url.setAccessibleName("Tunnel URL")
        self.probe = ElidedLabel("", "small", self)
        self.problem = NoticeBox("danger", theme, self)
        self.warning = NoticeBox("warning", theme, self)
        self.hint = label("", "small", self, wrap=True)
        self.autostart = Switch(AUTOSTART, theme, self)
        self.autostart_text = ElidedLabel("", "small", self)
        self._lay_out()
        self.autostart.clicked.connect(actions.set_autostart)

    def show_tunnel(self, tunnel: Tunnel, program: TunnelProgram | None, names: dict[str, str], now_us: int) -> None:
        """`program` is the tunnel's, None until the catalogue is read; `names` are those of all programs."""
        state = tunnel.state
        name = program.name if program is not None else tunnel.program or "the tunnel"
        self._icon.show_icon(*mark_of(tunnel))
        title = title_of(tunnel, name, now_us)
        short = title.removeprefix("The tunnel is ")
        self.title.set_wordings((title, short[:1].upper() + short[1:]))
        reached = f"Capture URLs begin with {self._services.about.base_url}"
        facts = facts_of(tunnel, name, now_us) if state is not TunnelState.OFF else reached
        show_or_hide(self.facts, facts)
        connected = state in CONNECTED
        since = f"\nUp since {exact_time(tunnel.up_since)}" if tunnel.up_since is not None else ""
        self.facts.set_meaning(facts + since)
        self.progress.setVisible(state in _BUSY)
        self.url.setVisible(tunnel.url is not None and (connected or state is TunnelState.RESTARTING))
        if tunnel.url is not None and tunnel.url != self.url.text():
            self.url.set_text(tunnel.url)
        self.probe.setText(probe_text(tunnel.probe, now_us))
        self.probe.setVisible(connected)
        tone: MessageTone = "danger" if state is TunnelState.FAILED else "warning"
        self.problem.show_text(shown(tunnel.reason or "") if state is not TunnelState.OFF else "", tone)
        self.warning.show_text(shown("\n".join(program.warnings)) if program is not None and state in _WARNED else "")
        show_or_hide(self.hint, self._hint(tunnel))
        self._show_buttons(tunnel)
        self._show_autostart(names)
        self._announce(tunnel)

    @property
    def first(self) -> QWidget | None:
        """What the user does first with a tunnel that runs or failed: copy its URL, start it again, or stop it."""
        return next((one for one in (self.again, self.url, self.stop) if not one.isHidden()), None)

    def _show_buttons(self, tunnel: Tunnel) -> None:
        buttons, state = (self.stop, self.again, self.check, self.output), tunnel.state
        had_focus = any(button.hasFocus() for button in buttons)
        self.check.setVisible(state in CONNECTED)
        # Disabled meanwhile, it would lose the focus.
        self.check.setText("Checking…" if self._actions.checking else "Check")
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

    def _hint(self, tunnel: Tunnel) -> str:
        if tunnel.state not in CONNECTED:
            return ""
        base = self._services.settings().base_url
        return f"{_USE_URL} Without the tunnel they begin with {base}." if base else _USE_URL

    def _announce(self, tunnel: Tunnel) -> None:
        """Tell screen readers each new state, not each second."""
        if self._announced not in (None, tunnel.state):
            text = f"{self.title.whole_text()}. {shown(tunnel.reason or '')}".strip()
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))
        self._announced = tunnel.state

    def _lay_out(self) -> None:
        words = vbox(self.title, self.facts, spacing=2)
        top = hbox(
            (self._icon, 0, Qt.AlignmentFlag.AlignTop), Space(metrics.SPACE_1), (words, 1), spacing=metrics.SPACE_2
        )
        for button in (self.output, self.check, self.again, self.stop):
            top.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        starts = vbox(label(AUTOSTART, "strong", self), self.autostart_text, spacing=2)
        bottom = hbox((starts, 1), self.autostart, spacing=metrics.SPACE_5)
        self.body.setSpacing(metrics.SPACE_3)
        self.body.addLayout(top)
        below = vbox(self.probe, self.hint, spacing=metrics.SPACE_1)
        fill(self.body, self.progress, self.url, below, self.problem, self.warning, line(self), bottom)


TABS_HEIGHT = 256
"""The least height of programs, output and history; with less the page scrolls."""
LEAST = QSize(600, 200)
SUBTITLE = "Gives your endpoints a URL that reaches this computer from the internet."
ROW = 36
NO_URLS = "Each URL that the tunnel gets is listed here with its times."
NO_OUTPUT = "What the tunnel program writes is shown here while it runs, and after it ended."


class OutputView(QWidget):
    """Follows its end, unless the user has scrolled up; a selection stays while lines are added."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._lines: tuple[str, ...] = ()
        self.text = QPlainTextEdit(self, readOnly=True, undoRedoEnabled=False)
        self.text.setProperty("part", "code")
        self.text.setFont(mono_font())
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName("Output of the tunnel program")
        self.caption = ElidedLabel("", "small", self)
        self.copy = CopyButton("", "output", theme, self)
        empty = EmptyState("terminal", "No output yet", NO_OUTPUT, theme, self)
        top = hbox(
            (self.caption, 1), self.copy, margins=(metrics.SPACE_4, metrics.SPACE_1, metrics.SPACE_3, metrics.SPACE_1)
        )
        margin = int(self.text.document().documentMargin())
        inside = vbox(self.text, margins=(metrics.SPACE_4 - margin, metrics.SPACE_2, 0, metrics.SPACE_2))
        shown = QWidget(self)
        vbox(top, line(shown), (inside, 1), inside=shown, spacing=0)
        self._stack = stack(empty, shown, inside=self)

    def show_tunnel(self, tunnel: Tunnel, program: str) -> None:
        """`program` is the name of the tunnel's."""
        if tunnel.output != self._lines:
            self._show_lines(tunnel.output)
        self._stack.setCurrentIndex(1 if self._lines else 0)
        self.caption.setText(f"The last {count_of(len(self._lines), 'line')} of {program}")

    def _show_lines(self, lines: tuple[str, ...]) -> None:
        bar = self.text.verticalScrollBar()
        at_end = bar.value() == bar.maximum()
        kept = len(self._lines)
        if kept and lines[:kept] == self._lines:
            cursor = QTextCursor(self.text.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText("".join(f"\n{text}" for text in lines[kept:]))
        else:
            self.text.setPlainText("\n".join(lines))
        self._lines = lines
        self.copy.text_to_copy = "\n".join(lines)
        if at_end:
            bar.setValue(bar.maximum())


class HistoryView(QWidget):
    """Ctrl+C copies the selected URLs."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._rows = _Urls(self)
        self.table = RowsView("URLs of the tunnel", self)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.table.show_rows(self._rows, ROW)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        add_view_action(self.table, "Copy URL", self._copy, QKeySequence.StandardKey.Copy)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._stack = stack(EmptyState("link", "No URLs yet", NO_URLS, theme, self), self.table, inside=self)

    def show_urls(self, urls: Sequence[TunnelUrl], names: Mapping[str, str], now_us: int) -> None:
        """`names` are those of the programs, by ID."""
        self._rows.names = names
        self._rows.show_records(urls, lambda one: (one.url, one.since))
        self.show_times(now_us)
        self._stack.setCurrentIndex(1 if urls else 0)

    def show_times(self, now_us: int) -> None:
        """The same URLs, later."""
        self._rows.now_us = now_us
        self._rows.refresh_cells()

    @Slot()
    def _copy(self) -> None:
        urls = [escape(self._rows.record(row).url) for row in self.table.selected_rows()]
        if urls:
            QGuiApplication.clipboard().setText("\n".join(urls))


class _Urls(Rows[TunnelUrl]):
    def __init__(self, parent: QObject) -> None:
        middle = Qt.TextElideMode.ElideMiddle
        columns: list[Column[TunnelUrl]] = [
            Column("URL", lambda one: escape(one.url), elide=middle, font=mono_font(), stretches=True),
            Column("Program", self._program, elide=middle, width=200, needs=700),
            Column("From", lambda one: moment(one.since, self.now_us), lambda one: exact_time(one.since), width=132),
            Column("Until", self._until, lambda one: exact_time(one.until) if one.until else "now", width=132),
            Column("Duration", lambda one: span_text((one.until or self.now_us) - one.since), width=140, needs=860),
        ]
        super().__init__(columns, parent)
        self.names: Mapping[str, str] = {}
        self.now_us = 0

    def _program(self, one: TunnelUrl) -> str:
        return escape(self.names.get(one.program, one.program))

    def _until(self, one: TunnelUrl) -> str:
        return moment(one.until, self.now_us) if one.until is not None else "now"


class TunnelPage(Page):
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
        super().__init__("Tunnel", SUBTITLE, parent)
        self._tunnels, self._tasks = services.tunnels, tasks
        self._found: Sequence[FoundProgram] = ()
        self._state = services.tunnels.tunnel.state
        self._focuses_first = False
        self.status = StatusCard(services, actions, theme, self)
        self.outdated = OutdatedCard(services, actions, theme, self)
        self.tabs = _Tabs(self)
        self.programs = ProgramsView(actions, theme, self.tabs)
        self.output = OutputView(theme, self.tabs)
        self.history = HistoryView(theme, self.tabs)
        self._lay_out()
        WhileShown(self, self.refresh)
        self.status.output.clicked.connect(self._show_output)
        self.status.focus_left.connect(self.programs.list.setFocus)
        self.programs.search_requested.connect(self._read)
        actions.saved.connect(self._saved)
        actions.changed.connect(self.refresh)
        qt_events.tunnel_changed.connect(self._changed)
        qt_events.settings_changed.connect(self.refresh)
        qt_events.endpoints_changed.connect(self.refresh)
        qt_events.capture_urls_changed.connect(self._read)
        self.refresh()

    def take_focus(self) -> None:
        """Put the keyboard on what the user does first; on Start once the programs are known."""
        first = self.status.first
        if first is None:
            first = self.programs.first if self.tabs.currentWidget() is self.programs else self.tabs.tabBar()
        self._focuses_first = first is self.programs.list and not self._found
        first.setFocus()
        bring_into_view(self.focusWidget())

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
        self._read()

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
        self._found = found
        self.programs.show_programs(found, saved)
        if self._focuses_first and self.window().focusWidget() is self.programs.list:
            self.take_focus()
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
        card = Card(content, padding=1)
        card.body.addWidget(self.tabs)
        vbox(
            self.header,
            self.status,
            self.outdated,
            (card, 1),
            inside=content,
            spacing=metrics.SPACE_4,
            margins=metrics.SPACE_5,
        )
        vbox(Scrolling(content, LEAST, self), inside=self)


class _Tabs(QTabWidget):
    """As small as it may be: what the page has left is added."""

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), TABS_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), TABS_HEIGHT)
