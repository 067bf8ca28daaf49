"""Runs the real window and answers its questions: `window_driver.py FOLDER PORT ANSWER… [picture=FILE]`.

Prints each question's title and text as JSON lines, and clicks the button named ANSWER; once the window is shown,
prints where it listens and closes it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.cli.options import WindowOptions
from app.gui import Ready, run_window
from app.ui.widgets.dialog import ChoiceDialog


class Driver:
    """Looks every 20 ms whether a question is open."""

    def __init__(self, answers: list[str], picture: str | None) -> None:
        self._answers, self._picture = answers, picture
        self._timer = QTimer()
        self._timer.timeout.connect(self._look)
        self._timer.start(20)

    def _look(self) -> None:
        for dialog in QApplication.topLevelWidgets():
            if isinstance(dialog, ChoiceDialog) and dialog.isVisible():
                self._answer(dialog)
                return

    def _answer(self, dialog: ChoiceDialog) -> None:
        print(json.dumps({"title": dialog.title.text(), "text": dialog.text.text()}), flush=True)
        if self._picture:
            dialog.grab().save(self._picture)
        wanted = self._answers.pop(0)
        next(button for button in dialog.buttons if button.text().startswith(wanted)).click()


def main() -> int:
    """The window's exit code."""
    folder, port, *answers = sys.argv[1:]
    picture = answers.pop()[len("picture=") :] if answers and answers[-1].startswith("picture=") else None
    drivers: list[Driver] = []
    QTimer.singleShot(0, lambda: drivers.append(Driver(answers, picture)))

    def ready(told: Ready) -> None:
        print(json.dumps({"listening": told.application.addresses.local_base()}), flush=True)
        QTimer.singleShot(0, told.window.close)

    return run_window(WindowOptions(data_dir=Path(folder), port=int(port), api_port=0), ready)


if __name__ == "__main__":
    sys.exit(main())
