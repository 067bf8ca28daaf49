"""The dialog that lists every key in groups: those of the commands, and those that widgets handle themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget

from app.core.bodies.escape import escape
from app.core.fuzzy import match
from app.core.record import Record
from app.ui.commands.command import CommandGroup, CommandRegistry, KeyCaps, KeyNames, key_names_of, spoken_keys
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.card import line
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.fields import SearchField
from app.ui.widgets.fit_screen import ColumnScroll, bounded
from app.ui.widgets.focus import order_tabs
from app.ui.widgets.labels import ElidedLabel, label
from app.ui.widgets.layout import Space, Stretch, fill, hbox, vbox


class ExtraShortcut(Record, frozen=True):
    """Keys that a widget handles itself. Each of `keys`, as QKeySequence reads them, does it."""

    group: CommandGroup
    text: str
    keys: tuple[str, ...]


EXTRA_SHORTCUTS = (
    ExtraShortcut(group=CommandGroup.LIST, text="Next request", keys=("J", "Down")),
    ExtraShortcut(group=CommandGroup.LIST, text="Previous request", keys=("K", "Up")),
    ExtraShortcut(group=CommandGroup.LIST, text="Oldest request", keys=("End",)),
    ExtraShortcut(group=CommandGroup.LIST, text="Back to the list, then clear its filter", keys=("Esc",)),
    ExtraShortcut(group=CommandGroup.REQUEST, text="Decode the value at the cursor", keys=("Ctrl+E",)),
    ExtraShortcut(group=CommandGroup.ENDPOINT, text="Move the endpoint in the sidebar", keys=("Alt+Up", "Alt+Down")),
    ExtraShortcut(group=CommandGroup.ENDPOINT, text="Go to the endpoint’s switch in the sidebar", keys=("Left",)),
    ExtraShortcut(group=CommandGroup.ENDPOINT, text="Edit the endpoint in the sidebar", keys=("F2",)),
)
"""The list's keys are handled in `ui/requests/list/view.py` and `ui/requests/page/requests_page.py`, the sidebar's in
`ui/shell/sidebar_rows.py`, decoding in `ui/inspector/body/value_decoder.py`.
"""


WIDTH, HEIGHT_MAX = 880, 640


@dataclass(frozen=True)
class ShortcutRow:
    """Any of `keys` does it; with `span`, all keys from the first to the second."""

    text: str
    keys: tuple[KeyNames, ...]
    span: bool = False


def shortcut_rows(registry: CommandRegistry) -> dict[CommandGroup, list[ShortcutRow]]:
    """Rows by group; groups without keys are left out."""
    found: dict[CommandGroup, list[ShortcutRow]] = {group: [] for group in CommandGroup}
    for command in registry.all():
        keys = tuple(dict.fromkeys(map(key_names_of, command.shortcuts())))  # of Return and Enter one is enough
        if keys and command.isVisible():
            found[command.group].append(ShortcutRow(escape(command.fixed_name), keys))
    for series in registry.series:
        ends = (series.commands[0], series.commands[-1])
        row = ShortcutRow(series.text, tuple(command.key_names for command in ends), span=True)
        found[ends[0].group].append(row)
    for extra in EXTRA_SHORTCUTS:
        keys = tuple(key_names_of(QKeySequence(key)) for key in extra.keys)
        found[extra.group].append(ShortcutRow(extra.text, keys))
    return {group: rows for group, rows in found.items() if rows}


class ShortcutsDialog(Dialog):
    """Two columns of groups, and a search field that filters them."""

    def __init__(self, registry: CommandRegistry, theme: Theme, parent: QWidget | None) -> None:
        super().__init__("Keyboard shortcuts", theme, parent)
        self.search = SearchField("Search shortcuts", self)
        self.blocks = [GroupBlock(group, rows, theme, self) for group, rows in shortcut_rows(registry).items()]
        self.no_matches = label("No matches.", "faint", self)
        self.no_matches.hide()
        self.close_button = self.make_close_button("Close")
        self.close_button.setAutoDefault(False)  # Enter after a search must not close the dialog
        self._lay_out()
        self.search.textChanged.connect(self._filter)
        self.search.setFocus()
        self.resize(self.sizeHint())

    def sizeHint(self) -> QSize:
        """Tall enough for all groups, within the screen."""
        height = self._content.sizeHint().height() + 180
        return bounded(self, QSize(WIDTH, min(height, HEIGHT_MAX)))

    def is_idle(self) -> bool:
        """Always: it only shows information."""
        return True

    @Slot(str)
    def _filter(self, text: str) -> None:
        visible = [block.show_only(text) for block in self.blocks]
        self.no_matches.setVisible(not any(visible))

    def _lay_out(self) -> None:
        self._content = QWidget(self)
        self._content.setProperty("transparent", True)
        columns = hbox(
            inside=self._content,
            spacing=metrics.SPACE_6 + metrics.SPACE_2,
            margins=(metrics.SPACE_5, metrics.SPACE_4, metrics.SPACE_5, metrics.SPACE_4),
        )
        for blocks in _balanced(self.blocks):
            column = vbox(*blocks, Stretch(), spacing=metrics.SPACE_5)
            columns.addLayout(column, 1)
        self.area = scroll = ColumnScroll(self._content, self)
        scroll.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # nothing in it has keys
        scroll.setAccessibleName("Shortcuts")
        self.search.target = scroll.verticalScrollBar()
        top = vbox(
            self.search,
            self.no_matches,
            spacing=metrics.SPACE_2,
            margins=(metrics.SPACE_5, 0, metrics.SPACE_5, metrics.SPACE_4),
        )
        self.fill_to_edges()
        fill(self.body, top, line(self), (scroll, 1))
        fill(self.footer, Stretch(), self.close_button)
        order_tabs(self)


class GroupBlock(QWidget):
    """A heading with its rows."""

    def __init__(self, group: CommandGroup, shortcuts: Sequence[ShortcutRow], theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.group, self.shortcuts = group, shortcuts
        self.rows = [_row(shortcut, theme, self) for shortcut in shortcuts]
        title = label(group.value.upper(), "section", self)
        vbox(title, Space(metrics.SPACE_2), *self.rows, inside=self, spacing=0)

    def show_only(self, text: str) -> bool:
        """Hide the rows that do not match `text`. Returns whether any row is visible."""
        hits = [self._matches(one, text) for one in self.shortcuts]
        for row, hit in zip(self.rows, hits, strict=True):
            row.setVisible(hit)
        self.setVisible(any(hits))
        return any(hits)

    def _matches(self, one: ShortcutRow, text: str) -> bool:
        exact = text.strip().casefold() in {spoken_keys([keys]).casefold() for keys in one.keys}
        return exact or match(text, one.text, (self.group.value, spoken_keys(one.keys))) is not None


def _row(one: ShortcutRow, theme: Theme, parent: QWidget) -> QWidget:
    row = QWidget(parent)
    row.setFixedHeight(metrics.ROW_DENSE)
    row.setAccessibleName(f"{one.text}: {spoken_keys(one.keys)}")
    inside = hbox((ElidedLabel(one.text, "", row), 1), inside=row, spacing=metrics.SPACE_2, margins=0)
    for number, keys in enumerate(one.keys):
        if number:
            inside.addWidget(label("to" if one.span else "or", "faint", row))
        inside.addWidget(KeyCaps(keys, theme, row))
    return row


def _balanced(blocks: Sequence[GroupBlock]) -> tuple[Sequence[GroupBlock], Sequence[GroupBlock]]:
    """Two columns, in order, about equally long; a heading counts as two rows."""
    sizes = [len(block.rows) + 2 for block in blocks]
    cut = min(range(len(blocks) + 1), key=lambda at: abs(sum(sizes[:at]) - sum(sizes[at:])))
    return blocks[:cut], blocks[cut:]
