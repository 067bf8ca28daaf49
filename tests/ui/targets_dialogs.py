"""The dialog of an endpoint's targets over a window, for the tests that use it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from PySide6.QtTest import QTest

from app.core.model import Endpoint
from app.core.target import TargetDraft
from app.ui.endpoints.target_form import TargetForm
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.shell.main_window import MainWindow
from tests.ui.desk import Desk, open_desk
from tests.ui.waiting import activate, settle, until

A, B, C = "http://127.0.0.1:1/a", "http://127.0.0.1:1/b", "http://127.0.0.1:1/c"


class Shown:
    """The dialog over a window. `targets` replaces the store's."""

    def __init__(self, desk: Desk, window: MainWindow, endpoint: Endpoint) -> None:
        self.desk, self.window, self.number = desk, window, endpoint.id
        self.dialog = TargetsDialog(desk.services, desk.theme, desk.tasks, window, endpoint)
        self.dialog.open()

    @property
    def form(self) -> TargetForm:
        form = self.dialog.forms.current()
        assert form is not None
        return form

    @property
    def endpoint(self) -> Endpoint:
        endpoint = self.desk.store.endpoints.by_id(self.number)
        assert endpoint is not None
        return endpoint

    @property
    def stored(self) -> list[str]:
        return [target.url for target in self.endpoint.targets]

    def rows(self) -> list[tuple[str, str]]:
        rows = self.dialog.column.list.rows
        shown = [rows.record(place)[1] for place in range(rows.rowCount())]
        return [(row.url, row.wrong or row.facts) for row in shown]

    def errors(self) -> dict[str, str]:
        return {path: field.error() for path, field in self.form.fields.items() if field.error()}

    def type_url(self, url: str) -> None:
        self.form["url"].selectAll()
        QTest.keyClicks(self.form["url"], url)

    async def save(self) -> None:
        self.dialog.save_button.click()
        await until(lambda: not self.window.findChildren(TargetsDialog))


@asynccontextmanager
async def dialog_of(folder: Path, *urls: str, **parts: Any) -> AsyncIterator[Shown]:
    async with open_desk(folder) as desk:
        if parts:
            desk.services = desk.with_parts(**{name: make(desk) for name, make in parts.items()})
        endpoint = await desk.endpoint(name="Stripe", slug="stripe")
        for url in urls:
            await desk.store.targets.create(endpoint.id, TargetDraft(url=url))
        window = desk.window()
        window.show()
        await activate(window)
        current = desk.store.endpoints.by_id(endpoint.id)
        assert current is not None
        shown = Shown(desk, window, current)
        await settle()
        try:
            yield shown
        finally:
            for dialog in window.findChildren(TargetsDialog):
                dialog.done(0)
            window.close()
            await desk.tasks.cancel_all()
            window.deleteLater()
            await settle()
