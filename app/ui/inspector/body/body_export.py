"""Saves a body to a file as it was sent, or copies it to the clipboard as text, picture, Base64 or hex."""

from __future__ import annotations

import mimetypes
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from PySide6.QtCore import QByteArray, QMimeData, QObject, QPoint, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.core.bodies.body_reader import body_text
from app.core.bodies.formats.text import is_binary
from app.core.bodies.media_types import media_type
from app.core.errors import HooklineError
from app.core.file_names import kind_unless_file
from app.core.model import PART_SIZE
from app.core.text import dimensions_text
from app.ui.commands.command import menu_of
from app.ui.inspector.body.body_source import BodySource, read_plain
from app.ui.inspector.body.pictures import BYTES_MAX, decoded
from app.ui.tasks import Tasks, in_thread
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.dialog import FileDialog
from app.ui.widgets.notices import Toast

COPY_MAX = 8 * 1024 * 1024
RAW_TYPE = "application/http"
"""Programs that take this type from the clipboard get a whole request's exact bytes."""


class SaveError(HooklineError):
    """The file could not be written."""


def file_name(source: BodySource) -> str:
    """The body's own file name, or one with the extension of its content type."""
    if source.file_name is not None:
        return source.file_name
    ending = mimetypes.guess_extension(media_type(source.content_type)) or ".bin"
    return source.name + ending


async def write_body(source: BodySource, path: Path, what: str = "body") -> None:
    """Write a temporary file and then replace the target, so that an existing file is kept if this fails."""
    # The name is random, because two saves to one path may run at once.
    beside = path.with_name(f".{path.name}.{token_hex(4)}.part")
    try:
        if kind := await in_thread(kind_unless_file, path):
            raise SaveError(f"The {what} could not be saved as {path}: that is {kind}. Choose another name.")
        file: BinaryIO = await in_thread(beside.open, "xb")
        try:
            offset = 0
            while offset < source.size:
                data = await source.read(offset, PART_SIZE)
                if not data:
                    break
                await in_thread(file.write, data)
                offset += len(data)
        finally:
            await in_thread(file.close)
        await in_thread(beside.replace, path)
    except OSError as error:
        raise SaveError(f"The {what} could not be saved as {path}: {error.strerror or error}.") from error
    finally:
        await in_thread(lambda: beside.unlink(missing_ok=True))


async def copy_picture(source: BodySource) -> str:
    """Copy the body to the clipboard as a picture; returns a message for the user."""
    data = await read_plain(source, BYTES_MAX)
    if len(data) > BYTES_MAX:
        return "This image is too large for the clipboard: save it instead."
    picture = await in_thread(decoded, data)
    if picture.image is None or picture.size is None:
        return picture.words
    QGuiApplication.clipboard().setImage(picture.image)
    smaller = picture.image.width() * picture.image.height() < picture.size.width() * picture.size.height()
    size = f"{dimensions_text(picture.image.width(), picture.image.height())} pixels"
    return f"Copied the image, scaled down to {size}." if smaller else "Copied the image."


class BodyExport(QObject):
    """Saves what `source` returns, or copies it: as a picture if `is_picture`, otherwise as text or, if it is binary,
    in a format that the user selects below `button`. `what` names it in messages.
    """

    def __init__(
        self,
        button: IconButton,
        over: QWidget,
        tasks: Tasks,
        toast: Toast,
        *,
        source: Callable[[], BodySource | None],
        is_picture: Callable[[], bool],
        what: str,
    ) -> None:
        super().__init__(over)
        self._button, self._source, self._is_picture, self._what = button, source, is_picture, what
        self._over, self._tasks, self._toast = over, tasks, toast

    @Slot()
    def save(self) -> None:
        """There may be nothing to save yet."""
        source = self._source()
        if source is not None:
            self._tasks.start(self._save(source), f"{self._what}: save")

    @Slot()
    def copy(self) -> None:
        """There may be nothing to copy yet."""
        source = self._source()
        if source is not None:
            self._tasks.start(self._copy_and_report(source), "body: copy")

    async def _save(self, source: BodySource) -> None:
        """Ask for a path and save the body there as it was sent."""
        proposed = Path.home() / file_name(source)
        path = await FileDialog(self._over, f"Save {self._what} as", proposed, save=True).chosen()
        if path is not None:
            await write_body(source, path, self._what)
            self._toast.say(f"Saved as {path}.{await _damage(source)}")

    async def _copy_and_report(self, source: BodySource) -> None:
        copied = copy_picture(source) if self._is_picture() else self._copy_text(source)
        message = await self._tasks.complete(copied, self)
        if message is not None:
            self._toast.say(message + await _damage(source))
        elif source is self._source():
            self._offer(source)

    async def _copy_text(self, source: BodySource) -> str | None:
        """Returns a message for the user, or None if the body is not text and nothing was copied."""
        if source.size > COPY_MAX:
            return self._too_large()
        data = await source.read(0, COPY_MAX)
        text, complete = await in_thread(body_text, source.headers, source.content_type, data, COPY_MAX)
        if is_binary(text):
            return None
        copied = QMimeData()
        copied.setText(text)
        if source.raw_head is not None:
            copied.setData(RAW_TYPE, QByteArray(data))
        QGuiApplication.clipboard().setMimeData(copied)
        what = self._what
        return f"Copied the {what}." if complete else f"Copied the first 8 MiB: the {what} is larger when decompressed."

    def _too_large(self) -> str:
        return f"This {self._what} is too large for the clipboard: save it instead."

    def _offer(self, source: BodySource) -> None:
        """The body is binary and cannot be copied as text."""
        menu = menu_of(self._button)
        menu.setAccessibleName(f"This {self._what} is binary")
        menu.addAction(f"This {self._what} is binary").setEnabled(False)
        menu.addSeparator()
        for text, form in (("Copy as Base64", _base64), ("Copy as hex", bytes.hex)):
            menu.addAction(text).triggered.connect(partial(self._copy_bytes, source, text, form))
        menu.addSeparator()
        menu.addAction(f"Save {self._what} as…").triggered.connect(self.save)
        menu.popup(self._button.mapToGlobal(QPoint(0, self._button.height())))

    def _copy_bytes(self, source: BodySource, text: str, form: Callable[[bytes], str], checked: bool = False) -> None:
        self._tasks.start(self._copy_as(source, text, form), "body: copy bytes")

    async def _copy_as(self, source: BodySource, text: str, form: Callable[[bytes], str]) -> None:
        if source.size > COPY_MAX:
            self._toast.say(self._too_large())
            return
        data = await source.read(0, COPY_MAX)
        QGuiApplication.clipboard().setText(await in_thread(form, data))
        self._toast.say(f"Copied the {self._what}{text.removeprefix('Copy')}.{await _damage(source)}")


async def _damage(source: BodySource) -> str:
    """What is added to a notice about a damaged body; nothing if it cannot be read any more."""
    with suppress(HooklineError):
        if await source.damage():
            return " The stored body is damaged."
    return ""


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")
