"""Runs the real window and restores a backup in it: `restore_driver.py FOLDER BACKUP STARTED`.

What would start the program again writes its arguments to STARTED. Prints the questions it is asked, and answers them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.cli.options import WindowOptions
from app.gui import Ready, run_window
from app.system import installation
from app.ui.widgets.dialog import ChoiceDialog


def main() -> int:
    """The window's exit code."""
    folder, backup, started = map(Path, sys.argv[1:])

    def start(arguments: Sequence[str]) -> None:
        started.write_text(json.dumps(list(arguments)))

    installation.start = start

    async def restore(ready: Ready) -> None:
        services = ready.window.services
        contents = await services.restores.stage(backup)
        assert contents is not None
        if "--lost" in backup.name:
            await services.restores.discard()
        services.restart_restored()

    def ready(told: Ready) -> None:
        tasks.append(asyncio.get_running_loop().create_task(restore(told), name="restore"))

    def answer() -> None:
        for dialog in QApplication.topLevelWidgets():
            if isinstance(dialog, ChoiceDialog) and dialog.isVisible():
                print(json.dumps({"title": dialog.title.text(), "text": dialog.text.text()}), flush=True)
                dialog.buttons[0].click()

    tasks: list[asyncio.Task[None]] = []
    timer = QTimer()
    timer.timeout.connect(answer)
    QTimer.singleShot(0, lambda: timer.start(20))
    return run_window(WindowOptions(data_dir=folder, port=0, api_port=0), ready)


if __name__ == "__main__":
    sys.exit(main())
