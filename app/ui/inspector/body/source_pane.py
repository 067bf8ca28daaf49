"""What the panes of a body and of a raw request share: the toolbar, the stack of views, copying and saving."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.bodies.body_reader import FORMATTED_MAX, BodyReader
from app.core.bodies.formatter import Line
from app.ui.inspector.body.body_bars import PartBar, body_toolbar
from app.ui.inspector.body.body_export import BodyExport
from app.ui.inspector.body.body_loader import BEFORE, BodyLoader
from app.ui.inspector.body.body_source import BodySource
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.body.hex_widget import HexWidget
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.empty_state import EMPTY_WIDTH, EmptyState
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import FittingLabel
from app.ui.widgets.layout import vbox
from app.ui.widgets.segmented import Segmented
from app.ui.widgets.toast import Toast


class SourcePane(QWidget):
    """`what` names the content in tooltips, as `part 3`; messages leave the number out. Its bytes are copied as
    `mime_type` too.

    Subclasses put more views into `stack`, and set `_source`; `unread` is for them to show after a failed read.
    """

    def __init__(
        self,
        views: Sequence[tuple[str, str]],
        theme: Theme,
        tasks: Tasks,
        parent: QWidget,
        *,
        what: str,
        mime_type: str | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._tasks = theme, tasks
        self._what, self._noun = what, what.partition(" ")[0]
        self._source: BodySource | None = None
        self.views = Segmented(views, self)
        self.facts = FittingLabel("small", self)
        self.search = IconButton("search", f"Find in {what} (Ctrl+F)", theme, self)
        self.copy = IconButton("copy", f"Copy {what}", theme, self)
        self.save = IconButton("download", f"Save {what} as…", theme, self)
        self.loader = BodyLoader(tasks, self)
        self.stack = QStackedWidget(self)
        self.code = CodeView(theme, self.stack)
        self.stack.addWidget(self.code)
        self.rest = PartBar(theme, self)
        self._toast = Toast(theme, self)
        self._export = BodyExport(
            self.copy,
            self,
            tasks,
            self._toast,
            source=self._current_source,
            is_picture=self.is_picture,
            what=self._noun,
            mime_type=mime_type,
        )
        self.copy.clicked.connect(self._export.copy)
        self.search.clicked.connect(self.open_find)
        self.rest.more.clicked.connect(self._show_next)
        self.rest.earlier.clicked.connect(self._show_previous)
        for save in (self.save, self.rest.save):
            save.clicked.connect(self._export.save)

    @cached_property
    def hex(self) -> HexWidget:
        """Made when it is first shown, as the states are: they would slow down the start of the window."""
        view = HexWidget(self._theme, self._tasks, self.stack)
        view.setAccessibleName(f"{self._what.capitalize()} as hexadecimal")
        self._add_page(view)
        return view

    @cached_property
    def unread(self) -> EmptyState:
        state = self._make_state(f"Could not read the {self._noun}", action="Try again")
        state.action.connect(self._start)
        return state

    def is_picture(self) -> bool:
        """Whether it is copied as a picture, not as text."""
        return False

    def open_find(self) -> None:
        """Open the search; a view without one is replaced by one that has it."""
        raise NotImplementedError

    @Slot()
    def take_focus(self) -> None:
        """Focus the view shown."""
        page = self.stack.currentWidget()
        if page is not None:
            page.setFocus()

    def show_first_lines(self, reader: BodyReader, lines: list[Line]) -> None:
        if lines and reader.continues:
            lines[0] = lines[0]._replace(folded=True)
        self.code.set_lines(lines, reader.first_line, folding=reader.view is not None and reader.view.group == "pretty")

    def _show_rest(self) -> None:
        """Say which part is shown, if it is not all."""
        reader, in_lines = self.loader.reader, self.stack.currentWidget() is self.code
        if self._source is None or reader is None or not in_lines or not self.loader.ended or self.loader.shows_all:
            self.rest.hide()
        else:
            self.rest.show_part(reader, self._source.size, self.code.line_count())

    @Slot()
    def _show_next(self) -> None:
        reader = self.loader.reader
        if self._source is None or reader is None or reader.view is None:
            return
        if reader.view.group == "text":
            self.loader.start_next()
        else:
            self.loader.start(self._source, "text")  # Only once: the view selected for bodies of this type stays.

    @Slot()
    def _show_previous(self) -> None:
        if self._source is not None and self.loader.reader is not None:
            self.loader.start_at(self._source, self.loader.reader.start_offset - FORMATTED_MAX + BEFORE)

    def _start(self) -> None:
        """Load the content from its beginning."""
        raise NotImplementedError

    def _lay_out(self, content: QWidget, *, buttons: Iterable[QWidget], bars: Iterable[QWidget]) -> None:
        """Toolbar, `bars` and `content` from top to bottom; `buttons` come before those for search, copy and save."""
        toolbar = body_toolbar(self.views, self.facts, (*buttons, self.search, self.copy, self.save), self)
        vbox(toolbar, *bars, (content, 1), self.rest, inside=self, spacing=0, margins=0)

    def _make_state(self, title: str, action: str | None = None) -> EmptyState:
        state = EmptyState("body", title, "", self._theme, self.stack, action=action)
        state.set_text_width(EMPTY_WIDTH)
        self._add_page(state)
        return state

    def _add_page(self, page: QWidget) -> None:
        self.stack.addWidget(page)
        order_tabs(self.stack)

    def _current_source(self) -> BodySource | None:
        return self._source
