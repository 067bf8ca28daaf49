"""Exports a body: to a file, as it was sent, or to the clipboard, as text or picture."""

from __future__ import annotations

import asyncio
import mimetypes
import os
from pathlib import Path
from typing import BinaryIO

from PySide6.QtCore import QByteArray, QMimeData
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QFileDialog, QWidget

from app.core.bodies.body_reader import body_text
from app.core.bodies.formats.text import is_binary
from app.core.bodies.media_types import media_type
from app.core.errors import HooklineError
from app.core.model import PART_SIZE
from app.ui.request.body.body_source import BodySource
from app.ui.request.body.image_decoder import BYTES_MAX, decoded
from app.ui.request.body.read_decoded import read_plain
from app.ui.widgets.question import result_of

COPY_MAX = 8 * 1024 * 1024


class SaveError(HooklineError):
    """The file could not be written."""


def file_name(source: BodySource) -> str:
    """The body's own file name, or one with the extension of its content type."""
    if source.file_name is not None:
        return source.file_name
    ending = mimetypes.guess_extension(media_type(source.content_type)) or ".bin"
    return source.name + ending


def too_large(what: str) -> str:
    """A message: this is too large for the clipboard."""
    return f"This {what} is too large for the clipboard: save it instead."


async def save_as(source: BodySource, over: QWidget, what: str = "body") -> Path | None:
    """Ask for a path and save the body there as it was sent; None if the user cancelled."""
    dialog = QFileDialog(over, f"Save {what} as", str(Path.home() / file_name(source)))
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setFileMode(QFileDialog.FileMode.AnyFile)
    if await result_of(dialog) != QDialog.DialogCode.Accepted:
        dialog.deleteLater()
        return None
    path = Path(dialog.selectedFiles()[0])
    dialog.deleteLater()
    await write_body(source, path, what)
    return path


async def write_body(source: BodySource, path: Path, what: str = "body") -> None:
    """Write a temporary file and then replace the target, so that an existing file is kept if this fails."""
    loop = asyncio.get_running_loop()
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        file: BinaryIO = await loop.run_in_executor(None, beside.open, "xb")
        try:
            offset = 0
            while offset < source.size:
                data = await source.read(offset, PART_SIZE)
                if not data:
                    break
                await loop.run_in_executor(None, file.write, data)
                offset += len(data)
        finally:
            await loop.run_in_executor(None, file.close)
        await loop.run_in_executor(None, beside.replace, path)
    except OSError as error:
        raise SaveError(f"The {what} could not be saved as {path}: {error.strerror or error}.") from error
    finally:
        await loop.run_in_executor(None, lambda: beside.unlink(missing_ok=True))


async def copy_text(source: BodySource, what: str = "body", mime_type: str | None = None) -> str | None:
    """Copy the body to the clipboard as text; returns a message for the user, or None if the body is not text and
    nothing was copied.

    Programs that take `mime_type` from the clipboard get the exact bytes.
    """
    if source.size > COPY_MAX:
        return too_large(what)
    data = await source.read(0, COPY_MAX)
    loop = asyncio.get_running_loop()
    text, whole = await loop.run_in_executor(None, body_text, source.headers, source.content_type, data, COPY_MAX)
    if is_binary(text):
        return None
    copied = QMimeData()
    copied.setText(text)
    if mime_type is not None:
        copied.setData(mime_type, QByteArray(data))
    QGuiApplication.clipboard().setMimeData(copied)
    return f"Copied the {what}." if whole else f"Copied the first 8 MiB: the {what} is larger when decompressed."


async def copy_picture(source: BodySource) -> str:
    """Copy the body to the clipboard as a picture; returns a message for the user."""
    data = await read_plain(source, BYTES_MAX)
    if data is None or len(data) > BYTES_MAX:
        return "This image is too large for the clipboard: save it instead."
    picture = await asyncio.get_running_loop().run_in_executor(None, decoded, data)
    if picture.image is None or picture.size is None:
        return picture.words
    QGuiApplication.clipboard().setImage(picture.image)
    smaller = picture.image.width() * picture.image.height() < picture.size.width() * picture.size.height()
    size = f"{picture.image.width():,} \u00d7 {picture.image.height():,} pixels"
    return f"Copied the image, scaled down to {size}." if smaller else "Copied the image."
