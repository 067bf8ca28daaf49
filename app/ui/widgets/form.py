"""A form of the declared fields of a record: it makes their controls, loads them, follows their edits, and shows what
is wrong beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace
from PySide6.QtCore import Qt, QTimer, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QScrollArea, QWidget

from app.core.record import Field, Record, choice_words, declared_at, fields_of, nullable, types_of
from app.core.rules import FieldError
from app.ui.theme import metrics
from app.ui.widgets.fields import CheckField, ChoiceField, LabeledField
from app.ui.widgets.labels import label
from app.ui.widgets.layout import hbox, vbox
from app.ui.widgets.text_fields import DurationField, NumberField, SizeField, TextField

_R = TypeVar("_R", bound=Record)


class Editor(Protocol):
    """What a form asks of the control of a field, or of what stands for it."""

    @property
    def changed(self) -> SignalInstance:
        """Emitted after each edit."""

    def value(self) -> Any:
        """As the record has it; the last valid value where nothing else can be made of what was typed."""

    def set_value(self, value: Any, /) -> None:
        """Show `value`."""

    def problem(self) -> str | None:
        """Why what was typed is no value; None if it is."""


class Section(QWidget):
    """A titled group of a form."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.column = vbox(label(title.upper(), "section", self), inside=self, spacing=metrics.SPACE_3)

    def add(self, *fields: QWidget) -> None:
        """Fields one below the other."""
        for field in fields:
            self.column.addWidget(field)

    def side_by_side(self, *fields: QWidget) -> None:
        """Add fields on one line, of equal width."""
        row = hbox(spacing=metrics.SPACE_4)
        for field in fields:
            row.addWidget(field, 1, Qt.AlignmentFlag.AlignTop)
        self.column.addLayout(row)


