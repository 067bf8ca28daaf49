"""Which targets of an endpoint are compared, and what may differ, with the dialog to edit that; stored by slug in
`window.ini` in the data folder.

Per endpoint, not per pair: what differs between two responses of the same program (IDs, times) is the same whichever of
its versions are compared. Not in the database: scripts name what they ignore in their own call, so that their result
does not change with what somebody clicked.
"""

from __future__ import annotations

import shlex

from msgspec.structs import replace
from PySide6.QtCore import QSize, Signal, Slot
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.core.json_path import json_path_error
from app.core.model import Endpoint
from app.core.record import Record
from app.core.response_comparison import IGNORED_HEADERS, IgnoredFields
from app.core.rules import headers_error
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import EditDialog
from app.ui.widgets.fields import LabeledField
from app.ui.widgets.layout import Stretch, fill
from app.ui.window_file import WindowFile

WIDTH = 520


class ComparisonChoice(Record, frozen=True):
    """The IDs of the targets, and what may differ."""

    first: int
    second: int
    ignored: IgnoredFields = IgnoredFields()


def compare_command(endpoint: Endpoint, choice: ComparisonChoice) -> str:
    """The same comparison as a shell command."""
    ignored = choice.ignored
    usual = set(IGNORED_HEADERS) <= set(ignored.headers)
    names = [name for name in ignored.headers if not (usual and name in IGNORED_HEADERS)]
    words = ["hookline", "compare", endpoint.slug, str(choice.first), str(choice.second)]
    words += [] if usual else ["--all-headers"]
    words += [word for name in names for word in ("--ignore-header", name)]
    words += [word for path in ignored.json_paths for word in ("--ignore-path", path)]
    return shlex.join(words)


def stored_choice(file: WindowFile, endpoint: Endpoint) -> ComparisonChoice:
    """The endpoint's choice; its first two targets if it has none, or if one of those targets was deleted."""
    usual = ComparisonChoice(first=endpoint.targets[0].id, second=endpoint.targets[1].id)
    stored = file.decoded(_key(endpoint), ComparisonChoice)
    if stored is None:
        return usual
    ids = {target.id for target in endpoint.targets}
    if stored.first == stored.second or not {stored.first, stored.second} <= ids:
        return replace(usual, ignored=stored.ignored)
    return stored


def store_choice(file: WindowFile, endpoint: Endpoint, choice: ComparisonChoice) -> None:
    file.set_encoded(_key(endpoint), choice)


def _key(endpoint: Endpoint) -> str:
    return f"comparison/{endpoint.slug}"


class IgnoredDialog(EditDialog):
    """`saved` carries the new IgnoredFields."""

    saved = Signal(object)

    def __init__(self, ignored: IgnoredFields, theme: Theme, parent: QWidget) -> None:
        super().__init__("Ignored fields", theme, parent)
        self._before = ignored
        self.headers = self._edit("Ignored headers", ignored.headers, 150)
        self.paths = self._edit("Ignored JSON values", ignored.json_paths, 90)
        self.headers_field = LabeledField("Headers", self.headers, self, help_text="One name per line, in any case.")
        help_text = "One path per line: data.id, items[*].created_at, $..timestamp for any depth."
        self.paths_field = LabeledField("JSON values", self.paths, self, help_text=help_text)
        self.reset = Button("Restore defaults", theme, self, run=self._restore)
        self.cancel = self.make_close_button("Cancel")
        self.save = Button("Save", theme, self, kind="primary", run=self._save)
        self.save.setDefault(True)
        self.body.addWidget(self.headers_field)
        self.body.addWidget(self.paths_field)
        fill(self.footer, self.reset, Stretch(), self.cancel, self.save)
        for edit in (self.headers, self.paths):
            edit.textChanged.connect(self._check)

    def sizeHint(self) -> QSize:
        return self.sized_for(WIDTH)

    def has_changes(self) -> bool:
        return self._edited() != self._before

    def _edit(self, name: str, lines: tuple[str, ...], height: int) -> QPlainTextEdit:
        edit = QPlainTextEdit("\n".join(lines), self, tabChangesFocus=True)
        edit.setAccessibleName(name)
        edit.setMinimumHeight(height)
        return edit

    def _edited(self) -> IgnoredFields:
        headers, paths = (_lines(edit) for edit in (self.headers, self.paths))
        return IgnoredFields(headers=headers, json_paths=paths)

    @Slot()
    def _check(self) -> None:
        edited = self._edited()
        wrong = headers_error(tuple((name, "") for name in edited.headers), "Headers", frozenset())
        self.headers_field.set_error(wrong)
        wrong_path = next(filter(None, map(json_path_error, edited.json_paths)), None)
        self.paths_field.set_error(wrong_path)
        self.save.set_refusal(wrong or wrong_path)

    @Slot()
    def _restore(self) -> None:
        self.headers.setPlainText("\n".join(IGNORED_HEADERS))
        self.paths.setPlainText("")

    @Slot()
    def _save(self) -> None:
        edited = self._edited()
        self.accept()
        self.saved.emit(edited)


def _lines(edit: QPlainTextEdit) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line.strip() for line in edit.toPlainText().splitlines() if line.strip()))
