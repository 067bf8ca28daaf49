"""A body with its views (pretty, tree, text, hex, preview), facts about it, and buttons to copy and save it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import cast

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QApplication, QSplitter, QStackedWidget, QWidget

from app.core.bodies.body_reader import FORMATTED_MAX, BodyReader
from app.core.bodies.escape import escape
from app.core.bodies.formats.image import image_title, may_be_sent_as
from app.core.bodies.formatter import Group, Line
from app.core.bodies.media_types import media_type, type_hint
from app.core.search.body_search import pattern_of
from app.core.text import size_text
from app.ui.inspector.body.body_bars import BodyNotices, PartBar, body_toolbar
from app.ui.inspector.body.body_export import BodyExport
from app.ui.inspector.body.body_source import BEFORE, BodyLoader, BodySource, SourceView, of_bytes
from app.ui.inspector.body.code_view import CodeView
from app.ui.inspector.body.find_bar import FindBar
from app.ui.inspector.body.hex_widget import HexWidget
from app.ui.inspector.body.image_view import ImageView, PageView
from app.ui.inspector.body.text_style import WrapButton
from app.ui.inspector.body.tree_view import TreeView
from app.ui.inspector.body.value_decoder import ValueDecoder
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.card import EMPTY_WIDTH, EmptyState
from app.ui.widgets.fields import Segmented
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import FittingLabel
from app.ui.widgets.layout import vbox
from app.ui.widgets.notices import Toast

VIEWS = (
    *(("parts", "Parts"), ("pretty", "Pretty"), ("table", "Table"), ("tree", "Tree")),
    *(("text", "Text"), ("hex", "Hex"), ("preview", "Preview")),
)
OPTIONAL_VIEWS: tuple[Group, ...] = ("parts", "table", "tree", "preview")
"""Views that are offered only for bodies that have them."""


class LazyViews(QObject):
    """The views that read a body themselves, created on demand and given to `add`."""

    def __init__(
        self, values: ValueDecoder, tasks: Tasks, parent: QWidget, add: Callable[[QWidget], None], what: str
    ) -> None:
        super().__init__(parent)
        self._values, self._tasks, self._parent, self._add, self._what = values, tasks, parent, add, what
        self._views: dict[str, SourceView] = {}
        self._marked: re.Pattern[str] | None = None

    def clear(self) -> None:
        """Stop loading, and free what was read."""
        for view in self._views.values():
            view.clear()

    @Slot(object)
    def mark(self, words: Sequence[str]) -> None:
        """Mark a filter's words in tables and cards."""
        self._marked = pattern_of(words, ("form",))
        for view in self._views.values():
            view.mark(self._marked)

    def view(self, name: str) -> SourceView:
        """The view of this name; a drawing is shown as an image."""
        name = "image" if name == "drawing" else name
        if name not in self._views:
            view = self._views[name] = self._make(name)
            view.mark(self._marked)
            self._add(view)
        return self._views[name]

    def _make(self, name: str) -> SourceView:
        common = self._values.theme, self._tasks, self._parent
        plain = {"image": ImageView, "page": PageView, "tree": TreeView}
        if name in plain:
            return plain[name](*common)
        if name == "parts":
            # Few bodies need this, and importing it would slow down the start; as the next two.
            from app.ui.inspector.body.parts_view import PartsView

            return PartsView(self._what, self._make_pane, *common)
        # As above.
        from app.ui.inspector.body.csv_table import CsvTable
        from app.ui.inspector.body.form_table import FormTable

        table = FormTable(*common) if name == "form-table" else CsvTable(*common)
        table.view.values.requested.connect(self._values.show_value)
        return table

    def _make_pane(self, what: str, parent: QWidget) -> BodyPane:
        """A pane for a part, which is a body as well."""
        return BodyPane(self._values.theme, self._tasks, parent, "This part is empty", what=what)


