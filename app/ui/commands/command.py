"""Commands: one object behind a key, a button, a menu entry, the palette and the shortcuts dialog; and their keys as
caps, painted into rows or shown as a widget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAction,
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QIcon,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from app.core.bodies.escape import escape
from app.ui.theme.fonts import ui_font
from app.ui.theme.theme import Theme
from app.ui.theme.tokens import Tokens
from app.ui.widgets.badge import Painted
from app.ui.widgets.buttons import Button, IconButton, Kind
from app.ui.widgets.labels import plain_tooltip


class ActionButton(IconButton):
    """Shows the icon of `command`, which must have one, and its text or `word` as a label if `set_labelled`; text and
    key are in the tooltip."""

    def __init__(self, command: Command, theme: Theme, parent: QWidget, word: str = "") -> None:
        super().__init__(command.icon_name or "more", command.hint, theme, parent)
        self.command, self._word = command, word
        self.clicked.connect(command.trigger)
        command.changed.connect(self._follow)
        self._follow()

    def set_labelled(self, labelled: bool) -> None:
        styles = Qt.ToolButtonStyle
        self.setToolButtonStyle(styles.ToolButtonTextBesideIcon if labelled else styles.ToolButtonIconOnly)

    def label_width(self) -> int:
        """Pixels that the label adds, with the two spaces and 4 pixels that Qt adds to it."""
        return self.fontMetrics().horizontalAdvance(f"{self.text()}  ") + 4

    @Slot()
    def _follow(self) -> None:
        command = self.command
        self.setText(f" {self._word or command.text()}")  # or it would touch the icon
        self.setEnabled(command.isEnabled())
        self.set_name(command.hint)
        self.setAccessibleDescription(command.reason)
        if command.reason:
            self.setToolTip(plain_tooltip(f"{command.hint}\n{command.reason}"))
        if command.icon_name is not None and (command.icon_name, command.colour) != (self._icon_name, self._colour):
            self.set_icon_name(command.icon_name, command.colour)


class CommandButton(Button):
    """Has a text of its own; `tooltip` also names it to screen readers."""

    def __init__(
        self,
        text: str,
        command: Command,
        theme: Theme,
        parent: QWidget,
        *,
        kind: Kind = "secondary",
        icon: str | None = None,
        tooltip: str = "",
    ) -> None:
        super().__init__(text, theme, parent, kind=kind, icon=icon)
        self.command, self._tooltip = command, tooltip
        self.setAccessibleName(tooltip)
        self.clicked.connect(command.trigger)
        command.changed.connect(self._follow)
        self._follow()

    @Slot()
    def _follow(self) -> None:
        self.setEnabled(self.command.isEnabled())
        self.setToolTip(plain_tooltip(self.command.reason or self._tooltip))
        self.setAccessibleDescription(self.command.reason)


IN_WINDOW = Qt.ShortcutContext.WindowShortcut
_IN_WIDGET = Qt.ShortcutContext.WidgetWithChildrenShortcut


class CommandGroup(StrEnum):
    """The headings of palette and shortcuts dialog, in their order."""

    REQUEST = "Request"
    LIST = "List"
    ENDPOINT = "Endpoint"
    GO_TO = "Go to"
    PROGRAM = "Program"


class _Action(QAction):
    def event(self, event: QEvent) -> bool:
        """While a menu is open, keys do nothing in the widget behind it that has the focus."""
        if event.type() == QEvent.Type.Shortcut and QApplication.activePopupWidget() is not None:
            return True
        return super().event(event)


class Command(_Action):
    """`run` is what it does. `unavailable` returns why it cannot be run now, None if it can: `refresh` disables the
    command for that reason, and its keys pass the reason to `say`.

    `text` is for menus, `name` for lists of all commands, where the text would be ambiguous, `fixed_name` for the
    shortcuts dialog, where the first name would say only what it does at one moment. The palette also finds it by
    `synonyms`; `icon` is one of `theme.icons.characters`. The keys work where `add_to` put them: in that widget and
    those inside it, so that two lists may use the same keys.
    """

    def __init__(
        self,
        text: str,
        theme: Theme,
        parent: QObject,
        *,
        run: Callable[[], object],
        icon: str | None = None,
        keys: Sequence[str] = (),
        group: CommandGroup = CommandGroup.PROGRAM,
        name: str = "",
        fixed_name: str = "",
        synonyms: str = "",
        context: Qt.ShortcutContext = _IN_WIDGET,
        unavailable: Callable[[], str | None] | None = None,
        say: Callable[[str], object] | None = None,
    ) -> None:
        super().__init__(text, parent)
        self.group, self.synonyms, self.reason = group, synonyms, ""
        self._name, self._theme, self.icon_name, self.colour = name, theme, icon, "text_muted"
        self._run, self._unavailable, self._say = run, unavailable, say
        self._refused_keys: _Action | None = None
        """Has the same keys while the command is disabled: Qt ignores those of a disabled action."""
        if keys:
            self.set_keys(keys, context)
        self.triggered.connect(self.run)
        self.fixed_name = fixed_name or self.name
        self._show_icon()

    @property
    def name(self) -> str:
        """The name in the palette, without the `&` that marks a menu's access key."""
        return (self._name or self.text()).replace("&&", "\0").replace("&", "").replace("\0", "&")

    @property
    def hint(self) -> str:
        """Its text, with its first key in parentheses."""
        key = self.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        return f"{self.text()} ({key})" if key else self.text()

    @property
    def key_names(self) -> KeyNames:
        """Of its first key; none if it has no key."""
        return key_names_of(self.shortcut())

    def set_keys(self, keys: Sequence[str], context: Qt.ShortcutContext = _IN_WIDGET) -> None:
        self.setShortcuts([QKeySequence(key) for key in keys])
        self.setShortcutContext(context)
        self.setShortcutVisibleInContextMenu(True)

    def show_as(self, text: str, icon: str, colour: str = "text_muted", *, name: str = "") -> None:
        """Another text and icon, in the token `colour`."""
        self._name = name
        self.setText(text)
        if (icon, colour) != (self.icon_name, self.colour):
            self.icon_name, self.colour = icon, colour
            self._show_icon()

    def add_to(self, widget: QWidget) -> None:
        """Make the keys work in `widget`."""
        widget.addAction(self)
        if self._say is not None and self._unavailable is not None and self.shortcuts():
            if self._refused_keys is None:
                self._refused_keys = _Action(self)
                self._refused_keys.setShortcuts(self.shortcuts())
                self._refused_keys.setShortcutContext(self.shortcutContext())
                self._refused_keys.triggered.connect(self.run)
            self._refused_keys.setEnabled(not self.isEnabled())
            widget.addAction(self._refused_keys)

    @Slot()
    def refresh(self) -> None:
        """Update whether it can be run; call it when that may have changed."""
        reason = (self._unavailable() if self._unavailable is not None else None) or ""
        if reason == self.reason:
            return
        self.reason = reason
        self.setToolTip(plain_tooltip(reason))
        # Never both at once: Qt calls a key of two enabled actions ambiguous.
        if reason and self._refused_keys is not None:
            self.setEnabled(False)
            self._refused_keys.setEnabled(True)
        elif self._refused_keys is not None:
            self._refused_keys.setEnabled(False)
        self.setEnabled(not reason)

    @Slot()
    def run(self) -> None:
        """Run it, or say why that is impossible: something may have changed since the last `refresh`."""
        self.refresh()
        if not self.reason:
            self._run()
        elif self._say is not None:
            self._say(self.reason)

    def _show_icon(self) -> None:
        if self.icon_name is not None:
            self.setIcon(self._theme.icon(self.icon_name, self.colour))


