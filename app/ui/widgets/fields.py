"""Parts of forms: a labelled field with its error, a box, a switch, a choice that ignores the wheel, one that shows all
its options, and a URL or path that one click copies; and the field that searches a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QCoreApplication,
    QEasingCurve,
    QEvent,
    QObject,
    QPoint,
    QRectF,
    QSize,
    Qt,
    QUrl,
    QVariantAnimation,
    Signal,
    Slot,
)
from PySide6.QtGui import (
    QAccessible,
    QColor,
    QDesktopServices,
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QCheckBox,
    QComboBox,
    QFrame,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.ui.theme import metrics
from app.ui.theme.fonts import mono_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import mix
from app.ui.widgets.badge import Pill, paint_box
from app.ui.widgets.buttons import Button, CopyButton
from app.ui.widgets.focus import by_keyboard, is_enter
from app.ui.widgets.labels import UrlLabel, label, plain_tooltip, show_or_hide, style
from app.ui.widgets.layout import hbox, vbox

_MARGIN = 3


class LabeledField(QWidget):
    """A label, the control, and below it the help text or, if there is one, the error."""

    help_kind = "faint"
    help_stays = False
    """Whether the help text is shown beside an error too."""

    def __init__(
        self,
        title: str,
        control: QWidget,
        parent: QWidget | None = None,
        *,
        help_text: str = "",
        optional: bool = False,
    ) -> None:
        super().__init__(parent)
        self.control = control
        self.title = label(title, "strong", self)
        self.title.setBuddy(control)
        self._error = self.error_label()
        self._help = label(help_text, self.help_kind, self, wrap=True)
        self._error.hide()
        self._help.setVisible(bool(help_text))
        self.lay_out(optional=optional)
        if not control.accessibleName():
            control.setAccessibleName(title)
        self._describe()

    def error_label(self) -> QLabel:
        """Made once, for what is wrong."""
        return label("", "error", self, wrap=True)

    def lay_out(self, *, optional: bool) -> None:
        self.header = hbox(self.title)
        if optional:
            self.header.addWidget(label("optional", "faint", self))
        self.header.addStretch(1)
        vbox(self.header, self.control, self._error, self._help, inside=self, spacing=6)

    def set_help(self, text: str, tooltip: str = "") -> None:
        """Replace the help text."""
        self._help.setText(text)
        self._help.setToolTip(plain_tooltip(tooltip))
        self._help.setVisible(bool(text) and (self.help_stays or not self.error()))
        self._describe()

    def help_text(self) -> str:
        """The help text, also while an error hides it."""
        return self._help.text()

    def set_title(self, title: str) -> None:
        """Replace the label."""
        self.title.setText(title)
        self.control.setAccessibleName(title)

    def error(self) -> str:
        """The error shown, or an empty string."""
        return self._error.text()

    def set_error(self, message: str | None) -> None:
        """Show `message` beside the control and to screen readers; None clears it."""
        if (message or "") == self._error.text():
            return
        show_or_hide(self._error, message or "")
        self._help.setVisible(bool(self.help_text()) and (self.help_stays or not message))
        self._describe()
        style(self.control.focusProxy() or self.control, "invalid", bool(message))

    def _describe(self) -> None:
        """Let screen readers read the help text or error after the control's name."""
        (self.control.focusProxy() or self.control).setAccessibleDescription(self.error() or self.help_text())


_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
_ENDS = (Qt.Key.Key_Home, Qt.Key.Key_End)


class SearchField(QLineEdit):
    """`target`, if set, gets the keys that move there: Home and End while there is no text for them to move in."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.target: QWidget | None = None
        self.setPlaceholderText(name)
        self.setAccessibleName(name)
        self.setClearButtonEnabled(True)
        for button in self.findChildren(QToolButton):
            button.setAccessibleName("Clear")  # Qt gives it none

    def keyPressEvent(self, event: QKeyEvent) -> None:
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        moves = event.key() in _MOVES or (event.key() in _ENDS and not self.text())
        if self.target is not None and plain and moves:
            QCoreApplication.sendEvent(self.target, event)
        else:
            super().keyPressEvent(event)


class CheckField(QCheckBox):
    """What is on or off."""

    changed = Signal()

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent)
        self.toggled.connect(self.changed)

    def value(self) -> bool:
        return self.isChecked()

    def set_value(self, value: bool) -> None:
        self.setChecked(value)

    def problem(self) -> None:
        """A box has none."""


class ChoiceField(QComboBox):
    """One of these values, each with its text. It ignores the wheel, so that scrolling a form changes nothing."""

    changed = Signal()

    def __init__(self, choices: Mapping[Any, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choices: Mapping[Any, str] = {}
        self.set_choices(choices)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.currentIndexChanged.connect(self.changed)

    def set_choices(self, choices: Mapping[Any, str]) -> None:
        """Offer these; the value stays if it is one of them."""
        value = self.value() if self.choices else None
        self.choices = choices
        blocked = self.blockSignals(True)
        self.clear()
        self.addItems(list(choices.values()))
        if value in choices:
            self.set_value(value)
        self.blockSignals(blocked)

    def value(self) -> Any:
        return list(self.choices)[self.currentIndex()]

    def set_value(self, value: Any) -> None:
        self.setCurrentIndex(list(self.choices).index(value))

    def problem(self) -> None:
        """A choice has none."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the form."""
        event.ignore()


