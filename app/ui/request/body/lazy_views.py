"""The views that read a body themselves, each in its widget; rarely used ones are created on demand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.core.bodies.formatter import View
from app.core.bodies.value_at_cursor import Value
from app.core.search.spellings import pattern_of
from app.ui.request.body.body_source import BodySource
from app.ui.request.body.value_decoder import ValueDecoder
from app.ui.tasks import Tasks


class LazyViews(QObject):
    """`show` puts the widget for a view on top of `stack`; `existing` are the existing ones, by view."""

    def __init__(self, existing: dict[str, QWidget], stack: QStackedWidget, values: ValueDecoder, tasks: Tasks) -> None:
        super().__init__(stack)
        self._stack, self._values, self._tasks = stack, values, tasks
        self._views: dict[str, Any] = dict(existing)
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
        """Mark a filter's words in tables."""
        self._words = pattern_of(words, ("form",))
        for page in self._views.values():
            if hasattr(page, "mark"):
                page.mark(self._words)

    def page(self, name: str) -> Any:
        """The widget for the view of this name."""
        if name not in self._views:
            self._views[name] = self._make(name)
            self._stack.addWidget(self._views[name])
        return self._views[name]

    def _make(self, name: str) -> QWidget:
        if name == "page":
            # Here and below: few bodies need these, and importing them would slow down the start.
            from app.ui.request.body.page_view import PageView

            return PageView(self._values.theme, self._tasks, self._stack)
        # Few bodies need these either.
        from app.ui.request.body.csv_table import CsvTable
        from app.ui.request.body.form_table import FormTable

        kinds: dict[str, type[CsvTable | FormTable]] = {"form-table": FormTable, "csv-table": CsvTable}
        table = kinds[name](self._values.theme, self._tasks, self._stack)
        table.value_requested.connect(self._show_value)
        table.decode_requested.connect(self._decode_value)
        table.mark(self._words)
        return table

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