class BodyPane(QWidget):
    """`show_source` shows a body in the view that fits, or in the one the user last selected for its type; or a whole
    request as it was received.

    `what` names it in tooltips, as `part 3`; messages leave the number out. `empty` is said if there is none.
    """

    def __init__(
        self, theme: Theme, tasks: Tasks, parent: QWidget, empty: str = "No body", *, what: str = "body"
    ) -> None:
        super().__init__(parent)
        self._theme, self._tasks = theme, tasks
        self._what, self._noun = what, what.partition(" ")[0]
        self.empty = empty
        self._source = of_bytes(b"", "")
        self._selected_views: dict[str, Group] = {}
        self.views = Segmented(VIEWS, self)
        for view in OPTIONAL_VIEWS:
            self.views.set_option_visible(view, False)
        self.facts = FittingLabel("small", self)
        self.facts.setMinimumWidth(1)  # The facts can be spared more easily than the rest of the toolbar.
        self.wrap = WrapButton(theme, self)
        self.search = IconButton("search", f"Find in {what} (Ctrl+F)", theme, self, run=self.open_find)
        self.copy = IconButton("copy", f"Copy {what}", theme, self)
        self.save = IconButton("download", f"Save {what} as…", theme, self)
        self.loader = BodyLoader(tasks, self)
        self.stack = QStackedWidget(self)
        self.code = CodeView(theme, self.stack, f"{what.capitalize()} as text")
        self.stack.addWidget(self.code)
        self.notices = BodyNotices(self.code, self.loader, theme, self)
        self.find_bar = FindBar(self.code, self.loader, theme, tasks, self, what=self._noun)
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
        )
        self.split = QSplitter(Qt.Orientation.Vertical, self)
        self.split.addWidget(self.stack)
        buttons = (self.wrap, self.search, self.copy, self.save)
        toolbar = body_toolbar(self.views, self.facts, buttons, self)
        bars = (self.notices, self.find_bar)
        vbox(toolbar, *bars, (self.split, 1), self.rest, inside=self, spacing=0, margins=0)
        self._connect()
        self.values = ValueDecoder(self.code, self.split, theme, tasks, self._toast)
        self.lazy_views = LazyViews(self.values, tasks, self.stack, self._add_page, what)
        self.find_bar.words_changed.connect(self.lazy_views.mark)

    @property
    def image(self) -> ImageView:
        return cast(ImageView, self.lazy_views.view("image"))

    @property
    def tree(self) -> TreeView:
        return cast(TreeView, self.lazy_views.view("tree"))

    @cached_property
    def hex(self) -> HexWidget:
        """Made when it is first shown, as the states are: they would slow down the start of the window."""
        view = HexWidget(self._theme, self._tasks, self.stack, f"{self._what.capitalize()} as hexadecimal")
        self._add_page(view)
        return view

    @cached_property
    def unread(self) -> EmptyState:
        state = self._make_state(f"Could not read the {self._noun}", action="Try again")
        state.action.connect(self._start)
        return state

    @cached_property
    def nothing(self) -> EmptyState:
        return self._make_state("")

    def show_source(self, source: BodySource) -> None:
        """Show this body, cancelling the load in progress."""
        self._source = source
        self.notices.forget()
        self._free_views()
        self.find_bar.dismiss()
        for widget in (self.views, self.search, self.wrap, self.copy, self.save):
            widget.setVisible(bool(source.size))
        if not source.size:
            self.loader.stop()
            self.nothing.title.setText(self.empty)
            self._show_empty_state(self.nothing)
            return
        if source.raw_head is not None:
            self.views.set_option_visible("pretty", False)
        if isinstance(self.stack.currentWidget(), EmptyState):
            self.stack.setCurrentWidget(self.code)  # What it says is about the previous body.
        self._start()

    def stop(self) -> None:
        """Cancel loading, and free the body."""
        self.find_bar.dismiss()
        self.loader.stop()
        self._free_views()
        self.code.set_lines([])

    @Slot()
    def open_find(self) -> None:
        """Open the search; a view without one is replaced by Text."""
        if not self._source.size:
            return
        if self.views.current() in ("parts", "table"):
            self.views.set_current("pretty")
            self.loader.start(self._source, "pretty")  # Only once: the view selected for bodies of this type stays.
        elif not self.find_bar.can_search(self.stack.currentWidget()):
            self.views.set_current("text")
            self._view_selected("text")
        self.find_bar.start()

    @Slot()
    def take_focus(self) -> None:
        """Focus the view shown."""
        page = self.stack.currentWidget()
        if page is not None:
            page.setFocus()

    def focused(self) -> BodyPane:
        """The pane of the part that the keyboard is in, or this one."""
        focus = QApplication.focusWidget()
        inside = [pane for pane in self.findChildren(BodyPane) if focus is not None and pane.isAncestorOf(focus)]
        return inside[-1] if inside else self

    def is_picture(self) -> bool:
        """Whether it is copied as a picture, not as text."""
        reader = self.loader.reader
        return reader is not None and reader.picture is not None

    def _connect(self) -> None:
        self.views.activated.connect(self._view_selected)
        self.loader.begun.connect(self._begun)
        self.loader.continued.connect(self._continued)
        self.loader.failed.connect(self._failed)
        self.find_bar.closed.connect(self.take_focus)
        self.copy.clicked.connect(self._export.copy)
        for save in (self.save, self.rest.save):
            save.clicked.connect(self._export.save)
        self.rest.more.clicked.connect(self._show_next)
        self.rest.earlier.clicked.connect(self._show_previous)

    def _current_source(self) -> BodySource | None:
        return self._source if self._source.size else None

    def _make_state(self, title: str, action: str | None = None) -> EmptyState:
        state = EmptyState("body", title, "", self._theme, self.stack, action=action)
        state.set_text_width(EMPTY_WIDTH)
        self._add_page(state)
        return state

    def _add_page(self, page: QWidget) -> None:
        self.stack.addWidget(page)
        order_tabs(self.stack)

    def _free_views(self) -> None:
        """Free what the views have read of the whole body."""
        self.lazy_views.clear()
        self.values.forget()

    @Slot()
    def _start(self) -> None:
        self.loader.start(self._source, self._selected_views.get(media_type(self._source.content_type)))

    @Slot()
    def _failed(self) -> None:
        """The previous body must not stay below another request's header."""
        if self.loader.reader is None:
            self._free_views()
            self._show_empty_state(self.unread)

    def _show_empty_state(self, page: EmptyState) -> None:
        self.code.set_lines([])
        self.facts.set_wordings(("",))
        self.notices.say([])
        self.rest.hide()
        self.stack.setCurrentWidget(page)

    @Slot(object, object)
    def _begun(self, reader: BodyReader, lines: list[Line]) -> None:
        source = self._source
        if reader.view is None:
            return
        self._show_views(reader, source)
        self._show_facts(reader, source)
        self._free_views()
        page: QWidget = self.code
        if reader.view.group in OPTIONAL_VIEWS:
            page = view = self.lazy_views.view(reader.view.name)
            view.show_source(source)
        elif reader.view.write is None:
            page = self.hex
            self.hex.show_source(source)
        else:
            if lines and reader.continues:
                lines[0] = lines[0]._replace(folded=True)
            self.code.set_lines(lines, reader.first_line, folding=reader.view.group == "pretty")
        self.stack.setCurrentWidget(page)
        self.wrap.setVisible(page is self.code)
        self.find_bar.view_changed(page, reader, source.content_type)
        self._show_notices(reader)

    def _show_views(self, reader: BodyReader, source: BodySource) -> None:
        """Offer the views that fit, and mark the one that is shown."""
        assert reader.view is not None
        self.views.set_current(reader.view.group)
        fitting = {view.group for view in reader.views}
        for view in OPTIONAL_VIEWS:
            self.views.set_option_visible(view, view in fitting)
        self.views.set_enabled("pretty", "pretty" in fitting)
        misses_pretty = source.raw_head is None and "preview" not in fitting
        self.views.set_option_visible("pretty", "pretty" in fitting or misses_pretty)

    def _show_facts(self, reader: BodyReader, source: BodySource) -> None:
        selected = media_type(source.content_type) in self._selected_views
        charset = reader.text_charset
        coded = [escape(charset.label)] if charset is not None and charset.name != "utf-8" else []
        auto = [] if selected else ["auto"]
        found = (_name(reader, source.content_type), size_text(source.size), *coded, *reader.codings, *auto)
        facts = source.facts or found
        self.facts.set_wordings([" · ".join(facts[:count]) for count in range(len(facts), -1, -1)])

    @Slot(object)
    def _continued(self, lines: list[Line]) -> None:
        self.code.add_lines(lines)
        self.find_bar.extended()
        if self.loader.reader is not None:
            self._show_notices(self.loader.reader)

    def _show_notices(self, reader: BodyReader) -> None:
        self.notices.show_notices(reader, _not_as_sent(reader, self._source.content_type))
        if self.loader.ended:
            self.code.end_lines()
        self._show_rest()

    def _show_rest(self) -> None:
        """Say which part is shown, if it is not all."""
        reader, in_lines = self.loader.reader, self.stack.currentWidget() is self.code
        if reader is None or not in_lines or not self.loader.ended or self.loader.shows_all:
            self.rest.hide()
        else:
            self.rest.show_part(reader, self._source.size, self.code.line_count())

    @Slot()
    def _show_next(self) -> None:
        reader = self.loader.reader
        if reader is None or reader.view is None:
            return
        if reader.view.group == "text":
            self.loader.start_next()
        else:
            self.loader.start(self._source, "text")  # Only once: the view selected for bodies of this type stays.

    @Slot()
    def _show_previous(self) -> None:
        if self.loader.reader is not None:
            self.loader.start_at(self._source, self.loader.reader.start_offset - FORMATTED_MAX + BEFORE)

    @Slot(str)
    def _view_selected(self, group: str) -> None:
        self._selected_views[media_type(self._source.content_type)] = cast(Group, group)
        self.loader.start(self._source, cast(Group, group))


def _name(reader: BodyReader, content_type: str) -> str:
    """The name of the view shown."""
    group = reader.view.group if reader.view else None
    if reader.picture is not None and group in ("preview", "hex"):
        return image_title(reader.picture)
    titled = reader.view is not None and group in ("parts", "pretty", "table", "preview")
    return reader.view.title if reader.view and titled else type_hint(content_type) or "No content type"


def _not_as_sent(reader: BodyReader, content_type: str) -> list[str]:
    """A notice if the content type does not match the picture's format."""
    sent, picture = media_type(content_type), reader.picture
    if picture is None or may_be_sent_as(picture, sent):
        return []
    return [f"Sent as {escape(sent[:100])}, but this is a {image_title(picture)}."]