class Switch(CheckField):
    """A check box drawn as a switch, so that screen readers know it. Only what the user changes is a click."""

    def __init__(self, name: str, theme: Theme, parent: QWidget | None = None, *, mini: bool = False) -> None:
        super().__init__("", parent)
        self._theme = theme
        self._track = QSize(26, 14) if mini else QSize(34, 18)
        self._by_keyboard = False
        self.place = 0.0
        """The knob's position: 0 off, 1 on."""
        self._glide = QVariantAnimation(self, duration=120, easingCurve=QEasingCurve(QEasingCurve.Type.InOutCubic))
        self._glide.valueChanged.connect(self._set_place)
        self.setAccessibleName(name)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.toggled.connect(self._start_glide)
        theme.changed.connect(self.update)

    def set_value(self, value: bool) -> None:
        """Without animation, and without a click."""
        self.setChecked(value)
        self._glide.stop()
        self._set_place(float(value))

    def sizeHint(self) -> QSize:
        """The size of the track and the focus ring."""
        return self._track + QSize(2 * _MARGIN, 2 * _MARGIN)

    def hitButton(self, pos: QPoint) -> bool:
        """The whole widget can be clicked."""
        return self.rect().contains(pos)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter works as Space does."""
        if is_enter(event):
            self.click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the focus ring only for keyboard focus."""
        self._by_keyboard = by_keyboard(event)
        super().focusInEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint track, knob and, with keyboard focus, a ring."""
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.isEnabled():
            painter.setOpacity(0.5)
        track = QRectF(0, 0, self._track.width(), self._track.height())
        track.moveCenter(QRectF(self.rect()).center())
        radius = track.height() / 2
        on_colour = tokens.accent_hover if self.underMouse() else tokens.accent
        off_colour = tokens.text_faint if self.underMouse() else tokens.track
        paint_box(painter, track, radius, mix(on_colour, off_colour, self.place))
        knob = track.height() - 4
        left = track.left() + 2 + self.place * (track.width() - knob - 4)
        painter.setBrush(QColor("#ffffff"))
        painter.drawEllipse(QRectF(left, track.top() + 2, knob, knob))
        if self.hasFocus() and self._by_keyboard:
            ring = track.adjusted(-2, -2, 2, 2)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(tokens.accent_text), 1.5))
            painter.drawRoundedRect(ring, radius + 2, radius + 2)

    def _set_place(self, place: float) -> None:
        self.place = place
        self.update()

    @Slot(bool)
    def _start_glide(self, on: bool) -> None:
        self._glide.stop()
        if not self.isVisible():
            self._set_place(float(on))
            return
        self._glide.setStartValue(self.place)
        self._glide.setEndValue(float(on))
        self._glide.start()


class Segmented(QFrame):
    """A row of options, one of which is selected. `activated` carries the key that the user selected. Tab goes to the
    selected option, the arrow keys to its neighbours.
    """

    activated = Signal(str)

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget, *, compact: bool = False) -> None:
        super().__init__(parent)
        self.setProperty("part", "segmented")
        self.setProperty("compact", compact)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, _Choice] = {}
        row = hbox(inside=self, spacing=2, margins=2)
        for key, title in choices:
            button = _Choice(self)
            button.setText(title)
            button.setCheckable(True)
            button.setProperty("key", key)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.installEventFilter(self)
            self._group.addButton(button)
            self._buttons[key] = button
            row.addWidget(button)
        self._group.buttonClicked.connect(self._clicked)
        self._group.buttonToggled.connect(self._lead_tab)

    def set_current(self, key: str) -> None:
        """Select `key` without emitting `activated`."""
        self._buttons[key].setChecked(True)

    def current(self) -> str | None:
        """The selected key."""
        return next((key for key, button in self._buttons.items() if button.isChecked()), None)

    def set_enabled(self, key: str, enabled: bool) -> None:
        """Whether `key` can be selected."""
        self._buttons[key].setEnabled(enabled)

    def set_option_visible(self, key: str, visible: bool) -> None:
        """Whether `key` is shown at all."""
        self._buttons[key].setVisible(visible)

    def set_title(self, key: str, title: str) -> None:
        """Replace the label of `key`."""
        self._buttons[key].setText(title)

    def explain(self, key: str, text: str) -> None:
        """Set the full text for the short label of `key`, as tooltip and for screen readers."""
        self._buttons[key].setToolTip(text)
        self._buttons[key].setAccessibleName(text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The arrow keys move between options; Tab returns to the selected one."""
        if event.type() == QEvent.Type.FocusOut:
            self._lead_tab()
        return super().eventFilter(watched, event)

    @Slot()
    def _lead_tab(self) -> None:
        """Tab goes to the selected option and skips the others."""
        current = self._group.checkedButton()
        for button in self._buttons.values():
            there = current is None or button is current
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if there else Qt.FocusPolicy.ClickFocus)

    @Slot(QAbstractButton)
    def _clicked(self, button: QAbstractButton) -> None:
        self.activated.emit(str(button.property("key")))


