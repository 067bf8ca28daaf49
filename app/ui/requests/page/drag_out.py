"""Drags requests out of the window: their bodies as files, written beforehand, and a text to paste."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, QRectF, Qt, QTimer, QUrl, Slot
from PySide6.QtGui import QColor, QDrag, QPainter, QPixmap
from PySide6.QtWidgets import QWidget

from app.core.model import Capture, Summary
from app.core.text import count_of, name_of, size_text
from app.ui.requests.list.view import RequestList
from app.ui.requests.request_actions import RequestActions
from app.ui.services import Services
from app.ui.tasks import Latest, Tasks, in_thread
from app.ui.theme.fonts import ui_font
from app.ui.theme.theme import Theme

FILES_MAX, BYTES_MAX = 100, 32 * 1024 * 1024
"""Maximum number in one drag: more would block the mouse for too long."""
CHIP_MAX = 280
"""Maximum width in pixels of the picture shown while dragging."""
FOLDER = "dragged"


class DragFiles:
    """Files for drags, in the data folder, which is locked by this process. They are kept until `remove`, because the
    program they were dropped on may still be reading them. Files left by a killed program are deleted at once.
    """

    def __init__(self, services: Services, actions: RequestActions, tasks: Tasks) -> None:
        self._services, self._actions = services, actions
        self._folder = services.data_folder / FOLDER
        self._drags = 0
        self._cleanup = tasks.start(in_thread(shutil.rmtree, self._folder, ignore_errors=True), "drag: old files")

    async def mime(self, summaries: Sequence[Summary]) -> QMimeData:
        """Each body that is not empty as a file, named as Save names it; as text a curl command, or several URLs."""
        stored = self._services.store.captures
        captures = [capture for one in summaries if (capture := await stored.get(one.id)) is not None]
        paths = await self._write([capture for capture in captures if capture.size])
        data = QMimeData()
        if paths:
            data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
        if len(captures) == 1:
            data.setText((await self._actions.curl_of(captures[0]))[0])
        else:
            base = self._services.about.base_url.rstrip("/")
            data.setText("\n".join(base + capture.target for capture in captures))
        return data

    def remove(self) -> None:
        if self._drags:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def _write(self, captures: Sequence[Capture]) -> list[Path]:
        if not captures:
            return []
        # Start-up time, here and below: loaded when somebody drags.
        from app.ui.inspector.body.body_export import file_name, write_body
        from app.ui.inspector.body.body_source import of_capture

        self._drags += 1
        await asyncio.wait([self._cleanup])
        folder = await in_thread(self._new_folder, self._drags)
        paths: list[Path] = []
        for capture in captures:
            source = of_capture(capture, self._services.store.captures)
            await source.check()  # a file that was dropped somewhere cannot say that it is damaged
            path = _free(folder / file_name(source), paths)
            await write_body(source, path)
            paths.append(path)
        return paths

    def _new_folder(self, number: int) -> Path:
        """One folder for each drag, so that any name is free in it."""
        folder = self._folder / str(number)
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700)
        except OSError as error:
            from app.ui.inspector.body.body_export import SaveError  # as above

            raise SaveError(f"Files to drag could not be written to {folder}: {error.strerror or error}.") from error
        return folder


class DragOut(QObject):
    """Starts a drag when `rows` request one: first the files are written, then the drag begins, unless the mouse button
    was released meanwhile.
    """

    def __init__(
        self, rows: RequestList, files: DragFiles, actions: RequestActions, tasks: Tasks, theme: Theme
    ) -> None:
        super().__init__(rows)
        self._list, self._files, self._actions, self._theme = rows, files, actions, theme
        self._data: QMimeData | None = None
        self._label = ""
        self.preparing = Latest(self, tasks, "drag: files", only_reads=False)
        self._button_down = False
        # Qt runs a nested event loop for the drag, which must not start inside a coroutine.
        self._begin = QTimer(self, singleShot=True)
        self._begin.timeout.connect(self._drag)
        rows.drag_requested.connect(self.prepare)
        rows.viewport().installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """While the button is held for a drag, moving the mouse selects nothing."""
        if event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonRelease):
            self._button_down = False
        elif event.type() == QEvent.Type.MouseMove and self._button_down:
            return True
        return super().eventFilter(watched, event)

    @Slot()
    def prepare(self) -> None:
        """Write the files of the selection, or say why it cannot be dragged."""
        self._button_down = True
        self.preparing.stop()
        self._data = None
        selected = self._list.selected()
        refusal = refused(selected)
        if refusal is not None:
            self._actions.say(refusal)
        elif selected:
            self.preparing.run(partial(self._prepare, selected))

    async def _prepare(self, selected: Sequence[Summary]) -> None:
        self._data = await self._files.mime(selected)
        self._label = _label(selected)
        self._begin.start(0)

    @Slot()
    def _drag(self) -> None:
        data, self._data = self._data, None
        if data is None or not self._button_down:
            return
        self._button_down = False
        drag = QDrag(self._list)
        drag.setMimeData(data)
        drag.setPixmap(_chip(self._label, self._theme, self._list))
        drag.setHotSpot(QPoint(-12, -12))
        run_drag(drag, Qt.DropAction.CopyAction)


def run_drag(drag: QDrag, action: Qt.DropAction) -> Qt.DropAction:
    """Qt runs its own loop until the drop; asyncio continues inside it."""
    return drag.exec(action)


def refused(summaries: Sequence[Summary]) -> str | None:
    """Why these requests cannot be dragged out; None if they can."""
    if len(summaries) > FILES_MAX:
        return f"At most {FILES_MAX} requests can be dragged out at once."
    size = sum(summary.size for summary in summaries)
    if size <= BYTES_MAX:
        return None
    which, them = ("This body is", "it") if len(summaries) == 1 else ("These bodies are", "them one by one")
    limit = f"at most {BYTES_MAX // 1024 // 1024} MiB"
    return f"{which} too large to drag out ({size_text(size)}, {limit}): save {them} instead."


def _free(path: Path, taken: Sequence[Path]) -> Path:
    """A free name: requests of the same moment would have the same one."""
    number, free = 1, path
    while free in taken:
        number += 1
        free = path.with_stem(f"{path.stem} ({number})")
    return free


def _label(summaries: Sequence[Summary]) -> str:
    if len(summaries) == 1:
        return name_of(summaries[0])
    return count_of(len(summaries), "request")


def _chip(text: str, theme: Theme, over: QWidget) -> QPixmap:
    """A small card with the label."""
    font, tokens, ratio = ui_font(), theme.tokens, over.devicePixelRatioF()
    fm = over.fontMetrics()
    shown = fm.elidedText(text, Qt.TextElideMode.ElideRight, CHIP_MAX)
    width, height = fm.horizontalAdvance(shown) + 24, 32
    picture = QPixmap(round(width * ratio), round(height * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(tokens.border_strong))
    painter.setBrush(QColor(tokens.surface_raised))
    painter.drawRoundedRect(QRectF(0.5, 0.5, width - 1, height - 1), 8, 8)
    painter.setFont(font)
    painter.setPen(QColor(tokens.text))
    painter.drawText(12, 0, width - 24, height, int(Qt.AlignmentFlag.AlignVCenter), shown)
    painter.end()
    return picture
