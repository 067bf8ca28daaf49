"""Below the list: how many requests there are and the button that pauses it; or the bar of a selection or batch job."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QProgressBar, QStackedWidget, QWidget

from app.ui.commands.command import ActionButton, Command
from app.ui.requests.list.feed import RequestFeed
from app.ui.requests.list.view import RequestList
from app.ui.requests.page.page_commands import SELECT_ALL_KEY
from app.ui.requests.request_actions import RequestCommands
from app.ui.requests.select_all import BatchJob, SelectAll
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.throttle import Pause
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import ElidedLabel, FittingLabel, plain_tooltip, style
from app.ui.widgets.layout import Stretch, hbox, stack, vbox

SELECT_ALL_TIP = "Include requests that are not loaded yet"
HEIGHT = 40
"""Height in pixels of both, so that the list does not move when one replaces the other."""


class SelectionBar(QFrame):
    """Says how many requests are selected in `rows`, with buttons for the commands on them, or how far the batch is."""

    needed = Signal(bool)
    """Whether it has something to show."""

    def __init__(
        self,
        commands: RequestCommands,
        compare: Command,
        clear: Command,
        select_all: SelectAll,
        batch: BatchJob,
        *,
        rows: RequestList,
        feed: RequestFeed,
        theme: Theme,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setProperty("part", "selection")
        self._batch, self._select_all, self._list, self._feed = batch, select_all, rows, feed
        self.text = FittingLabel("strong", self)
        self.select_all = Button("", theme, self, kind="link")
        self.select_all.hide()
        self._offer = ""
        self.progress = QProgressBar(self)
        self.progress.setTextVisible(False)
        self.progress_text = ElidedLabel("", "strong", self)
        self.stop = Button("Stop", theme, self, kind="link")
        self.stop.clicked.connect(batch.stop)
        self.buttons = [
            ActionButton(command, theme, self, word)
            for command, word in (
                (commands.replay, "Replay…"),
                (commands.mark_read, "Mark read"),
                (commands.mark_unread, "Mark unread"),
                (commands.star, "Star"),
                (commands.delete, "Delete…"),
                (clear, ""),
            )
        ]
        self.compare = ActionButton(compare, theme, self)
        """Only while two are selected."""
        self.compare.hide()
        self._layers = stack(self._make_choices(), self._make_progress(), inside=self)
        self.select_all.clicked.connect(self._select_rest)
        batch.changed.connect(self._show_progress)
        for signal in (rows.selection_settled, feed.loaded, feed.counts_changed, feed.search.progressed):
            signal.connect(self.refresh)
        batch.changed.connect(self.refresh)
        select_all.changed.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        """Say how many are selected now, and offer the rest if all that is loaded is selected."""
        count, loaded = self._list.selected_count(), self._feed.model.rowCount()
        requests = self._select_all.requests
        self.compare.setVisible(count == 2)
        if requests is not None:
            self.say(f"All {requests.count:,} selected")
        elif count == loaded == len(self._list.selection.loaded()) and self._select_all.more:
            self.say(f"{count:,} selected", offer=self._offer_text())
        else:
            self.say(f"{count:,} selected")
        self.needed.emit(count > 1 or self._batch.busy)

    def say(self, text: str, *, offer: str = "") -> None:
        """`offer` is the text of the button that selects what is not loaded, empty for no button."""
        if (text, offer) == (self.text.whole_text(), self._offer):
            return
        self.text.set_wordings((text, text.removesuffix(" selected")))
        self._offer = offer
        self.select_all.setAccessibleName(offer)
        self.select_all.setToolTip(plain_tooltip(f"{SELECT_ALL_TIP} ({SELECT_ALL_KEY})" if offer else ""))
        self.fit()

    def fit(self) -> None:
        """In a narrow bar the offer stays, shortened; the words of the other buttons, the number of selected requests,
        then *Replay* give way.
        """
        short = self._offer.removeprefix("Select ").capitalize()
        self.select_all.setVisible(bool(self._offer))
        *worded, _ = self.buttons
        for words, counted, offer, whole in (
            (True, True, self._offer, True),
            (False, True, self._offer, True),
            (False, False, self._offer, True),
            (False, False, short, True),
            (False, False, short, False),
        ):
            for button in (self.compare, *worded):
                button.set_labelled(words)
            self.text.setVisible(counted)
            self.select_all.setText(offer)
            worded[0].setVisible(whole)
            self._choices_row.invalidate()
            if self._choices_row.sizeHint().width() <= self.width() or not (words or self._offer):
                return

    def add_sign(self, sign: QWidget) -> None:
        """Put this before the number of selected requests."""
        self._choices_row.insertWidget(0, sign)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Words where there is room for them."""
        super().resizeEvent(event)
        self.fit()

    def _offer_text(self) -> str:
        number = self._select_all.number
        if number is not None:
            return f"Select all {number:,}"
        return "Select all matches" if self._feed.query is not None else "Select all in this time range"

    @Slot()
    def _select_rest(self) -> None:
        """The button is about to be hidden: the focus goes to the list."""
        if self.select_all.hasFocus():
            self._list.setFocus()
        self._select_all.select()

    def _make_choices(self) -> QWidget:
        page = QWidget(self)
        for button in (self.compare, *self.buttons):
            button.setIconSize(QSize(metrics.ICON, metrics.ICON))
        self._choices_row = hbox(
            self.text,
            self.select_all,
            Stretch(),
            self.compare,
            *self.buttons,
            inside=page,
            spacing=metrics.SPACE_1,
            margins=(metrics.SPACE_4, 0, metrics.SPACE_2, 0),
        )
        return page

    def _make_progress(self) -> QWidget:
        page = QWidget(self)
        column = vbox(Stretch(), self.progress_text, self.progress, Stretch(), spacing=metrics.SPACE_1)
        hbox(
            (column, 1),
            self.stop,
            inside=page,
            spacing=metrics.SPACE_3,
            margins=(metrics.SPACE_4, 0, metrics.SPACE_2, 0),
        )
        return page

    @Slot()
    def _show_progress(self) -> None:
        batch = self._batch
        self._layers.setCurrentIndex(1 if batch.busy else 0)
        if batch.busy:
            far = f"{batch.done:,} of {batch.total:,}" if batch.total else f"{batch.done:,} so far"
            self.progress_text.setText(f"{batch.verb} {far}…")
            self.progress.setRange(0, batch.total)
            self.progress.setValue(batch.done)


