"""The system's dialog for files: what a name becomes, and where its answers go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QComboBox, QLineEdit, QMessageBox, QWidget

from app.ui.endpoints.qr_dialog import QrDialog
from app.ui.endpoints.target_form import FileField
from app.ui.widgets.dialog import FileDialog
from tests.ui.desk import Desk, shown
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import notice, until, wait_for_widget

PICTURES = ("PNG picture (*.png)", "SVG drawing (*.svg)")


def type_name(dialog: FileDialog, name: str) -> None:
    field = dialog.findChild(QLineEdit, "fileNameEdit")
    assert field is not None
    field.setText(name)


def choose_filter(dialog: FileDialog, number: int) -> None:
    box = dialog.findChild(QComboBox, "fileTypeCombo")
    assert box is not None
    box.setCurrentIndex(number)
    box.textActivated.emit(box.currentText())


@pytest.mark.parametrize(
    ("typed", "number", "path"),
    [("code", 0, "code.png"), ("code", 1, "code.svg"), ("code.v2", 0, "code.v2"), ("a.svg", 0, "a.svg")],
)
async def test_a_name_without_an_extension_gets_that_of_the_filter(
    desk: Desk, tmp_path: Path, typed: str, number: int, path: str
) -> None:
    over = QWidget()
    dialog = FileDialog(over, "Save", tmp_path, PICTURES, save=True)
    choosing = asyncio.ensure_future(dialog.chosen())
    await until(dialog.isVisible)
    choose_filter(dialog, number)
    type_name(dialog, typed)
    dialog.accept()
    assert await choosing == tmp_path / path
    await until(lambda: not over.findChildren(FileDialog))


async def test_a_file_whose_extension_was_not_typed_is_not_replaced_unasked(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "code.png").write_bytes(b"mine")
    over, asked = QWidget(), list[str]()
    dialog = FileDialog(over, "Save", tmp_path, PICTURES, save=True)
    choosing = asyncio.ensure_future(dialog.chosen())
    await until(dialog.isVisible)

    def answer() -> None:
        (question,) = dialog.findChildren(QMessageBox)
        asked.append(question.text())
        question.button(QMessageBox.StandardButton.No).click()

    type_name(dialog, "code")
    QTimer.singleShot(0, answer)
    dialog.accept()
    assert "code.png already exists" in asked[0]
    dialog.reject()
    assert await choosing is None


async def test_a_body_is_saved_where_the_user_says(shown: PageDesk, tmp_path: Path) -> None:
    await open_body(shown, b'{"a":1}', "application/json")
    for accepted in (False, True):
        shown.detail.body.save.click()
        dialog = await wait_for_widget(FileDialog, shown.page)
        dialog.setDirectory(str(tmp_path))
        type_name(dialog, "body")
        dialog.accept() if accepted else dialog.reject()
        await until(lambda: not shown.page.findChildren(FileDialog))
    await until(lambda: notice(shown.page) == f"Saved as {tmp_path / 'body'}.")
    assert (tmp_path / "body").read_bytes() == b'{"a":1}'


async def test_a_qr_code_is_saved_where_the_user_says(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        qr = QrDialog(desk.services, desk.theme, desk.tasks, window, desk.store.endpoints.all()[0])
        qr.open()
        qr.save()
        dialog = await wait_for_widget(FileDialog, qr)
        dialog.setDirectory(str(tmp_path))
        type_name(dialog, "code")
        dialog.accept()
        await until(lambda: qr.status.text() == "Saved as code.png.")
        qr.reject()


async def test_a_path_is_chosen_beside_the_last(desk: Desk, tmp_path: Path) -> None:
    for name in ("one.pem", "two.pem"):
        (tmp_path / name).touch()
    over = QWidget()
    field = FileField("client key", "PEM keys (*.pem *.key)", desk.theme, over)
    field.set_value(str(tmp_path / "one.pem"))
    field.browse.click()
    dialog = await wait_for_widget(FileDialog, over)
    assert dialog.directory().absolutePath() == str(tmp_path)
    dialog.selectFile("two.pem")
    dialog.accept()
    assert field.value() == str(tmp_path / "two.pem")
    await until(lambda: not over.findChildren(FileDialog))