class _Choice(QToolButton):
    """One option of the row."""

    accessible_role = QAccessible.Role.RadioButton


MARK_FROM = 380
"""Pixels from which a mark has words."""


class CopyField(QFrame):
    """A framed line of mono text with a copy button; long text is elided, but copied in full."""

    copied = Signal()

    def __init__(self, text: str, theme: Theme, parent: QWidget | None = None, *, what: str = "URL") -> None:
        super().__init__(parent)
        self.setProperty("part", "field")
        self.setFixedHeight(metrics.CONTROL)
        self._label = UrlLabel(text, "", self, Qt.TextElideMode.ElideMiddle)
        self._label.setFont(mono_font())
        self.mark = Pill("", "warning", self)
        self.mark.hide()
        self._mark = ""
        self._button = CopyButton(text, what, theme, self)
        self._copied = label("Copied", "success", self)
        self._copied.hide()
        self._button.clicked.connect(self._copied.show)
        self._button.clicked.connect(self.copied)
        self._button.feedback_over.timeout.connect(self._copied.hide)
        hbox((self._label, 1), self.mark, self._copied, self._button, inside=self, spacing=4, margins=(8, 1, 2, 1))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def text(self) -> str:
        """The full text."""
        return self._label.text()

    def set_text(self, text: str, mark: str = "") -> None:
        """Show and copy another text; a `mark` beside it, which is not copied, says why it may not work."""
        self._mark = mark
        self.mark.setVisible(bool(mark))
        self.mark.setToolTip(plain_tooltip(mark))
        self.setAccessibleDescription(mark)
        self._fit_mark()
        self._label.setText(text)
        self._button.text_to_copy = text

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A narrow field leaves the room to its text."""
        super().resizeEvent(event)
        self._fit_mark()

    def _fit_mark(self) -> None:
        self.mark.setText(self._mark if self.width() >= MARK_FROM else "!")

    def setFocus(self, *reason: Qt.FocusReason) -> None:
        """Its button takes the keys."""
        self._button.setFocus(*reason)

    @Slot()
    def copy(self) -> None:
        """Copy as if the button were pressed."""
        self._button.click()


NOT_OPENED = "No program found to open folders. Copy the path instead."


def open_folder(folder: Path) -> str | None:
    """Open `folder`; returns why that is impossible."""
    return None if QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))) else NOT_OPENED


class FolderField(QWidget):
    """Shows an error below if the system has no program to open the folder."""

    def __init__(self, folder: Path, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._folder = folder
        self.path = CopyField(str(folder), theme, self, what="path")
        self.path.setAccessibleName("Data folder")
        self.open_button = Button("Open", theme, self, icon="folder", name="Open data folder", run=self.open)
        self.problem = label("", "error", self)
        self.problem.hide()
        row = hbox((self.path, 1), self.open_button, spacing=metrics.SPACE_2)
        vbox(row, self.problem, inside=self, spacing=metrics.SPACE_1)

    @Slot()
    def open(self) -> None:
        """Open the folder in the file manager."""
        problem = open_folder(self._folder)
        show_or_hide(self.problem, problem or "")
        self.open_button.setAccessibleDescription(self.problem.text())
