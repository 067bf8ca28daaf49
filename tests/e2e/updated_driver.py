"""Runs the real window as a bundle whose program is PROGRAM: `updated_driver.py PROGRAM FOLDER [picture=FILE]`.

Prints each message that the window gets as a JSON line, presses its first button if it has one, and answers questions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.cli.options import WindowOptions
from app.gui import Ready, run_window
from app.system import installation
from app.ui.widgets.dialog import ChoiceDialog


def main() -> int:
    """The window's exit code."""
    path, folder, *rest = sys.argv[1:]
    sys.frozen, sys.executable = True, path  # type: ignore[attr-defined]
    installation.LOOK_S = 0.05

    def ready(told: Ready) -> None:
        def show() -> None:
            for message in told.messages.waiting():
                print(json.dumps({"text": message.text, "advice": message.advice}), flush=True)
                if rest:
                    told.window.grab().save(rest[0][len("picture=") :])
                if message.actions:
                    message.actions[0].run()
                else:
                    told.window.close()

        told.messages.changed.connect(show)
        print(json.dumps({"listening": told.application.addresses.local_base()}), flush=True)

    def answer() -> None:
        for dialog in QApplication.topLevelWidgets():
            if isinstance(dialog, ChoiceDialog) and dialog.isVisible():
                print(json.dumps({"title": dialog.title.text(), "text": dialog.text.text()}), flush=True)
                dialog.buttons[0].click()

    timer = QTimer()
    timer.timeout.connect(answer)
    QTimer.singleShot(0, lambda: timer.start(20))
    return run_window(WindowOptions(data_dir=Path(folder), port=0, api_port=0), ready)


if __name__ == "__main__":
    sys.exit(main())
