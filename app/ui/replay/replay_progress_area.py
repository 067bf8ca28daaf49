"""Everything of replays that the window holds: the page, the commands, and the bar below the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QStackedWidget, QWidget

from app.core.replay.spec import Replay, ReplayState
from app.core.worst_state import State, replay_state
from app.ui.commands.command import CommandButton
from app.ui.replay.replay_commands import RESUMABLE, ReplayCommands, ReplayTracker
from app.ui.replay.replay_text import counts_text, failed_text, title_text, to_text, wordings
from app.ui.services import Services
from app.ui.tasks import Tasks
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import FittingLabel, label
from app.ui.widgets.layout import Space, hbox

if TYPE_CHECKING:
    from app.ui.replay.replays_page import ReplaysPage

HEIGHT = 44


class ReplayBar(QFrame):
    """One line about a replay. `page_requested` carries its ID."""

    page_requested = Signal(str)

    def __init__(self, commands: ReplayCommands, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._tracker = commands.tracker
        self._announced: tuple[str, ReplayState] | None = None
        self._beside_page = False
        self.setProperty("part", "undo")
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Replay")
        self.title = label("", "strong", self)
        self.facts = FittingLabel("small", self)
        self.show_page = Button("Show", theme, self, kind="ghost", run=self._show_page)
        self.pause = CommandButton("Pause", commands.pause, theme, self, icon="pause")
        self.cancel = CommandButton("Cancel", commands.cancel, theme, self, kind="ghost")
        self.dismiss = IconButton("close", "Dismiss", theme, self, run=self._dismiss)
        hbox(
            self.title,
            (self.facts, 1),
            Space(metrics.SPACE_2),
            self.show_page,
            self.pause,
            self.cancel,
            self.dismiss,
            inside=self,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, 0, metrics.SPACE_3, 0),
        )
        self._tracker.changed.connect(self._follow)
        self._follow()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click beside the buttons shows the page, too."""
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self._show_page()

    def set_beside_page(self, beside: bool) -> None:
        """Beside the page of replays, which says the same, there is no bar."""
        self._beside_page = beside
        self._follow()

    @Slot()
    def _follow(self) -> None:
        replay = self._tracker.shown
        self.setVisible(replay is not None and not self._beside_page)
        if replay is None:
            self._announced = None
            return
        over = replay.ended or replay.state is ReplayState.INTERRUPTED
        self.title.setText(title_text(replay))
        self.facts.set_wordings(wordings(self._facts(replay)))
        self.pause.setVisible(not replay.ended)
        resumable = replay.state in RESUMABLE
        self.pause.setText("Resume" if resumable else "Pause")
        self.pause.set_icon_name("play" if resumable else "pause")
        self.cancel.setVisible(not over)
        self.dismiss.setVisible(over)
        self._announce(replay)

    def _facts(self, replay: Replay) -> list[str]:
        waiting = f"{self._tracker.waiting} more waiting" if self._tracker.waiting else ""
        return [part for part in (failed_text(replay.progress), to_text(replay), waiting, replay.problem) if part]

    def _announce(self, replay: Replay) -> None:
        """Tell screen readers that it started, paused or ended; not each count."""
        if self._announced == (replay.id, replay.state):
            return
        self._announced = replay.id, replay.state
        text = title_text(replay) + (f". {counts_text(replay.progress)}" if replay.ended else "")
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, text))

    @Slot()
    def _dismiss(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self._tracker.dismiss(replay.id)

    @Slot()
    def _show_page(self) -> None:
        if (replay := self._tracker.shown) is not None:
            self.page_requested.emit(replay.id)


class ReplayProgressArea(QObject):
    """`page_requested` asks the window to show `page` among `pages`; meanwhile the bar is hidden. `bar` is for the
    bottom of the window, `commands` for its registry."""

    page_requested = Signal()

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, pages: QStackedWidget, window: QWidget) -> None:
        super().__init__(window)
        self._pages = pages
        self._services, self._theme, self._tasks, self._window = services, theme, tasks, window
        self._page: ReplaysPage | None = None
        self.tracker = ReplayTracker(services, tasks, self)
        self.commands = ReplayCommands(self.tracker, services, theme, tasks, window)
        self.commands.selected = self._selected
        self.bar = ReplayBar(self.commands, theme, window)
        self.commands.started.connect(self._started)
        self.bar.page_requested.connect(self.show_replay)
        self.tracker.changed.connect(self.commands.refresh)
        pages.currentChanged.connect(self._page_changed)
        self.commands.refresh()

    @property
    def page(self) -> ReplaysPage:
        """Created when first used, because it would slow down the start of the window."""
        if self._page is None:
            from app.ui.replay.replays_page import ReplaysPage  # as the page itself

            self._page = ReplaysPage(self.commands, self._services, self._theme, self._tasks, self._window)
        return self._page

    @property
    def state(self) -> State:
        """Of the replay in the bar."""
        shown = self.tracker.shown
        return State.NONE if shown is None else replay_state(shown)

    @Slot(str)
    def show_replay(self, replay_id: str) -> None:
        """On the page."""
        self.page.show_replay(replay_id)
        self.page_requested.emit()

    @Slot(object)
    def _started(self, replay: Replay) -> None:
        """One that the user began from the page is what they want to see there."""
        if self._page_is_shown():
            self.page.show_replay(replay.id)
        else:
            self.commands.announced.emit("Repeating. The page “Replays” shows how far it is.")

    @Slot()
    def _page_changed(self) -> None:
        self.bar.set_beside_page(self._page_is_shown())
        self.commands.refresh()

    def _page_is_shown(self) -> bool:
        return self._page is not None and self._pages.currentWidget() is self._page

    def _selected(self) -> Replay | None:
        return self.page.current if self._page_is_shown() else self.tracker.shown
