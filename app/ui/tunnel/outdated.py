"""The copied capture URLs that no longer work: each with its endpoint, to copy the new one and to say it is done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.core.bodies.escape import escape
from app.core.clock import now_us
from app.core.model import Endpoint
from app.core.text import ago, count_of
from app.core.tunnel.tunnel import CONNECTED, OutdatedUrl, Tunnel
from app.ui.services import Services
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.throttle import WhileShown
from app.ui.tunnel.actions import TunnelActions
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.fit_screen import Scrolling
from app.ui.widgets.labels import ElidedLabel, IconLabel, restyle
from app.ui.widgets.layout import hbox, vbox

ROW = 40
ROWS_MAX = 4
"""More of them scroll."""
BAR_ROWS = 3
ADVICE = "Give each provider the new URL. Until then its requests do not arrive."
LATER_ADVICE = "Once the tunnel has a URL, give each provider the new URL. Until then its requests do not arrive."
NOT_UP = "The tunnel has no URL."
TICK_MS = 1_000


def title_text(count: int, *, up: bool) -> str:
    """`The tunnel’s URL changed: 2 URLs that you copied no longer work`; without a tunnel there is no new URL yet."""
    which = "a URL that you copied no longer works" if count == 1 else f"{count} URLs that you copied no longer work"
    return f"{'The tunnel’s URL changed' if up else 'The tunnel has no URL'}: {which}"


class OutdatedRow(QWidget):
    """One endpoint."""

    def __init__(
        self, endpoint: Endpoint, url: OutdatedUrl, actions: TunnelActions, theme: Theme, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._url = url
        self.setFixedHeight(ROW)
        name = escape(endpoint.name)
        self.name = ElidedLabel(name, "strong", self)
        self.facts = ElidedLabel("", "small", self)
        self.copy = Button("Copy new URL", theme, self, icon="copy", name=f"Copy new URL of {name}", compact=True)
        done = f"Done: the provider has the new URL of {name}"
        self.done = Button("Done", theme, self, icon="check", name=done, compact=True)
        hbox(self.name, (self.facts, 1), self.copy, self.done, inside=self, spacing=metrics.SPACE_2)
        self.name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.copy.clicked.connect(partial(actions.copy_url, endpoint))
        self.done.clicked.connect(partial(actions.mark_updated, endpoint.id))
        self.show_age(now_us())

    def show_age(self, now_us: int) -> None:
        text = f"copied {ago(self._url.copied_at, now_us)} as {escape(self._url.url)}"
        if text != self.facts.text():
            self.facts.setText(text)


class OutdatedRows(QWidget):
    """At most `most` rows, None for all. `count` is the number of all."""

    def __init__(
        self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget, *, most: int | None = None
    ) -> None:
        super().__init__(parent)
        self._services, self._actions, self._theme, self._most = services, actions, theme, most
        self._shown: tuple[object, ...] | None = None
        self.count = 0
        self.rows: list[OutdatedRow] = []
        self._column = vbox(inside=self, spacing=0)
        WhileShown(TICK_MS, self, self._show_ages)

    @Slot()
    def _show_ages(self) -> None:
        now = now_us()
        for row in self.rows:
            row.show_age(now)

    def show_tunnel(self, tunnel: Tunnel) -> bool:
        """Show the outdated URLs of endpoints that still exist; whether anything changed."""
        known = [(one, self._services.store.endpoints.by_id(one.endpoint_id)) for one in tunnel.outdated]
        there = [(url, endpoint) for url, endpoint in known if endpoint is not None]
        shown = (tunnel.state in CONNECTED, *((url, endpoint.name) for url, endpoint in there))
        if shown == self._shown:
            return False
        self._shown = shown
        self.count = len(there)
        self._rebuild(there[: self._most], up=tunnel.state in CONNECTED)
        return True

    def _rebuild(self, there: Sequence[tuple[OutdatedUrl, Endpoint]], *, up: bool) -> None:
        focus = self.window().focusWidget()
        focused = next((place for place, row in enumerate(self.rows) if row.isAncestorOf(focus)), None)
        for row in self.rows:
            row.hide()
            row.deleteLater()
        self.rows = []
        for url, endpoint in there:
            row = OutdatedRow(endpoint, url, self._actions, self._theme, self)
            row.copy.set_refusal(None if up else NOT_UP)
            self._column.addWidget(row)
            self.rows.append(row)
        if focused is not None and self.rows:
            self.rows[min(focused, len(self.rows) - 1)].done.setFocus()
        self.updateGeometry()


class _OutdatedBox(QFrame):
    """What the bar and the card have; hidden while there are none."""

    def __init__(
        self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget, *, most: int | None = None
    ) -> None:
        super().__init__(parent)
        self._icon = IconLabel(18, theme, self, "warning", "warning")
        self.title = ElidedLabel("", "strong", self)
        self.advice = ElidedLabel("", "muted", self)
        self.rows = OutdatedRows(services, actions, theme, self, most=most)
        self.hide()

    def show_tunnel(self, tunnel: Tunnel) -> None:
        if self.rows.show_tunnel(tunnel):
            up = tunnel.state in CONNECTED
            self.title.setText(title_text(self.rows.count, up=up))
            self.advice.setText(ADVICE if up else LATER_ADVICE)
            self.setAccessibleName(f"{self.title.text()}. {self.advice.text()}")
            self._fit(tunnel)

    def _fit(self, tunnel: Tunnel) -> None:
        """The rows have changed."""
        raise NotImplementedError


class OutdatedCard(_OutdatedBox):
    """All of them, on the tunnel's page."""

    def __init__(self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(services, actions, theme, parent)
        self.setProperty("part", "card")
        self._area = Scrolling(self.rows, QSize(0, ROW), self)
        top = hbox(self._icon, (self.title, 1), spacing=metrics.SPACE_2)
        vbox(top, self.advice, self._area, inside=self, spacing=metrics.SPACE_2, margins=metrics.SPACE_4)

    def _fit(self, tunnel: Tunnel) -> None:
        self._area.setFixedHeight(ROW * min(ROWS_MAX, max(1, len(self.rows.rows))))
        self.setVisible(bool(self.rows.count))


class OutdatedBar(_OutdatedBox):
    """The first of them, above every other page, until dismissed; more of them bring it back."""

    page_requested = Signal()

    def __init__(self, services: Services, actions: TunnelActions, theme: Theme, parent: QWidget) -> None:
        super().__init__(services, actions, theme, parent, most=BAR_ROWS)
        self._dismissed: frozenset[OutdatedUrl] = frozenset()
        self._outdated: frozenset[OutdatedUrl] = frozenset()
        self._beside_page = False
        self.setProperty("part", "bar")
        self.setProperty("tone", "warning")
        self.more = Button("", theme, self, kind="link")
        self.more.align_left()
        self.dismiss = IconButton("close", "Dismiss", theme, self, run=self._dismiss)
        words = vbox(self.title, self.advice, spacing=2)
        top = hbox(self._icon, (words, 1), (self.dismiss, 0, Qt.AlignmentFlag.AlignTop), spacing=metrics.SPACE_3)
        below = vbox(
            self.rows,
            (self.more, 0, Qt.AlignmentFlag.AlignLeft),
            spacing=0,
            margins=(18 + metrics.SPACE_3, 0, 28 + metrics.SPACE_3, 0),
        )
        vbox(
            top,
            below,
            inside=self,
            spacing=metrics.SPACE_1,
            margins=(metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_4, metrics.SPACE_2),
        )
        self.more.clicked.connect(self.page_requested)

    def set_beside_page(self, beside: bool) -> None:
        """Whether the tunnel's page, which has all of them, is shown."""
        self._beside_page = beside
        self._follow()

    def _fit(self, tunnel: Tunnel) -> None:
        self._outdated = frozenset(tunnel.outdated)
        more = self.rows.count - len(self.rows.rows)
        self.more.setText(f"Show {count_of(more, 'other')}")
        self.more.setVisible(more > 0)
        self._follow()

    @Slot()
    def _dismiss(self) -> None:
        self._dismissed = self._outdated
        self._follow()

    def _follow(self) -> None:
        new = self._outdated - self._dismissed
        self.setVisible(bool(self.rows.count and new) and not self._beside_page)
        restyle(self)
