"""A body with its views (pretty, tree, text, hex, preview), facts about it, and buttons to copy and save it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QApplication, QSplitter, QStackedWidget, QWidget

from app.core.bodies.body_reader import BodyReader
from app.core.bodies.escape import escape
from app.core.bodies.format_registry import best_in
from app.core.bodies.formats.image import image_title, may_be_sent_as
from app.core.bodies.formatter import Group, Line, View
from app.core.bodies.media_types import media_type, type_hint
from app.core.bodies.value_at_cursor import Value
from app.core.search.body_search import pattern_of
from app.core.text import size_text
from app.ui.inspector.body.body_bars import ErrorLocation, NoticesBar
from app.ui.inspector.body.body_find import BodyFind
from app.ui.inspector.body.body_source import BodySource
from app.ui.inspector.body.image_view import ImageView
from app.ui.inspector.body.source_pane import SourcePane
from app.ui.inspector.body.text_style import WrapButton
from app.ui.inspector.body.tree_view import TreeView
from app.ui.inspector.body.value_decoder import ValueDecoder
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.ui.widgets.empty_state import EmptyState

VIEWS = (
    *(("parts", "Parts"), ("pretty", "Pretty"), ("table", "Table"), ("tree", "Tree")),
    *(("text", "Text"), ("hex", "Hex"), ("preview", "Preview")),
)
OPTIONAL_VIEWS: tuple[Group, ...] = ("parts", "table", "tree", "preview")
"""Views that are offered only for bodies that have them."""


class LazyViews(QObject):
    """The views that read a body themselves, each in its widget in `stack`, created on demand. `add` puts one there."""

    def __init__(
        self,
        stack: QStackedWidget,
        values: ValueDecoder,
        tasks: Tasks,
        add: Callable[[QWidget], None],
        what: str,
    ) -> None:
        super().__init__(stack)
        self._stack, self._values, self._tasks, self._add = stack, values, tasks, add
        self._what = what
        self._views: dict[str, Any] = {}
        self._tables: list[Any] = []
        self._words: re.Pattern[str] | None = None

    def show(self, view: View, source: BodySource) -> QWidget:
        """The widget that shows the body."""
        page: Any = self.page(view.name)
        self._stack.setCurrentWidget(page)
        page.show_source(source)
        return cast(QWidget, page)

    def clear(self) -> None:
        """Stop loading, and free what was read."""
        for page in self._views.values():
            page.clear()

    @Slot(object)
    def mark(self, words: Sequence[str]) -> None:
        """Mark a filter's words in tables and cards."""
        self._words = pattern_of(words, ("form",))
        for table in self._tables:
            table.mark(self._words)

    def page(self, name: str) -> Any:
        """The widget for the view of this name; a drawing is shown as an image."""
        name = "image" if name == "drawing" else name
        if name not in self._views:
            self._views[name] = self._make(name)
            self._add(self._views[name])
        return self._views[name]

    def _make(self, name: str) -> QWidget:
        if name in ("image", "tree"):
            return (ImageView if name == "image" else TreeView)(self._values.theme, self._tasks, self._stack)
        if name == "page":
            # Here and below: few bodies need these, and importing them would slow down the start.
            from app.ui.inspector.body.page_view import PageView

            return PageView(self._values.theme, self._tasks, self._stack)
        if name == "parts":
            # Nor these.
            from app.ui.inspector.body.parts_view import PartsView

            parts = PartsView(self._what, self._pane, self._values.theme, self._tasks, self._stack)
            parts.cards.mark(self._words)
            self._tables.append(parts.cards)
            return parts
        # Few bodies need these either.
        from app.ui.inspector.body.csv_table import CsvTable
        from app.ui.inspector.body.form_table import FormTable

        kinds: dict[str, type[CsvTable | FormTable]] = {"form-table": FormTable, "csv-table": CsvTable}
        page = kinds[name](self._values.theme, self._tasks, self._stack)
        page.view.value_requested.connect(self._show_value)
        page.view.decode_requested.connect(self._decode_value)
        page.view.mark(self._words)
        self._tables.append(page.view)
        return page

    def _pane(self, what: str, parent: QWidget) -> BodyPane:
        """A pane for a part, which is a body as well."""
        return BodyPane(self._values.theme, self._tasks, parent, "This part is empty", what=what)

    @Slot(object)
    def _show_value(self, value: Value) -> None:
        self._values.show_text(value, self._current())

    @Slot(object)
    def _decode_value(self, value: Value) -> None:
        self._values.show_decoded(value, self._current())

    def _current(self) -> QWidget:
        current = self._stack.currentWidget()
        assert current is not None  # A value was selected in it.
        return current


