"""The current theme: styles the application and notifies widgets that paint themselves when it changes; and the text
size of bodies, and whether long lines wrap, for all windows, stored in `window.ini`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from pathlib import Path
from string import Template
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPalette, QPixmap
from PySide6.QtWidgets import QApplication, QStyleFactory

from app.core.files import resource
from app.ui.theme import fonts, metrics
from app.ui.theme.fonts import BASE, ui_font
from app.ui.theme.icons import CurrentTokens, GlyphEngine, characters, icon_pixmap
from app.ui.theme.tokens import DARK, LIGHT, Tokens
from app.ui.window_file import WindowFile

SMALLEST, LARGEST = 9, 28
"""Pixels."""
_LINE = 19 / 13
SIZE_KEY, WRAP_KEY = "body/size", "body/wrap"


class BodyTextStyle(QObject):
    """Shared by all windows."""

    changed = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._file: WindowFile | None = None
        self.size, self.wrap = BASE, True

    @property
    def line_height(self) -> int:
        """The distance between lines in pixels."""
        return round(self.size * _LINE)

    def load_from(self, folder: Path) -> None:
        """Load the stored values, and store changes from now on."""
        self._file = WindowFile(folder)
        try:
            size = int(self._file.text(SIZE_KEY, str(BASE)))
        except ValueError:
            size = BASE
        self._set(size, self._file.flag(WRAP_KEY, True))

    @Slot()
    def zoom_in(self) -> None:
        self._set(self.size + 1, self.wrap)

    @Slot()
    def zoom_out(self) -> None:
        self._set(self.size - 1, self.wrap)

    @Slot()
    def reset_zoom(self) -> None:
        self._set(BASE, self.wrap)

    @Slot()
    def toggle_wrap(self) -> None:
        """Toggle line wrapping."""
        self._set(self.size, not self.wrap)

    def zoom_by_wheel(self, degrees: int) -> None:
        """Zoom with the wheel while Ctrl is held; `degrees` is in eighths of a degree."""
        if degrees:
            self._set(self.size + (1 if degrees > 0 else -1), self.wrap)

    def _set(self, size: int, wrap: bool) -> None:
        size = max(SMALLEST, min(size, LARGEST))
        if (size, wrap) == (self.size, self.wrap):
            return
        self.size, self.wrap = size, wrap
        if self._file is not None:
            self._file.setValue(SIZE_KEY, size)
            self._file.setValue(WRAP_KEY, wrap)
        self.changed.emit()


Choice = Literal["system", "light", "dark"]


class Theme(QObject):
    """Light or dark, as set by the user or as the system is. `changed` carries the new `Tokens`; `body_text` is the
    style of bodies.
    """

    changed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.choice: Choice = "system"
        """The user's setting."""
        self._previewed: Choice | None = None
        self._current = CurrentTokens(LIGHT)
        self._app: QApplication | None = None
        self._pixmaps: dict[tuple[str, str, int, float], QPixmap] = {}
        """Of the current colours."""
        self._icons: dict[tuple[str, str, str], QIcon] = {}
        self.body_text = BodyTextStyle(self)

    @property
    def tokens(self) -> Tokens:
        """The current colours."""
        return self._current.tokens

    @property
    def is_dark(self) -> bool:
        """Whether the current colours are the dark ones."""
        return self.tokens is DARK

    def apply(self, app: QApplication) -> None:
        """Style `app`, and follow the system while the setting is 'system'."""
        self._app = app
        style = QStyleFactory.create("Fusion")
        app.setStyle(style)
        app.setFont(ui_font())
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._refresh)
        self._current.tokens = self._tokens_in_use()
        self._pixmaps.clear()
        self._apply_style()

    def set_choice(self, choice: Choice) -> None:
        """Change the setting; takes effect at once."""
        self.choice = choice
        self._refresh()

    def preview(self, choice: Choice | None) -> None:
        """Look like `choice`, whatever the setting is; None ends that."""
        self._previewed = choice
        self._refresh()

    def icon(self, name: str, colour: str = "text_muted", active: str | None = None) -> QIcon:
        """The icon `name` (one of `icons.characters`) in the token `colour`, or in `active` (default: the same) while
        hovered or selected. It follows the theme by itself.
        """
        key = name, colour, active or colour
        if key not in self._icons:
            self._icons[key] = QIcon(GlyphEngine(characters()[name], self._current, colour, active or colour))
        return self._icons[key]

    def pixmap(self, name: str, colour: str, size: int, ratio: float) -> QPixmap:
        """The same for what paints itself or shows no other: `size` pixels wide and high, sharp on a screen of that
        scale."""
        key = name, colour, size, ratio
        found = self._pixmaps.get(key)
        if found is None:
            found = self._pixmaps[key] = icon_pixmap(name, self.tokens, colour, size, ratio)
        return found

    @contextmanager
    def deferred_styling(self) -> Iterator[None]:
        """Build a window within this context, before anything is shown: its widgets are styled once, at the end.

        With a style sheet Qt restyles a widget and all its children whenever its parent changes.
        """
        if self._app is not None:
            self._app.setStyleSheet("")
        try:
            yield
        finally:
            self._apply_style()

    @Slot()
    def _refresh(self) -> None:
        tokens = self._tokens_in_use()
        if tokens is not self.tokens:
            self._current.tokens = tokens
            self._pixmaps.clear()
            self._apply_style()
            self.changed.emit(tokens)

    def _tokens_in_use(self) -> Tokens:
        choice = self._previewed or self.choice
        if choice != "system":
            return DARK if choice == "dark" else LIGHT
        scheme = QGuiApplication.styleHints().colorScheme() if self._app else Qt.ColorScheme.Unknown
        return DARK if scheme == Qt.ColorScheme.Dark else LIGHT

    def _apply_style(self) -> None:
        if self._app is not None:
            # Qt takes eight times as long to put one style sheet in the place of another as to put one where none is.
            self._app.setStyleSheet("")
            self._app.setPalette(palette(self.tokens))
            self._app.setStyleSheet(style_sheet(self.tokens))