class Form(QWidget):
    """Fields have the paths that errors name: `response.status` is `status` in the record's `response`.

    `changed` carries the path of what the user edited; `fields` holds those with a label, and `form[path]` is what
    edits one.
    """

    changed = Signal(str)

    def __init__(self, record: type[Record], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._record = record
        self._editors: dict[str, Editor] = {}
        self._loading = False
        self._revealed: QWidget | None = None
        self.fields: dict[str, LabeledField] = {}
        self.touched: set[str] = set()
        """The paths of the fields whose errors are shown."""
        self.refused: dict[str, str] = {}
        """What the store refused, by path, until it is edited or the form's owner clears it."""

    def __getitem__(self, path: str) -> Any:
        return self._editors[path]

    def paths(self) -> list[str]:
        """Of its fields, in their order."""
        return list(self._editors)

    def declared(self, path: str) -> Field:
        record, name = declared_at(self._record, path)
        return fields_of(record)[name]

    def bind(self, path: str, editor: Any) -> Any:
        """Let `editor`, a QObject, edit the field at `path`."""
        editor.setProperty("path", path)
        editor.changed.connect(self._edited)
        self._editors[path] = editor
        return editor

    def add(
        self,
        path: str,
        editor: QWidget | None = None,
        *,
        title: str = "",
        help_text: str = "",
        optional: bool = False,
        **options: Any,
    ) -> LabeledField:
        """The field at `path`, labelled with its title unless `title` replaces it. Without an `editor` the field's type
        chooses one, made with these `options`.

        `{bounds}` in the help text stands for the declared bounds.
        """
        title = title or self.declared(path).title
        control = editor if editor is not None else self.made(path, **options)
        if "{bounds}" in help_text:
            own = control.bounds if isinstance(control, DurationField) else self.declared(path).bounds_text()
            help_text = help_text.format(bounds=own)
        self.bind(path, control)
        self.fields[path] = LabeledField(title, control, self, help_text=help_text, optional=optional)
        return self.fields[path]

    def made(self, path: str, **options: Any) -> Any:
        """The control of the field's type."""
        record, name = declared_at(self._record, path)
        declared = fields_of(record)[name]
        if words := choice_words(record, name):
            return ChoiceField(words, self)
        if types_of(record)[name] is not int:
            return TextField(self, optional=nullable(record, name), **options)
        if declared.unit == "bytes":
            return SizeField(declared.title, declared.bounds_text(), self, optional=nullable(record, name), **options)
        if declared.unit == "ms":
            return DurationField(declared.title, *declared.bounds, self)
        if declared.unit == "port":
            return NumberField(declared.title, *declared.bounds, self, grouped=False, **options)
        return NumberField(declared.title, *declared.bounds, self, **{"unit": declared.unit, **options})

    def check(self, path: str, title: str = "") -> CheckField:
        """The box of a field that is on or off."""
        box: CheckField = self.bind(path, CheckField(title or self.declared(path).title, self))
        return box

    def load(self, record: Record) -> None:
        """Show the values of `record`; no error is shown until its field is edited."""
        self.show_values({path: attrgetter(path)(record) for path in self._editors})
        self.touched.clear()

    def show_values(self, values: Mapping[str, Any]) -> None:
        """By path."""
        self._loading = True
        for path, value in values.items():
            self._editors[path].set_value(value)
        self._loading = False

    def follow(self, before: _R, now: _R) -> _R:
        """Show what others have changed since `before` in the fields that are not edited. Returns what the fields have
        without the edits.
        """
        of = {path: attrgetter(path) for path in self._editors}
        edited = {
            path for path, editor in self._editors.items() if editor.problem() or editor.value() != of[path](before)
        }
        self.show_values({path: get(now) for path, get in of.items() if path not in edited and get(now) != get(before)})
        return _with(self.filled(before), {path: of[path](now) for path in edited})

    def filled(self, record: _R) -> _R:
        """`record` with the values of the fields."""
        return _with(record, {path: editor.value() for path, editor in self._editors.items()})

    def problems(self) -> list[FieldError]:
        """What is no value of its field, in the order of the fields."""
        found = ((path, editor.problem()) for path, editor in self._editors.items())
        return [FieldError(field=path, message=problem) for path, problem in found if problem]

    def refuse(self, errors: Iterable[FieldError]) -> str:
        """The store refused the values of these fields. Returns why it refused what is no field here."""
        for error in errors:
            if error.field in self.fields:
                self.refused[error.field] = error.message
                self.touched.add(error.field)
        return " ".join(error.message for error in errors if error.field not in self.fields)

    def errors_with(self, errors: Iterable[FieldError]) -> list[FieldError]:
        """The first of each field: what is no value, then these `errors` of a record, then what the store refused."""
        refused = (FieldError(field=path, message=message) for path, message in self.refused.items())
        found: dict[str, FieldError] = {}
        for error in (*self.problems(), *errors, *refused):
            found.setdefault(error.field, error)
        return list(found.values())

    def show_errors(self, errors: Iterable[FieldError]) -> None:
        """Show the first error of each field that was edited."""
        messages: dict[str, str] = {}
        for error in errors:
            messages.setdefault(error.field, error.message)
        for path, field in self.fields.items():
            field.set_error(messages.get(path) if path in self.touched else None)

    def reveal(self, path: str) -> None:
        """Scroll to a field and focus it."""
        field = self.fields.get(path)
        if field is not None:
            field.control.setFocus()
            self._revealed = field
            QTimer.singleShot(0, self, self._scroll_to_revealed)  # After what was expanded has been laid out.

    @Slot()
    def _scroll_to_revealed(self) -> None:
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None and self._revealed is not None:
            area.ensureWidgetVisible(self._revealed)

    @Slot()
    def _edited(self) -> None:
        editor = self.sender()
        if editor is not None and not self._loading:
            path = str(editor.property("path"))
            self.touched.add(path)
            self.refused.pop(path, None)
            self.changed.emit(path)


def _with(record: _R, values: Mapping[str, Any]) -> _R:
    """`record` with these values, by path."""
    own: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        name, dot, rest = path.partition(".")
        if dot:
            inner.setdefault(name, {})[rest] = value
        else:
            own[name] = value
    for name, parts in inner.items():
        own[name] = _with(getattr(record, name), parts)
    return replace(record, **own)