class Commands(QObject):
    """Commands of one place, in the order in which they were made. Those that name no `group` are of this one.
    `read_only` is why none can be run that changes something in the store, None if they can.
    """

    group = CommandGroup.PROGRAM
    context = _IN_WIDGET
    announced = Signal(str)
    """A short notice, where no `say` is given that shows it."""

    def __init__(
        self,
        theme: Theme,
        say: Callable[[str], object] | None,
        parent: QObject,
        *,
        read_only: str | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._say, self._read_only = theme, say or self.announced.emit, read_only
        self.commands: list[Command] = []

    def command(
        self,
        text: str,
        icon: str | None,
        run: Callable[..., object],
        unavailable: Callable[..., str | None] | None = None,
        *keys: str,
        group: CommandGroup | None = None,
        changes: bool = False,
        **options: Any,
    ) -> Command:
        """A further command, with the `options` of `Command`. `changes`: it changes something in the store."""
        command = Command(
            text,
            self._theme,
            self,
            run=partial(self._run, run),
            icon=icon,
            keys=keys,
            group=group or self.group,
            context=self.context,
            unavailable=partial(self._refusal, unavailable, changes),
            say=self._say,
            **options,
        )
        self.commands.append(command)
        return command

    def refresh(self) -> None:
        for command in self.commands:
            command.refresh()

    def with_keys(self) -> list[Command]:
        return [command for command in self.commands if command.shortcuts()]

    def add_to(self, widget: QWidget) -> None:
        """Make the keys work in `widget`."""
        for command in self.with_keys():
            command.add_to(widget)

    def follow(self, widget: QWidget) -> None:
        """Refresh when it is shown or hidden: then other commands can be run."""
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self.refresh()
        return super().eventFilter(watched, event)

    def copy(self, text: str, message: str) -> None:
        """Copy it, and show `message`."""
        QGuiApplication.clipboard().setText(text)
        self._say(message)

    def _refusal(self, unavailable: Callable[..., str | None] | None, changes: bool) -> str | None:
        return (self._read_only if changes else None) or self._reason(unavailable)

    def _run(self, run: Callable[..., object]) -> None:
        """Overridden where commands are given what they are about."""
        run()

    def _reason(self, unavailable: Callable[..., str | None] | None) -> str | None:
        """The same for why they cannot be run."""
        return unavailable() if unavailable is not None else None


def menu_text(text: str) -> str:
    """`text` as an entry of a menu has it: escaped, and with each `&`, which would mark a key there, as it is."""
    return escape(text).replace("&", "&&")


def menu_of(parent: QWidget, *groups: Sequence[QAction]) -> QMenu:
    """A menu with a line between groups; it deletes itself when closed."""
    menu = QMenu(parent)
    menu.aboutToHide.connect(menu.deleteLater)
    menu.setToolTipsVisible(True)
    for group in filter(None, groups):
        if menu.actions():
            menu.addSeparator()
        menu.addActions(group)
    return menu


def add_view_action(
    view: QWidget, text: str, slot: Callable[..., None], key: QKeySequence | QKeySequence.StandardKey | str = ""
) -> QAction:
    action = QAction(text, view)
    if key:
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
    action.triggered.connect(slot)
    view.addAction(action)
    return action


@dataclass(frozen=True)
class CommandSeries:
    """Commands that differ only in a number: the shortcuts dialog has one row for them, the palette none."""

    text: str
    commands: Sequence[Command]


class CommandRegistry:
    """Every command of the window, for the palette and the shortcuts dialog."""

    def __init__(self) -> None:
        self._commands: list[Command] = []
        self.series: list[CommandSeries] = []

    def add(self, *commands: Command) -> None:
        """Register these; within a group they stay in this order."""
        self._commands.extend(commands)

    def add_series(self, text: str, commands: Sequence[Command]) -> None:
        self.series.append(CommandSeries(text, commands))

    def all(self) -> Iterable[Command]:
        """All but those of series, in the order of their groups."""
        return (command for group in CommandGroup for command in self._commands if command.group is group)


@dataclass(frozen=True)
class PaletteEntry:
    """`key` identifies it among the recently used ones; empty if its use is not remembered.

    A search also matches `detail`, `kind` and `synonyms`, but not `reason`, which says why it cannot be run now. The
    texts must be escaped. `icon` is one of `theme.icons.characters`.
    """

    key: str
    text: str
    kind: str
    run: Callable[[], object]
    icon: str | QIcon
    detail: str = ""
    reason: str = ""
    synonyms: str = ""
    key_names: KeyNames = ()


CAP_HEIGHT = 20
_CAP_GAP, _CAP_PAD = 4, 6
_MAC = "⌃⌥⇧⌘"
_ON_KEYS = {"Return": "Enter"}
"""What is printed on the key, where Qt has another name for it."""

KeyNames = tuple[str, ...]


def key_names_of(keys: QKeySequence) -> KeyNames:
    """The keys to press together, as this system names them; none for an empty sequence."""
    return split_keys(keys.toString(QKeySequence.SequenceFormat.NativeText))


def split_keys(text: str) -> KeyNames:
    """`Ctrl+Shift+K`, `Ctrl++` or, as macOS writes it, `⇧⌘K`, as single keys."""
    key = text.lstrip(_MAC) or text
    modifiers = tuple(text[: len(text) - len(key)])
    if "+" in key[:-1]:
        at = key.rindex("+", 0, len(key) - 1)
        modifiers, key = tuple(key[:at].split("+")), key[at + 1 :]
    return (*modifiers, _ON_KEYS.get(key, key)) if key else ()


def key_cap_font() -> QFont:
    return ui_font(11, QFont.Weight.Medium)


def _cap_width(fm: QFontMetrics, cap: str) -> int:
    return max(CAP_HEIGHT, fm.horizontalAdvance(cap) + 2 * _CAP_PAD)


def key_caps_width(key_names: Sequence[str]) -> int:
    """The width in pixels."""
    fm = QFontMetrics(key_cap_font())
    return sum(_cap_width(fm, cap) for cap in key_names) + _CAP_GAP * max(0, len(key_names) - 1)


def paint_key_caps(painter: QPainter, left: float, middle: float, key_names: Sequence[str], tokens: Tokens) -> None:
    """Draw key caps from `left` on, centred vertically on `middle`."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(key_cap_font())
    fm = painter.fontMetrics()
    for number, cap in enumerate(key_names):
        left += _CAP_GAP if number else 0
        rect = QRectF(left + 0.5, middle - CAP_HEIGHT / 2 + 0.5, _cap_width(fm, cap) - 1, CAP_HEIGHT - 1)
        painter.setPen(QPen(QColor(tokens.border_strong), 1))
        painter.setBrush(QColor(tokens.bg))
        painter.drawRoundedRect(rect, 4, 4)
        painter.setPen(QColor(tokens.text_muted))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, cap)
        left += _cap_width(fm, cap)
    painter.restore()


class KeyCaps(Painted):
    """The keys to press together."""

    def __init__(self, key_names: KeyNames, theme: Theme, parent: QWidget) -> None:
        super().__init__(QSize(key_caps_width(key_names), CAP_HEIGHT), theme, parent)
        self._key_names = key_names
        self.setAccessibleName(spoken_keys([key_names]))

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_key_caps(QPainter(self), 0.0, self.height() / 2, self._key_names, self.theme.tokens)


def spoken_keys(alternatives: Sequence[KeyNames]) -> str:
    """The keys in words: `Ctrl+K`, `F1 or ?`."""
    return " or ".join("+".join(key_names) for key_names in alternatives)
