"""The sidebar, and the rest of the window beside it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget

from app.ui.requests.page.panes import SIDE_BY_SIDE_WIDTH
from app.ui.shell.sidebar import MINIMUM_WIDTH, Sidebar
from app.ui.theme.metrics import SIDEBAR_WIDTH


class Frame(QSplitter):
    """Where a list and its request would not fit side by side, the sidebar is narrowed, and widened again in a larger
    window."""

    def __init__(self, sidebar: Sidebar, right: QWidget, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._narrowed: tuple[int, int] | None = None
        """The widths of the sidebar before and since it was narrowed."""
        self.setObjectName("frame")
        self.setChildrenCollapsible(False)
        self.setHandleWidth(1)
        self.addWidget(sidebar)
        self.addWidget(right)
        self.setStretchFactor(1, 1)
        self.setSizes([SIDEBAR_WIDTH, 1280 - SIDEBAR_WIDTH])

    @property
    def narrowed(self) -> bool:
        """Whether the sidebar is narrower than the user has it in a larger window."""
        return self._wanted_width() != self.sizes()[0]

    def fit_sidebar(self) -> None:
        """The window has another size."""
        wanted = self._wanted_width()
        self._narrowed = None
        room = self.window().width() - self.handleWidth() - SIDE_BY_SIDE_WIDTH
        self._set_width(min(wanted, max(MINIMUM_WIDTH, room)))
        if self.sizes()[0] < wanted:
            self._narrowed = (wanted, self.sizes()[0])

    def forget_narrowing(self) -> None:
        """Give the sidebar the width that it has on a larger screen, to be stored."""
        self._set_width(self._wanted_width())

    def _wanted_width(self) -> int:
        """As it is, or as it was before it was narrowed, if it was left so."""
        width = self.sizes()[0]
        return self._narrowed[0] if self._narrowed is not None and self._narrowed[1] == width else width

    def _set_width(self, width: int) -> None:
        if width != self.sizes()[0]:
            self.setSizes([width, max(1, self.window().width() - width)])
