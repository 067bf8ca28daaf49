"""Runs the real window and tells what it shows: `window_teller.py FOLDER [LINK] [click=LINK]…`, until SIGTERM.

Prints JSON lines: where it listens, each request opened in the detail, each message in the bar, each form for an
endpoint, each question at the start, which it answers with the way out. A `click` is what macOS makes of a clicked
link: an event.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QTimer, QUrl, Slot
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication

from app.cli.options import WindowOptions
from app.core.links import parse_link
from app.gui import Ready, run_window
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.widgets.dialog import ChoiceDialog


def say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def click(links: list[str]) -> None:
    app = QCoreApplication.instance()
    assert app is not None
    for link in links:
        QCoreApplication.postEvent(app, QFileOpenEvent(QUrl(link)))


def quit_when_asked() -> None:
    """Tell a question of the start, and take the first way out."""
    for dialog in QApplication.topLevelWidgets():
        if isinstance(dialog, ChoiceDialog) and dialog.isVisible():
            say(asked=dialog.title.text(), text=dialog.text.text())
            dialog.buttons[0].click()
            return
    QTimer.singleShot(20, quit_when_asked)


class Teller(QObject):
    """Lives as long as the window."""

    def __init__(self, ready: Ready) -> None:
        super().__init__(ready.window)
        self._ready = ready
        self._forms = 0
        ready.window.requests.detail.opened.connect(self._opened)
        ready.messages.changed.connect(self._said)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._look)
        self._timer.start(20)
        say(listening=ready.application.addresses.local_base())

    @Slot(str)
    def _opened(self, capture_id: str) -> None:
        say(opened=capture_id, endpoint=self._ready.window.requests.endpoint_id)

    @Slot()
    def _said(self) -> None:
        for message in self._ready.messages.waiting():
            say(said=message.text, advice=message.advice)

    @Slot()
    def _look(self) -> None:
        forms = [form for form in self._ready.window.findChildren(EndpointDialog) if form.isVisible()]
        if len(forms) > self._forms:
            say(form=forms[-1].windowTitle())
        self._forms = len(forms)


def main() -> int:
    """The window's exit code."""
    folder, *given = sys.argv[1:]
    clicks = [text.removeprefix("click=") for text in given if text.startswith("click=")]
    link = next((parse_link(text) for text in given if not text.startswith("click=")), None)
    tellers: list[Teller] = []
    # The first comes before there is a window.
    QTimer.singleShot(0, lambda: click(clicks[:1]))
    QTimer.singleShot(0, quit_when_asked)

    def ready(told: Ready) -> None:
        tellers.append(Teller(told))
        QTimer.singleShot(0, lambda: click(clicks[1:]))

    return run_window(WindowOptions(data_dir=Path(folder), port=0, api_port=0, link=link), ready)


if __name__ == "__main__":
    sys.exit(main())