def palette(tokens: Tokens) -> QPalette:
    """The palette for everything that the style sheet does not cover."""
    roles = {
        QPalette.ColorRole.Window: tokens.bg,
        QPalette.ColorRole.WindowText: tokens.text,
        QPalette.ColorRole.Base: tokens.surface,
        QPalette.ColorRole.AlternateBase: tokens.bg,
        QPalette.ColorRole.Text: tokens.text,
        QPalette.ColorRole.Button: tokens.surface,
        QPalette.ColorRole.ButtonText: tokens.text,
        QPalette.ColorRole.BrightText: tokens.danger,
        QPalette.ColorRole.Highlight: tokens.selection,
        QPalette.ColorRole.HighlightedText: tokens.text,
        QPalette.ColorRole.ToolTipBase: tokens.surface_raised,
        QPalette.ColorRole.ToolTipText: tokens.text,
        QPalette.ColorRole.PlaceholderText: tokens.text_faint,
        QPalette.ColorRole.Link: tokens.accent_text,
        QPalette.ColorRole.LinkVisited: tokens.accent_text,
        QPalette.ColorRole.Light: tokens.surface,
        QPalette.ColorRole.Midlight: tokens.border,
        QPalette.ColorRole.Mid: tokens.border_strong,
        QPalette.ColorRole.Dark: tokens.border_strong,
        QPalette.ColorRole.Shadow: tokens.shadow,
        QPalette.ColorRole.Accent: tokens.accent,
    }
    result = QPalette()
    for role, colour in roles.items():
        result.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.Text, QPalette.ColorRole.WindowText, QPalette.ColorRole.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, role, QColor(tokens.text_faint))
    return result


def style_sheet(tokens: Tokens) -> str:
    """`resources/window.qss` with the colours of `tokens`."""
    return _style_template().substitute(
        {field.name: getattr(tokens, field.name) for field in fields(tokens)},
        small=fonts.SMALL,
        large=fonts.LARGE,
        title=fonts.TITLE,
        display=fonts.DISPLAY,
        radius=metrics.RADIUS,
        radius_small=metrics.RADIUS_SMALL,
        radius_card=metrics.RADIUS_CARD,
        inner=metrics.CONTROL - 2,
        controls=resource("icons/controls").as_posix(),
    )


@cache
def _style_template() -> Template:
    return Template(resource("window.qss").read_text("utf-8"))
