"""The dialog that opens a team's store: it is left only once that can be used, so that there is no window without a
store."""

from __future__ import annotations

import re
from urllib.parse import unquote

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QLineEdit, QProgressBar, QWidget

from app.core.errors import HooklineError
from app.core.record import fields_of
from app.core.rules import FieldError
from app.core.settings import store_error
from app.core.team import StoreChoice, where
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks, unless_cancelled
from app.ui.theme import metrics
from app.ui.theme.theme import Theme
from app.ui.widgets.buttons import Button
from app.ui.widgets.dialog import Dialog
from app.ui.widgets.form import Form
from app.ui.widgets.labels import label
from app.ui.widgets.layout import Stretch, fill, vbox
from app.ui.widgets.text_fields import TextField

WIDTH = 520
TEXT = "Work on the PostgreSQL database that your team shares. Your own store stays as it is."
EXAMPLE = "postgresql://ann@db.example.com/team"
_WITH_PASSWORD = re.compile(r"(\w+://[^/?#@:]*):([^/?#@]+)@(?=.)")


class OpenStoreDialog(Dialog):
    """`checked` carries the choice, which can be used, once the dialog is closed."""

    checked = Signal(object)

    def __init__(self, services: Services, theme: Theme, tasks: Tasks, parent: QWidget, given: StoreChoice) -> None:
        super().__init__("Open team store", theme, parent)
        self._services = services
        self._check = Latest(self, tasks, "check a store", only_reads=False)
        self.form = Form(StoreChoice, self)
        help_of = {name: declared.help for name, declared in fields_of(StoreChoice).items()}.__getitem__
        password = TextField(self.form)
        password.setEchoMode(QLineEdit.EchoMode.Password)
        self.progress = QProgressBar(self, maximum=0)
        self.progress.setAccessibleName("Checking the store")
        self.state = label("", "small", self)
        self.cancel = self.make_close_button("Cancel")
        self.open_button = Button("Open", theme, self, kind="primary", run=self.submit)
        vbox(
            self.form.add("address", placeholder=EXAMPLE, mono=True, help_text=help_of("address")),
            self.form.add("password", password, optional=True, help_text=help_of("password")),
            vbox(self.form.check("captures"), label(help_of("captures"), "faint", self.form, wrap=True), spacing=6),
            inside=self.form,
            spacing=metrics.SPACE_4,
            margins=0,
        )
        fill(self.body, label(TEXT, "muted", self, wrap=True), self.form, Stretch())
        fill(
            self.footer,
            (vbox(self.state, self.progress, spacing=metrics.SPACE_1), 1),
            Stretch(0),
            self.cancel,
            self.open_button,
        )
        self.form.load(given)
        self.form.changed.connect(self._edited)
        self.open_button.setDefault(True)
        self._show_busy(False)
        self.setFixedWidth(WIDTH)
        self.form["address"].setFocus()

    @Slot()
    def submit(self) -> None:
        """Check the store, and leave if it can be used."""
        self.form.touched.add("address")
        errors = self._refresh()
        if errors:
            self.form.reveal(errors[0].field)
        elif not self._check.running:
            self._show_busy(True)
            self._check.run(self._try)

    def reject(self) -> None:
        """End the check, or else close."""
        if self._check.running:
            self._check.stop()
            self._show_busy(False)
        else:
            super().reject()

    async def _try(self) -> None:
        choice = self.form.filled(StoreChoice())
        try:
            with unless_cancelled(self._show_busy, False):
                await self._services.check_team_store(choice.address or "", choice.password)
        except HooklineError as error:
            field = "password" if "password" in str(error) else "address"
            self.form.refused[field] = str(error)
            self.form.touched.add(field)
            self._refresh()
            self.form.reveal(field)
        else:
            self.accept()
            self.checked.emit(choice)

    @Slot(str)
    def _edited(self, path: str) -> None:
        address = self.form["address"]
        found = _WITH_PASSWORD.match(address.text())
        if found is not None:  # as hosters' pages have it
            self.form.show_values({"password": unquote(found[2]), "address": found[1] + address.text()[found.end(2) :]})
        self.form.refused.clear()
        self._refresh()

    def _refresh(self) -> list[FieldError]:
        address = self.form["address"].value()
        message = store_error(address) if address else "Address is required."
        errors = self.form.errors_with([FieldError(field="address", message=message)] if message else [])
        self.form.show_errors(errors)
        return errors

    def _show_busy(self, busy: bool) -> None:
        self.form.setEnabled(not busy)
        self.open_button.set_refusal("Checking…" if busy else None)
        self.progress.setVisible(busy)
        self.state.setText(f"Connecting to {where(self.form['address'].text())}…" if busy else "")