class BodyPane(SourcePane):
    """`show_source` shows a body in the view that fits, or in the one the user last selected for its type."""

    def __init__(
        self, theme: Theme, tasks: Tasks, parent: QWidget, empty: str = "No body", *, what: str = "body"
    ) -> None:
        super().__init__(VIEWS, theme, tasks, parent, what=what)
        self.empty = empty
        self._selected_views: dict[str, Group] = {}
        for view in OPTIONAL_VIEWS:
            self.views.set_option_visible(view, False)
        self.facts.setMinimumWidth(1)  # The facts can be spared more easily than the rest of the toolbar.
        self.wrap = WrapButton(theme, self)
        self.notices = NoticesBar(theme, self)
        self.body_find = BodyFind(theme, tasks, self.loader, self, self.code)
        self.find_bar = self.body_find.bar
        self.split = QSplitter(Qt.Orientation.Vertical, self)
        self.split.addWidget(self.stack)
        self._lay_out(self.split, buttons=(self.wrap,), bars=(self.notices, self.find_bar))
        self._connect()
        self.error_location = ErrorLocation(self.code, self.loader, self.notices)
        self.values = ValueDecoder(self.code, self.split, theme, tasks, self._toast)
        self.lazy_views = LazyViews(self.stack, self.values, tasks, self._add_page, what)
        self.find_bar.words_changed.connect(self.lazy_views.mark)

    @property
    def image(self) -> ImageView:
        return cast(ImageView, self.lazy_views.page("image"))

    @property
    def tree(self) -> TreeView:
        return cast(TreeView, self.lazy_views.page("tree"))

    @cached_property
    def nothing(self) -> EmptyState:
        return self._make_state("")

    def show_source(self, source: BodySource) -> None:
        """Show this body, cancelling the load in progress."""
        self._source = source
        self.error_location.forget()
        self._free_views()
        self.find_bar.dismiss()
        for widget in (self.views, self.search, self.wrap, self.copy, self.save):
            widget.setVisible(bool(source.size))
        if not source.size:
            self.loader.stop()
            self.nothing.title.setText(self.empty)
            self._show_empty_state(self.nothing)
            return
        if isinstance(self.stack.currentWidget(), EmptyState):
            self.stack.setCurrentWidget(self.code)  # What it says is about the previous body.
        self._start()

    def stop(self) -> None:
        """Cancel loading."""
        self.body_find.stop()
        self.loader.stop()
        self._free_views()

    @Slot()
    def open_find(self) -> None:
        """Open the search; a view without one is replaced by Text."""
        if self._source is None or not self._source.size:
            return
        if self.views.current() in ("parts", "table"):
            self.views.set_current("pretty")
            self.loader.start(self._source, "pretty")  # Only once: the view selected for bodies of this type stays.
        elif not self.body_find.can_search(self.stack.currentWidget()):
            self.views.set_current("text")
            self._view_selected("text")
        self.find_bar.start()

    def focused(self) -> BodyPane:
        """The pane of the part that the keyboard is in, or this one."""
        focus = QApplication.focusWidget()
        inside = [pane for pane in self.findChildren(BodyPane) if focus is not None and pane.isAncestorOf(focus)]
        return inside[-1] if inside else self

    def is_picture(self) -> bool:
        reader = self.loader.reader
        return reader is not None and reader.picture is not None

    def _connect(self) -> None:
        self.views.activated.connect(self._view_selected)
        self.loader.begun.connect(self._begun)
        self.loader.continued.connect(self._continued)
        self.loader.failed.connect(self._failed)
        self.find_bar.closed.connect(self.take_focus)

    def _free_views(self) -> None:
        """Free what the views have read of the whole body."""
        self.lazy_views.clear()
        self.values.forget()

    @Slot()
    def _start(self) -> None:
        if self._source is not None:
            self.loader.start(self._source, self._selected_views.get(media_type(self._source.content_type)))

    @Slot()
    def _failed(self) -> None:
        """The previous body must not stay below another request's header."""
        if self.loader.reader is None:
            self._free_views()
            self._show_empty_state(self.unread)

    def _show_empty_state(self, page: EmptyState) -> None:
        self.code.set_lines([])
        self.body_find.words.forget()
        self.facts.set_wordings(("",))
        self.notices.say([])
        self.rest.hide()
        self.stack.setCurrentWidget(page)

    @Slot(object, object)
    def _begun(self, reader: BodyReader, lines: list[Line]) -> None:
        source = self._source
        if source is None or reader.view is None:
            return
        self.views.set_current(reader.view.group)
        pretty = best_in("pretty", reader.views)
        self.views.set_enabled("pretty", pretty is not None)
        for view in OPTIONAL_VIEWS:
            self.views.set_option_visible(view, best_in(view, reader.views) is not None)
        self.views.set_option_visible("pretty", pretty is not None or best_in("preview", reader.views) is None)
        selected = media_type(source.content_type) in self._selected_views
        name = _name(reader, source.content_type)
        charset = reader.text_charset
        coded = [escape(charset.label)] if charset is not None and charset.name != "utf-8" else []
        facts = [name, size_text(source.size), *coded, *reader.codings, *([] if selected else ["auto"])]
        self.facts.set_wordings([" · ".join(facts[:count]) for count in range(len(facts), -1, -1)])
        self._free_views()
        page: QWidget = self.code
        if reader.view.group in OPTIONAL_VIEWS:
            page = self.lazy_views.show(reader.view, source)
        elif reader.view.write is None:
            page = self.hex
            self.hex.show_source(source)
        else:
            self.show_first_lines(reader, lines)
        self.stack.setCurrentWidget(page)
        self.wrap.setVisible(page is self.code)
        self._show_notices(reader)
        self.body_find.view_changed(page, reader, source.content_type)

    @Slot(object)
    def _continued(self, lines: list[Line]) -> None:
        self.code.add_lines(lines)
        if self.loader.reader is not None:
            self._show_notices(self.loader.reader)
        self.body_find.extended()

    def _show_notices(self, reader: BodyReader) -> None:
        wrong = _not_as_sent(reader, self._source.content_type) if self._source else []
        notices, place = self.error_location.notices(reader)
        self.notices.say([*wrong, *notices], place=place)
        if self.loader.ended:
            self.code.end_lines()
        self._show_rest()

    @Slot(str)
    def _view_selected(self, group: str) -> None:
        if self._source is not None:
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
