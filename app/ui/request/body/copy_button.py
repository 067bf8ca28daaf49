"""The button that copies a body: as text or picture, or, if it is neither, in a format the user selects."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QPoint, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu
from shiboken6 import isValid

from app.ui.request.body.body_export import COPY_MAX, copy_picture, copy_text, too_large
from app.ui.request.body.body_loader import BodyLoader
from app.ui.request.body.body_source import BodySource
from app.ui.tasks import Tasks
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.toast import Toast


class BodyCopy(QObject):
    """Copies the body that `source` returns and `loader` reads. `saves` saves what is too large for the clipboard.

    Without a loader it copies something else, named by `what`, and no picture; its bytes are copied as `mime_type`,
    too.
    """

    def __init__(
        self,
        button: IconButton,
        loader: BodyLoader | None,
        tasks: Tasks,
        toast: Toast,
        *,
        source: Callable[[], BodySource | None],
        saves: Callable[[], None],
        what: str = "body",
        mime_type: str | None = None,
    ) -> None:
        super().__init__(button)
        self._what, self._mime_type = what, mime_type
        self._button, self._loader, self._source, self._saves = button, loader, source, saves
        self._tasks, self._toast = tasks, toast
        button.clicked.connect(self._copy)

    @Slot()
    def _copy(self) -> None:
        source = self._source()
        if source is not None:
            self._tasks.start(self._copy_and_tell(source), "body: copy")

    async def _copy_and_tell(self, source: BodySource) -> None:
        reader = self._loader.reader if self._loader is not None else None
        if reader is not None and reader.picture is not None:
            message: str | None = await copy_picture(source)
        else:
            message = await copy_text(source, self._what, self._mime_type)
        if message is not None:
            self._toast.say(message)
        elif source is self._source() and isValid(self._button):
            self._offer(source)

    def _offer(self, source: BodySource) -> None:
        """The body is binary and cannot be copied as text."""
        menu = QMenu(self._button)
        menu.setAccessibleName(f"This {self._what} is binary")
        menu.aboutToHide.connect(menu.deleteLater)
        menu.addAction(f"This {self._what} is binary").setEnabled(False)
        menu.addSeparator()
        for text, form in (("Copy as Base64", _base64), ("Copy as hex", bytes.hex)):
            menu.addAction(text).triggered.connect(partial(self._copy_bytes, source, text, form))
        menu.addSeparator()
        menu.addAction(f"Save {self._what} as…").triggered.connect(self._saves)
        menu.popup(self._button.mapToGlobal(QPoint(0, self._button.height())))

    def _copy_bytes(self, source: BodySource, text: str, form: Callable[[bytes], str], checked: bool = False) -> None:
        self._tasks.start(self._copy_as(source, text, form), "body: copy bytes")

    async def _copy_as(self, source: BodySource, text: str, form: Callable[[bytes], str]) -> None:
        if source.size > COPY_MAX:
            self._toast.say(too_large(self._what))
            return
        data = await source.read(0, COPY_MAX)
        QGuiApplication.clipboard().setText(await asyncio.get_running_loop().run_in_executor(None, form, data))
        self._toast.say(f"Copied the {self._what}{text.removeprefix('Copy')}.")


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
