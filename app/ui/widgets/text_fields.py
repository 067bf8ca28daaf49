"""Fields of a form that hold text: one line or several, some of them read as something else, such as a number."""

from __future__ import annotations

import math
import re
from typing import Any

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QAbstractSpinBox, QLineEdit, QPlainTextEdit, QWidget

from app.core.bodies.formats.json import indented
from app.core.sizes import exact_size, parse_size
from app.core.text import exact_duration
from app.ui.tasks import Tasks, in_thread
from app.ui.theme.fonts import mono_font
from app.ui.theme.metrics import CONTROL, SPACE_2
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import label
from app.ui.widgets.marked_text import utf16

_QUOTED_MAX = 24
"""Maximum characters of the input repeated in a message."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4})", re.ASCII)
_TEXT_MARGIN, _BUTTONS = 8, 24
"""Pixels left of the text, and right of the unit, where the arrows are."""
_NOT_BLANK = re.compile(r"\S")


def _quoted(text: str) -> str:
    """`text`, shortened, as a message names what was typed."""
    return text if len(text) <= _QUOTED_MAX else f"{text[:_QUOTED_MAX]}…"


class TextField(QLineEdit):
    """One line without the blanks around it; None for an empty one if it is `optional`."""

    changed = Signal()

    def __init__(
        self, parent: QWidget | None = None, *, placeholder: str = "", optional: bool = False, mono: bool = False
    ) -> None:
        super().__init__(parent)
        self._optional = optional
        self.setPlaceholderText(placeholder)
        if mono:
            self.setFont(mono_font())
        self.textChanged.connect(self.changed)

    def value(self) -> Any:
        text = self.text().strip()
        return text or None if self._optional else text

    def set_value(self, value: Any) -> None:
        self.setText(value or "")

    def problem(self) -> str | None:
        """Why the text cannot be saved; None if it can."""
        return None


class AmountField(TextField):
    """A number, which subclasses `read` and `write` as people do; empty is None if it is `optional`. `title` names the
    field in `problem`, and `bounds` says which numbers are valid.
    """

    wanted = "a number"

    def __init__(
        self, title: str, bounds: str, parent: QWidget | None, low: float = 0, high: float = math.inf, **options: Any
    ) -> None:
        super().__init__(parent, **options)
        self._title, self.bounds, self._low, self._high = title, bounds, low, high
        self._valid: float | None = None

    def read(self, text: str) -> float | None:
        """None if it is no number."""
        raise NotImplementedError

    def write(self, value: Any) -> str:
        """So that it is read as the same number."""
        raise NotImplementedError

    def value(self) -> Any:
        """The last valid one where there is a problem."""
        if self.problem() is None:
            self._valid = self.read(self.text().strip())
        return self._valid

    def set_value(self, value: float | None) -> None:
        self._valid = value
        self.setText("" if value is None else self.write(value))

    def problem(self) -> str | None:
        text = self.text().strip()
        if not text:
            return None if self._optional else f"{self._title} is required: {self.bounds}."
        number = self.read(text)
        if number is None:
            return f"{self._title} must be {self.wanted}, not “{_quoted(text)}”."
        if not self._low <= number <= self._high:
            return f"{self._title} must be {self.bounds}, not {_quoted(text)}."
        return None


class SizeField(AmountField):
    """Bytes; empty stands for no limit if it is `optional`. Their bounds are not checked here."""

    wanted = "a size, such as 500 MiB or 2 GiB"

    def __init__(self, title: str, bounds: str, parent: QWidget | None = None, *, optional: bool = False) -> None:
        super().__init__(title, bounds, parent, placeholder="No limit" if optional else "", optional=optional)

    def read(self, text: str) -> int | None:
        return parse_size(text)

    def write(self, value: int) -> str:
        return exact_size(value)


_UNITS = {"ms": 1, "s": 1_000, "sec": 1_000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,12}|[0-9]{1,9}\.[0-9]{1,3})\s*([a-z]+)", re.ASCII)


def parse_duration(text: str) -> int | None:
    """Milliseconds; None if it is no number with a unit, or no whole number of milliseconds."""
    found = _DURATION.fullmatch(text.strip().lower().replace(",", ""))
    if found is None or found[2] not in _UNITS:
        return None
    ms = round(float(found[1]) * _UNITS[found[2]], 6)
    return int(ms) if ms == int(ms) else None


class DurationField(AmountField):
    """A length of time from `low` to `high`, in milliseconds."""

    wanted = "a time with its unit, such as 500 ms, 10 s or 5 min"

    def __init__(self, title: str, low: int, high: int, parent: QWidget | None = None) -> None:
        bounds = f"{exact_duration(low)} to {exact_duration(high)}"
        super().__init__(title, bounds, parent, low, high, placeholder=exact_duration(max(low, 1_000)))

    def read(self, text: str) -> int | None:
        return parse_duration(text)

    def write(self, value: int) -> str:
        return exact_duration(value)


_DECIMAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?", re.ASCII)
_LEAST = 0.000_001
"""More than 0, with the decimals that can be typed."""
_MARGIN = 8


class DecimalField(AmountField):
    """A number that may have decimals, from more than 0, or 0 if `zero`, to `high`. An empty field is None where it has
    a placeholder. `unit` is shown at the end.
    """

    def __init__(
        self, title: str, high: float, parent: QWidget, *, unit: str = "", zero: bool = True, placeholder: str = ""
    ) -> None:
        bounds = f"{'0' if zero else 'more than 0'} to {high:,g}"
        low = 0 if zero else _LEAST
        super().__init__(title, bounds, parent, low, high, placeholder=placeholder, optional=bool(placeholder))
        self.wanted = f"a number, {bounds}"
        self.setAccessibleName(title)
        self._unit = label(unit, "faint", self)
        self._unit.adjustSize()
        self.setTextMargins(0, 0, self._unit.width() + _MARGIN if unit else 0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the unit at the right."""
        super().resizeEvent(event)
        size = self._unit.sizeHint()
        self._unit.move(self.width() - size.width() - _MARGIN, (self.height() - size.height()) // 2)
        self._unit.resize(size)

    def read(self, text: str) -> float | None:
        return float(text) if _DECIMAL.fullmatch(text) else None

    def write(self, value: float) -> str:
        return f"{value:.10g}"


def raw_text(edit: QPlainTextEdit) -> str:
    """Unlike `toPlainText`, with no-break spaces as they are."""
    return edit.document().toRawText().replace("\u2029", "\n")


LINE_MAX = 10_000
"""Characters. Wrapping a longer line at words, or colouring it, can take Qt half a minute."""


class WrappedEdit(QPlainTextEdit):
    """Wraps lines at words, or anywhere if one of them is longer than `LINE_MAX`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._wraps, self._has_long_line = True, False

    def set_wrap(self, on: bool) -> None:
        self._wraps = on
        self._set_wrap_mode()

    def setPlainText(self, text: str) -> None:
        """Wrapping changes before a long line comes and after it is gone, for Qt then wraps all lines anew."""
        has_long_line = _has_long_line(text)
        if has_long_line:
            self._set_long_line(True)
        super().setPlainText(text)
        self._set_long_line(has_long_line)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if _has_long_line(source.text()):
            self._set_long_line(True)
        super().insertFromMimeData(source)

    def _set_long_line(self, there: bool) -> None:
        if self._has_long_line != there:
            self._has_long_line = there
            self._set_wrap_mode()

    def _set_wrap_mode(self) -> None:
        mode = QTextOption.WrapMode
        wrapped = mode.WrapAnywhere if self._has_long_line else mode.WrapAtWordBoundaryOrAnywhere
        self.setWordWrapMode(wrapped if self._wraps else mode.NoWrap)


def _has_long_line(text: str) -> bool:
    return max(map(len, text.split("\n"))) > LINE_MAX


class TextArea(WrappedEdit):
    """Several lines, `height` pixels of them; Tab moves the focus on."""

    changed = Signal()

    def __init__(self, height: int, parent: QWidget | None = None, *, placeholder: str = "", mono: bool = True) -> None:
        super().__init__(parent)
        if mono:
            self.setFont(mono_font())
        self.setTabChangesFocus(True)
        self.setPlaceholderText(placeholder)
        self.setFixedHeight(height)
        self.textChanged.connect(self.changed)

    def value(self) -> Any:
        return raw_text(self).strip()

    def set_value(self, value: Any) -> None:
        self.setPlainText(value)

    def problem(self) -> str | None:
        """Why the text cannot be saved; None if it can."""
        return None


class NameLines(TextArea):
    """A name on each line that is not empty."""

    def value(self) -> tuple[str, ...]:
        return tuple(name for line in raw_text(self).split("\n") if (name := line.strip()))

    def set_value(self, value: tuple[str, ...]) -> None:
        self.setPlainText("\n".join(value))


class NumberField(QAbstractSpinBox):
    """`title` names the field in `problem`; `changed` follows each edit.

    Not a QSpinBox: that ignores keys that would leave its range, so that typing 365 gives 36. `unit` is shown after
    the number, and `singular` after 1.
    """

    changed = Signal()

    def __init__(
        self,
        title: str,
        low: int,
        high: int,
        parent: QWidget | None = None,
        *,
        unit: str = "",
        singular: str = "",
        step: int = 1,
        grouped: bool = True,
    ) -> None:
        super().__init__(parent)
        self._title, self._low, self._high, self._step, self._grouped = title, low, high, step, grouped
        self._valid = low
        self._plural, self._singular = unit, singular or unit
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedHeight(CONTROL)
        self.lineEdit().setTextMargins(_TEXT_MARGIN, 0, 0, 0)
        self._unit = label(unit, "faint", self)
        self._unit.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._unit.setVisible(bool(unit))
        # Qt reads what a screen reader is told from properties of these names.
        self.setProperty("minimum", low)
        self.setProperty("maximum", high)
        self.set_value(low)
        self.lineEdit().textChanged.connect(self._edited)
        self.editingFinished.connect(self._tidy)

    def range_text(self) -> str:
        """`1 to 90 days`."""
        return f"{self._formatted(self._low)} to {self._formatted(self._high)} {self._plural}".rstrip()

    def value(self) -> int:
        """The number as typed, in range or not; the last one that was in range where the text is no number."""
        number = self._parsed()
        return self._valid if number is None else number

    def set_value(self, value: int) -> None:
        """A number out of range is shown too, and is a problem."""
        self.lineEdit().setText(self._formatted(value))
        self._edited()

    def problem(self) -> str | None:
        """Why the text cannot be saved; None if it can."""
        text, number = self.text().strip(), self._parsed()
        if not text:
            return f"{self._title} is required: {self.range_text()}."
        if number is None:
            return f"{self._title} must be a whole number, {self.range_text()}, not “{_quoted(text)}”."
        if not self._low <= number <= self._high:
            return f"{self._title} must be {self.range_text()}, not {_quoted(text)}."
        return None

    def lineEdit(self) -> QLineEdit:
        """Never None here."""
        edit = super().lineEdit()
        assert edit is not None
        return edit

    def stepBy(self, steps: int) -> None:
        """Step from the number typed, into the range."""
        self.set_value(max(self._low, min(self._high, self.value() + steps * self._step)))
        self.lineEdit().selectAll()

    def stepEnabled(self) -> QAbstractSpinBox.StepEnabledFlag:
        """Not beyond an end of the range."""
        value = self.value()
        found = QAbstractSpinBox.StepEnabledFlag.StepNone
        if value < self._high:
            found |= QAbstractSpinBox.StepEnabledFlag.StepUpEnabled
        if value > self._low:
            found |= QAbstractSpinBox.StepEnabledFlag.StepDownEnabled
        return found

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Page Up and Page Down scroll the form, and do not step by ten."""
        if event.key() in (Qt.Key.Key_PageUp, Qt.Key.Key_PageDown):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling a form over the field must not change it."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def sizeHint(self) -> QSize:
        """Space for the longest number with its unit."""
        widest = max(self._formatted(self._low), self._formatted(self._high), key=len)
        text = self.fontMetrics().horizontalAdvance(f"{widest} {self._plural}")
        return QSize(_TEXT_MARGIN + text + 2 * SPACE_2 + _BUTTONS, CONTROL)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The unit stays beside the arrows."""
        super().resizeEvent(event)
        self._place_unit()

    def changeEvent(self, event: QEvent) -> None:
        """Another font needs other margins."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._place_unit()

    def _place_unit(self) -> None:
        size = self._unit.sizeHint()
        right = self.width() - _BUTTONS
        self._unit.setGeometry(right - size.width(), (self.height() - size.height()) // 2, size.width(), size.height())
        room = size.width() + SPACE_2 if self._unit.text() else 0
        self.lineEdit().setTextMargins(_TEXT_MARGIN, 0, room, 0)

    def _formatted(self, value: int) -> str:
        return f"{value:,}" if self._grouped else str(value)

    def _parsed(self) -> int | None:
        """The number in the field, with or without the unit and the commas of thousands."""
        text = self.text().strip()
        if self._plural and text.lower().endswith(self._plural.lower()):
            text = text[: -len(self._plural)].rstrip()
        return int(text.replace(",", "")) if _NUMBER.fullmatch(text) else None

    @Slot()
    def _edited(self) -> None:
        if self.problem() is None:
            self._valid = self.value()
            self.setProperty("value", self._valid)
        unit = self._singular if self.value() == 1 else self._plural
        if unit != self._unit.text():
            self._unit.setText(unit)
            self._place_unit()
        self.changed.emit()

    @Slot()
    def _tidy(self) -> None:
        """Write a number as the program does, once it is typed."""
        if self.problem() is None and self.text() != self._formatted(self.value()):
            self.set_value(self.value())


class FormatJsonButton(Button):
    """Its owner shows it while the text `is_json`. `failed` carries why the text cannot be indented."""

    failed = Signal(str)

    def __init__(self, edit: QPlainTextEdit, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__("Format JSON", theme, parent, kind="ghost", compact=True)
        self._edit, self._tasks = edit, tasks
        self.clicked.connect(self._start)

    def is_json(self) -> bool:
        """Whether the text begins as an object or a list does; any other value would stay as it is."""
        return raw_text(self._edit).lstrip()[:1] in ("{", "[")

    @Slot()
    def _start(self) -> None:
        self._tasks.start(self._format(), "format JSON", self)

    async def _format(self) -> None:
        """One step for Undo. What is typed meanwhile stays."""
        text = raw_text(self._edit)
        before = QTextCursor(self._edit.document())
        before.setPosition(self._edit.textCursor().position(), QTextCursor.MoveMode.KeepAnchor)
        result, caret, problem = await in_thread(_indented, text, before.selectedText())
        if raw_text(self._edit) != text:
            return
        if problem is not None:
            self.failed.emit(problem)
        elif result != text:
            cursor = QTextCursor(self._edit.document())
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.insertText(result)
            cursor.setPosition(caret)
            self._edit.setTextCursor(cursor)


def _indented(text: str, before: str) -> tuple[str, int, str | None]:
    """The text, where the caret goes that had `before` before it, and what is wrong: only blanks are put in or left
    out, so that it stays behind the same character. Qt counts the caret's place in UTF-16.
    """
    result, problem = indented(text)
    place = 0
    for _, found in zip(_NOT_BLANK.findall(before), _NOT_BLANK.finditer(result), strict=False):
        place = found.end()
    return result, utf16(result[:place]), problem
