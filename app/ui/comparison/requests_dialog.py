"""The window that compares two requests: what each is, and their headers and bodies side by side."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.bodies.escape import escape
from app.core.body_comparison import DECODED_MAX
from app.core.comparison import NONE_IGNORED, ComparedMessage, side_by_side
from app.core.errors import DamagedBodyError, NotFoundError
from app.core.model import Capture
from app.core.text import exact_time, size_text, title_of
from app.ui.comparison.compared_view import ComparedView, SideBySideDialog
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme import metrics
from app.ui.theme.fonts import SMALL, mono_font
from app.ui.theme.theme import Theme
from app.ui.widgets.badge import MethodBadge, Pill
from app.ui.widgets.card import EmptyState
from app.ui.widgets.labels import ElidedLabel, FittingLabel, label
from app.ui.widgets.layout import Stretch, fill, hbox, vbox

TITLE_LEAST = 88
"""Pixels: the time gives way before the title has less."""


class RequestsDialog(SideBySideDialog):
    """The first of `two` is the older one. They may have been deleted since they were read."""

    def __init__(
        self, two: tuple[Capture, Capture], services: Services, theme: Theme, tasks: Tasks, parent: QWidget
    ) -> None:
        super().__init__("Compare two requests", theme, parent)
        self._captures, self._two = services.store.captures, two
        self._latest = Latest(self, tasks, "compare two requests")
        self.view = ComparedView("request", theme, self, can_ignore=False, inset=metrics.SPACE_5)
        self.view.body_title.setText("Reading…")
        self.sides = (RequestTitle("First", theme, self.view), RequestTitle("Second", theme, self.view))
        titles = hbox(
            (self.sides[0], 1),
            (self.sides[1], 1),
            spacing=metrics.SPACE_4,
            margins=(metrics.SPACE_5, metrics.SPACE_2, metrics.SPACE_5, metrics.SPACE_3),
        )
        fill(self.view.above, titles)
        for side, request, other in zip(self.sides, two, reversed(two), strict=True):
            side.show_request(request, other, services)
        self.problem = EmptyState("compare", "These requests cannot be compared", "", theme, self)
        self.pages = QStackedWidget(self)
        self.pages.addWidget(self.view)
        self.pages.addWidget(self.problem)
        fill(self.body, (self.pages, 1))
        fill(self.footer, Stretch(), self.make_close_button("Close"))
        self.finished.connect(self._latest.stop)
        self.view.body.sides[0].setFocus()
        self.resize(self.sizeHint())
        self._latest.run(self._read)

    async def _read(self) -> None:
        try:
            first, second = [await self._message(request) for request in self._two]
        except (NotFoundError, DamagedBodyError) as error:
            self.problem.text.setText(str(error))
            self.pages.setCurrentWidget(self.problem)
            return
        found = await in_thread(side_by_side, first, second, NONE_IGNORED)
        self.view.show_messages(first, second, found, keep_place=False)

    async def _message(self, request: Capture) -> ComparedMessage:
        """With at most as much of its body as is compared; all of a shorter one, which is checked then."""
        whole = request.size <= DECODED_MAX
        body = await self._captures.body(request.id, 0, None if whole else DECODED_MAX)
        trailers = ((f"{name} (trailer)", value) for name, value in request.trailers)
        return ComparedMessage(headers=(*request.headers, *trailers), body=body, complete=whole and request.complete)


class RequestTitle(QWidget):
    """What a request is and when it came; below that its target and size."""

    def __init__(self, name: str, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName(f"{name} request")
        self.method = MethodBadge("", theme, self)
        self.title = ElidedLabel("", "strong", self)
        self.title.setMinimumWidth(TITLE_LEAST)
        self.time = FittingLabel("small", self)
        self.time.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.target = ElidedLabel("", "", self, Qt.TextElideMode.ElideMiddle)
        self.target.setFont(mono_font(SMALL))
        self.length = label("", "small", self)
        self.differs = (Pill("≠", "danger", self), Pill("≠", "danger", self))
        """What marks another method and another target than the other request has."""
        method, target = self.differs
        above = hbox(label(name, "muted", self), method, self.method, (self.title, 1), self.time)
        below = hbox(target, (self.target, 1), self.length)
        for row in (above, below):
            row.setSpacing(metrics.SPACE_2)
        vbox(above, below, inside=self, spacing=metrics.SPACE_1)

    def show_request(self, request: Capture, other: Capture, services: Services) -> None:
        """`other` is what it is compared with."""
        title = title_of(request, services.providers)
        self.method.set_method(request.method)
        self.title.setText(" · ".join(filter(None, (title.main, title.sender))))
        time = exact_time(request.received_at)
        self.time.set_wordings((time, time.rpartition(" ")[0]))  # without the offset from UTC where space is short
        self.target.setText(escape(request.target))
        self.length.setText(f"{size_text(request.size)}{'' if request.complete else ' · cut off'}")
        values = (("Method", request.method, other.method), ("Target", request.target, other.target))
        for mark, (what, own, others) in zip(self.differs, values, strict=True):
            mark.setVisible(own != others)
            mark.setToolTip(f"{what} is different")
            mark.setAccessibleName(f"{what} is different")
