"""Push buttons of four kinds, icon buttons that name themselves to screen readers, one that copies a text, and the base
of painted ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Slot
from PySide6.QtGui import QAccessible, QColor, QFocusEvent, QGuiApplication, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QAbstractButton, QPushButton, QToolButton, QWidget

from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.focus import by_keyboard, is_enter
from app.ui.widgets.labels import plain_tooltip, style

Kind = Literal["primary", "secondary", "ghost", "danger", "link"]
_ICON_COLOURS = {"primary": "on_accent", "danger": "on_danger", "link": "accent_text"}


class Button(QPushButton):
    """A button with a label; `icon` is one of `theme.icons.characters`, `name` what screen readers call it instead of
    its label, `run` what a click does. A `compact` one fits in a line of text.
    """

    accessible_role: QAccessible.Role | None = None
    """Set where Qt would report another role: a check box for a checkable button."""

    def __init__(
        self,
        text: str,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        kind: Kind = "secondary",
        icon: str | None = None,
        name: str = "",
        compact: bool = False,
        run: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._theme, self._kind, self._icon_name = theme, kind, icon
        self._had_focus = False
        self.setProperty("kind", kind)
        self.setProperty("compact", compact)
        self.setAccessibleName(name)
        if run is not None:
            self.clicked.connect(run)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setIconSize(QSize(metrics.ICON + metrics.SPACE_1, metrics.ICON))  # or the text would touch it
        self._show_icon()

    def set_icon_name(self, name: str | None) -> None:
        self._icon_name = name
        self._show_icon()

    def set_kind(self, kind: Kind) -> None:
        self._kind = kind
        style(self, "kind", kind)
        self._show_icon()

    def align_left(self) -> None:
        """Begin a link where texts above and below it begin; the focus is then a line below it."""
        self.setProperty("flush", True)

    def set_refusal(self, reason: str | None) -> None:
        """Disable with the reason in tooltip and accessible description; None enables."""
        self.setEnabled(reason is None)
        self.setToolTip(plain_tooltip(reason or ""))
        self.setAccessibleDescription(reason or "")

    def set_busy(self, reason: str | None, refusal: str | None = None) -> None:
        """Disable with the reason while what a click began lasts; None enables, unless there is a `refusal`.

        Qt would give the focus to the next widget, which the next key would then press. Nothing has it meanwhile, and
        the button gets it back unless the user has moved it.
        """
        if reason is not None and self.window().focusWidget() is self:
            self._had_focus = True
            self.clearFocus()
        self.set_refusal(refusal if reason is None else reason)
        if reason is None and self._had_focus:
            self._had_focus = False
            if self.window().focusWidget() is None:
                self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter works as Space does."""
        if is_enter(event):
            self.click()
        else:
            super().keyPressEvent(event)

    def _show_icon(self) -> None:
        if self._icon_name:
            self.setIcon(self._theme.icon(self._icon_name, _ICON_COLOURS.get(self._kind, "text_muted")))


class IconButton(QToolButton):
    """A button with only an icon; `name` is its tooltip and accessible name, `run` what a click does."""

    def __init__(
        self,
        icon: str,
        name: str,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        run: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self.set_name(name)
        self.setIconSize(QSize(metrics.ICON, metrics.ICON))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.set_icon_name(icon)
        if run is not None:
            self.clicked.connect(run)

    def set_name(self, name: str) -> None:
        """Set the tooltip and accessible name. Only the tooltip has a key, which `name` may end with: ` (Ctrl+F)`."""
        self.setToolTip(plain_tooltip(name))
        self.setAccessibleName(name.partition(" (")[0])

    def set_icon_name(self, icon: str, colour: str = "text_muted") -> None:
        """Show another icon, in the token `colour`."""
        self._icon_name, self._colour = icon, colour
        self.setIcon(self._theme.icon(icon, colour, "text" if colour == "text_muted" else None))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter works as Space does."""
        if is_enter(event):
            self.click()
        else:
            super().keyPressEvent(event)


COPIED_MS = 1400


class CopyButton(IconButton):
    """Copies `text`, or calls `make`, which makes a text to `put`; and shows confirmation for a moment."""

    def __init__(
        self,
        text: str,
        what: str,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        make: Callable[[], object] | None = None,
    ) -> None:
        super().__init__("copy", f"Copy {what}", theme, parent)
        self.text_to_copy = text
        self._what = what
        self.feedback_over = QTimer(self, singleShot=True, interval=COPIED_MS)
        self.feedback_over.timeout.connect(self._restore)
        self.clicked.connect(make or self.copy)

    @Slot()
    def copy(self) -> None:
        """Copy the text to the clipboard."""
        self.put(self.text_to_copy)

    def put(self, text: str) -> None:
        """The same with another text."""
        QGuiApplication.clipboard().setText(text)
        self.set_icon_name("check", "success")
        self.set_name("Copied")
        self.feedback_over.start()

    @Slot()
    def _restore(self) -> None:
        self.set_icon_name("copy")
        self.set_name(f"Copy {self._what}")


class PaintedButton(QAbstractButton):
    """Repaints on hover and when the theme changes. `paint_ring` is called last."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._by_keyboard = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)

    def paint_ring(self, painter: QPainter, place: QRectF, width: float = 1.5) -> None:
        """If the button has the focus and got it by a key, not by a click or with the window."""
        if self.hasFocus() and self._by_keyboard:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(self.theme.tokens.accent), width))
            painter.drawRoundedRect(place, metrics.RADIUS, metrics.RADIUS)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter works as Space does."""
        if is_enter(event):
            self.click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Remember how the focus was given."""
        self._by_keyboard = by_keyboard(event)
        super().focusInEvent(event)
