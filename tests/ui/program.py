"""Everything that `hookline` starts, with its window, for tests of a user's whole way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QApplication

from app.application import Application
from app.core.model import Endpoint
from app.ui.messages import Messages
from app.ui.shell.main_window import MainWindow
from app.ui.tasks import Tasks
from app.ui.theme.theme import Theme
from app.window_session import services_of
from tests.e2e.senders import Answer, post
from tests.ui.waiting import until


@dataclass
class Program:
    """The program, its window, and a sender outside."""

    application: Application
    window: MainWindow

    @property
    def endpoint(self) -> Endpoint:
        return self.application.store.endpoints.all()[0]

    async def send(self, body: bytes, *headers: str, path: str = "") -> Answer:
        url = self.application.addresses.capture_url(self.endpoint) + path
        return await asyncio.to_thread(post, url, body, *headers)

    async def dialog(self, kind: type[Any]) -> Any:
        """Once it has the keyboard, which may be a moment after it is visible."""
        await until(lambda: any(one.isVisible() and one.isActiveWindow() for one in self.window.findChildren(kind)))
        return next(one for one in self.window.findChildren(kind) if one.isVisible())


@asynccontextmanager
async def program_on(folder: Path) -> AsyncIterator[Program]:
    """On free ports."""
    application = Application(folder, {"port": 0, "api_port": 0})
    await application.open()
    await application.listen()
    theme, tasks = Theme(), Tasks(Messages())
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    theme.apply(app)
    with theme.deferred_styling():
        window = MainWindow(services_of(application), theme, tasks, on_close=lambda: None)
    window.show()
    await until(window.isActiveWindow)
    try:
        yield Program(application, window)
    finally:
        window.close()
        await tasks.cancel_all()
        window.deleteLater()
        await application.close()