class ListFooter(QStackedWidget):
    """The page fills `text`. `bar` takes its place while it is needed."""

    def __init__(self, bar: SelectionBar, pause: Pause, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._pause = pause
        self.bar = bar
        self.text = FittingLabel("small", self)
        self.button = Button("", theme, self, kind="ghost", icon="pause")
        style(self.button, "compact", True)
        self.button.clicked.connect(pause.toggle)
        self.resume = IconButton("play", "Paused. Resume (P)", theme, bar)
        self.resume.set_icon_name("play", "warning_fill")
        self.resume.clicked.connect(pause.toggle)
        bar.add_sign(self.resume)
        self._plain = QFrame(self)
        self._plain.setProperty("part", "footer")
        hbox(
            (self.text, 1),
            self.button,
            inside=self._plain,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_4, 0, metrics.SPACE_2, 0),
        )
        self.addWidget(self._plain)
        self.addWidget(bar)
        self.setFixedHeight(HEIGHT)
        bar.needed.connect(self._show_bar)
        pause.changed.connect(self._show_pause)
        self._show_pause()

    @Slot(bool)
    def _show_bar(self, on: bool) -> None:
        self.setCurrentWidget(self.bar if on else self._plain)

    @Slot()
    def _show_pause(self) -> None:
        on = self._pause.on
        self.button.setText("Paused · Resume" if on else "Pause")
        self.button.set_icon_name("play" if on else "pause")
        tip = "Show new requests again (P)" if on else "Pause the list (P). Hookline keeps capturing."
        self.button.setToolTip(tip)
        self.button.setAccessibleName("Paused. Resume list" if on else "Pause list")
        self.resume.setVisible(on)
        self.bar.fit()
        style(self._plain, "tone", "warning" if on else "")
