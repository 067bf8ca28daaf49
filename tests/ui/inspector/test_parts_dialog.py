"""Each part of a multipart body has its own views, and can be copied and saved."""

from __future__ import annotations

import base64
import gzip
import quopri
import random
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from app.core.bodies.formats import multipart
from app.core.bodies.formats.multipart import PARTS_MAX, decode, read_parts
from app.ui.inspector.body.body_export import file_name, write_body
from app.ui.inspector.body.body_pane import BodyPane
from app.ui.inspector.body.parts_dialog import PartsDialog, of_part
from tests import factories
from tests.ui.desk import shown
from tests.ui.inspector.test_image_view import picture
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import settle, until

TYPE = "multipart/form-data; boundary=b"


def part(content: bytes, disposition: str = "", *headers: str) -> bytes:
    lines = [f"Content-Disposition: form-data{disposition}", *headers]
    return b"--b\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n" + content + b"\r\n"


PNG = picture("png")
BODY = (
    part(b"hello", '; name="note"')
    + part(PNG, '; name="f"; filename="../../.p\\NUL.png"')
    + part(b"let a\r\n", '; name="f"; filename="app.js"', "Content-Type: application/octet-stream")
    + part(b"eyJhIjogMX0=", '; name="j"', "Content-Type: application/json", "Content-Transfer-Encoding: base64")
    + part(b"")
    + b"--b--\r\n"
)


@pytest.mark.parametrize("width", [1280, 960])
async def test_hex_in_a_part_is_not_wrapped_in_a_narrow_window(tmp_path: Path, width: int) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        window.resize(width, 540)
        body = part(bytes(range(256)), '; name="f"') + b"--b--\r\n"
        capture = factories.capture(body, endpoint_id=desk.store.endpoints.all()[0].id, content_type=TYPE)
        await desk.store.captures.add(capture, body)
        window.show_endpoint(capture.endpoint_id)
        window.requests.go_to(capture)
        code = window.requests.detail.body.code
        await until(lambda: " 30 31 32 33 34 35 36 37" in code.toPlainText())
        await until(code.isVisible)
        await settle()
        assert not code.grab().isNull()
        blocks = [code.document().findBlockByNumber(row) for row in range(code.blockCount())]
        rows = [block for block in blocks if re.match("  [0-9a-f]+  ([0-9a-f]{2} ){7}", block.text())]
        assert rows
        assert {block.layout().lineCount() for block in rows} == {1}


@given(st.lists(st.binary(max_size=60).filter(lambda data: b"--b" not in data), min_size=1, max_size=5))
def test_a_part_has_the_bytes_that_were_sent(contents: list[bytes]) -> None:
    found = read_parts(TYPE, b"".join(map(part, contents)) + b"--b--")
    assert [one.data for one in found] == contents


def test_a_part_that_the_body_or_its_reading_breaks_off_in() -> None:
    broken = part(b"whole") + part(b"half")[:-3]
    assert [one.data for one in read_parts(TYPE, broken)] == [b"whole", b"hal"]
    assert [one.data for one in read_parts(TYPE, broken, cut=True)] == [b"whole"]
    assert len(read_parts(TYPE, part(b"x") * (PARTS_MAX + 5))) == PARTS_MAX
    assert read_parts(TYPE, b"no boundary") == []


async def test_each_part_is_shown_saved_and_copied(shown: PageDesk) -> None:
    for body, headers in ((BODY, ()), (gzip.compress(BODY), (("Content-Encoding", "gzip"),))):
        dialog, pane = await opened(shown, body, headers)
        titles = [dialog.rows.index(row, 0).data() for row in range(dialog.rows.rowCount())]
        assert titles == ["1  note", "2  ../../.p\\NUL.png", "3  app.js", "4  j", "5  0 B"]
        await until(lambda: pane.code.toPlainText() == "hello")  # noqa: B023 - awaited in the loop
        pane.copy.click()
        await until(lambda: QGuiApplication.clipboard().text() == "hello")
        QTest.keyClick(dialog.list, Qt.Key.Key_Down)
        await until(lambda: pane.image.caption.text().startswith("PNG"))  # noqa: B023
        QTest.keyClick(dialog.list, Qt.Key.Key_Down)
        await until(lambda: pane.facts.text().startswith("JavaScript"))  # noqa: B023
        QTest.keyClick(dialog.list, Qt.Key.Key_Down)
        await until(lambda: pane.code.toPlainText() == '{\n  "a": 1\n}')  # noqa: B023
        assert dialog.notices.text.text() == "Sent as base64, decoded here and when it is saved."
        QTest.keyClick(dialog.list, Qt.Key.Key_Down)
        assert dialog.notices.isHidden()
        await until(lambda: pane.stack.currentWidget() is pane.nothing)  # noqa: B023
        dialog.reject()


async def test_a_part_is_saved_as_sent_under_a_safe_name(tmp_path: Path) -> None:
    note, image, script, *_ = map(of_part, read_parts(TYPE, BODY))
    assert [file_name(one) for one in (note, image, script)] == ["part-1.bin", "_NUL.png", "app.js"]
    await write_body(image, tmp_path / file_name(image))
    assert (tmp_path / "_NUL.png").read_bytes() == PNG


async def test_only_multipart_bodies_have_parts(shown: PageDesk) -> None:
    for body, content_type, there in ((BODY, TYPE, True), (b"{}", "application/json", False), (b"", "", False)):
        await open_body(shown, body, content_type)
        assert shown.detail.body.parts.isHidden() is not there
    dialog, _ = await opened(shown, b"--c\r\n\r\nx\r\n--c--", ())
    assert dialog.rows.rowCount() == 1
    dialog.reject()


async def opened(shown: PageDesk, body: bytes, headers: Any) -> tuple[PartsDialog, BodyPane]:
    await open_body(shown, body, TYPE, headers=headers)
    shown.detail.body.parts.click()
    dialog = shown.detail.body.findChildren(PartsDialog)[-1]
    await until(lambda: dialog.rows.rowCount() > 0)
    return dialog, dialog.findChildren(BodyPane)[0]


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", ""])
def test_a_long_part_is_undone_as_it_would_be_whole(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rnd = random.Random(3)
    for _ in range(500):
        written = bytes(rnd.choice(b"QUJD=\n \r3ab") for _ in range(rnd.randrange(40)))
        sent = {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring}.get(encoding, bytes)
        for data in (written, sent(rnd.randbytes(rnd.randrange(60)))):
            with monkeypatch.context() as short:
                short.setattr(multipart, "STEP", 8)
                in_steps = decode(encoding, data)
            assert in_steps == decode(encoding, data), data


def test_a_boundary_across_two_steps_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    body = b"".join(part(b"x" * size) for size in range(40)) + b"--b--"
    whole = read_parts(TYPE, body)
    monkeypatch.setattr(multipart, "STEP", 64)
    assert read_parts(TYPE, body) == whole
    assert [len(one.data) for one in whole] == list(range(40))
