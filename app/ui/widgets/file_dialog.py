"""The system's dialog for files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from app.ui.widgets.dialog import result_of

ALL_FILES = "All files (*)"


class FileDialog(QFileDialog):
    """Asks for a file, which exists unless it is to `save`. It begins in the folder `place`, or with that file's name.

    `filters` are like `PNG picture (*.png)`. A name to save without an extension gets that of the filter, before the
    user is asked whether a file of that name may be replaced.
    """

    def __init__(
        self, over: QWidget, title: str, place: Path, filters: Sequence[str] = (), *, save: bool = False
    ) -> None:
        super().__init__(over, title, str(place), ";;".join(filters))
        self.setFileMode(QFileDialog.FileMode.AnyFile if save else QFileDialog.FileMode.ExistingFile)
        if save:
            self.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
            self.filterSelected.connect(self._add_extension)
            self._add_extension(self.selectedNameFilter())

    async def chosen(self) -> Path | None:
        """What the user chooses; None if that was to cancel."""
        accepted = await result_of(self) == QDialog.DialogCode.Accepted
        path = Path(self.selectedFiles()[0]) if accepted else None
        self.deleteLater()
        return path

    @Slot(str)
    def _add_extension(self, name_filter: str) -> None:
        found = re.search(r"\*\.(\w+)", name_filter)
        self.setDefaultSuffix(found[1] if found is not None else "")
