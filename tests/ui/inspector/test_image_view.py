"""Pictures are shown scaled and within limits, or with the reason why they cannot be shown."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QWidget

from app.core.text import size_text
from app.ui.inspector.body.body_source import of_bytes
from app.ui.inspector.body.image_view import read_picture
from app.ui.inspector.body.pictures import PIXELS_MAX, SIDE_MAX, decoded
from app.ui.widgets.fields import Segmented
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import activate, settle, until

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><image href="http://127.0.0.1:9/x.png"/></svg>'


def picture(kind: str, width: int = 30, height: int = 20) -> bytes:
    image = QImage(width, height, QImage.Format.Format_ARGB32)
    image.fill(QColor(200, 30, 60, 120))
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert image.save(buffer, kind)
    return bytes(data.data())


@cache
def patterned(kind: str) -> bytes:
    image = QImage(40, 30, QImage.Format.Format_ARGB32)
    for x in range(40):
        for y in range(30):
            image.setPixelColor(x, y, QColor(x * 6, y * 8, x * y % 255, 200))
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert image.save(buffer, kind)
    return bytes(data.data())


GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\x00\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)


def png(width: int, height: int) -> bytes:
    """A picture that says it is so large, with nothing in it."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(("kind", "title"), [("png", "PNG"), ("jpeg", "JPEG"), ("bmp", "BMP"), ("webp", "WebP")])
def test_each_kind_is_decoded_and_its_size_told(kind: str, title: str) -> None:
    found = decoded(picture(kind))
    assert found.words == f"{title} \u00b7 30×20 pixels"
    assert found.image is not None
    assert (found.image.width(), found.image.height()) == (30, 20)


def test_a_gif_is_decoded() -> None:
    assert decoded(GIF).words == "GIF \u00b7 1×1 pixels"


def test_limits_are_told_before_anything_is_decoded() -> None:
    found = decoded(png(100_000, 100_000))
    assert found.image is None
    assert "100,000×100,000 pixels, more than 50 megapixels" in found.words
    assert PIXELS_MAX < 100_000 * 100_000
    wide = decoded(picture("png", SIDE_MAX * 2, 3))
    assert wide.image is not None
    assert (wide.image.width(), wide.words) == (SIDE_MAX, "PNG \u00b7 8,192×3 pixels")


@pytest.mark.parametrize("data", [png(10, 10)[:40], picture("jpeg")[:30], b"\x89PNG\r\n\x1a\n" + SVG, png(0, 0)])
def test_damage_is_told(data: bytes) -> None:
    found = decoded(data)
    assert found.image is None
    assert "damaged" in found.words


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp", "bmp"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nothing_is_written_of_damage(kind: str, data: st.DataObject, capfd: pytest.CaptureFixture[str]) -> None:
    """Any sender could fill the terminal or the journal with it."""
    damaged = bytearray(patterned(kind))
    places = st.integers(12, len(damaged) - 1)
    for at, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=4)):
        damaged[at] = byte
    assert decoded(bytes(damaged[: data.draw(places)])).words
    assert decoded(bytes(damaged)).words
    assert capfd.readouterr() == ("", "")


def test_a_picture_that_breaks_off_says_so() -> None:
    noise = QImage(random.Random(1).randbytes(4 * 200 * 200), 200, 200, QImage.Format.Format_RGB32)
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert noise.save(buffer, "jpeg")
    whole = bytes(data.data())
    assert decoded(whole).words == "JPEG \u00b7 200×200 pixels"
    cut = decoded(whole[: len(whole) // 2])
    assert cut.image is not None
    assert "cut off" in cut.words
    assert "ends too early" not in decoded(GIF + b"\0").words


def test_a_drawing_made_of_markup_is_never_drawn() -> None:
    assert decoded(SVG).image is None
    assert decoded(gzip.compress(SVG)).image is None


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF....WEBPVP8 "]),
)
def test_any_bytes_are_borne(data: bytes, head: bytes) -> None:
    assert decoded(head + data).words


async def test_a_picture_is_previewed_and_other_bodies_offer_none(shown: PageDesk) -> None:
    body = shown.detail.body
    packed = (("Content-Encoding", "gzip"),)
    for data, headers in ((picture("png"), ()), (gzip.compress(picture("png")), packed)):
        await open_body(shown, data, "image/png", headers=headers)
        assert body.views.current() == "preview"
        assert body.stack.currentWidget() is body.image
        await until(lambda: body.image.caption.text() == "PNG \u00b7 30×20 pixels")
        assert body.image.canvas.picture_rect().width() == 30
        shown_as = body.image.canvas.grab(body.image.canvas.picture_rect()).toImage()
        colours = {shown_as.pixel(x, y) for x in range(30) for y in range(20)}
        assert len(colours) == 2, "squares are seen through it"
        caption = body.image.caption
        assert caption.geometry().top() > body.image.canvas.geometry().bottom()
        assert body.image.rect().contains(caption.geometry())
        assert caption.width() >= caption.fontMetrics().horizontalAdvance(caption.text())
        assert not body.grab().isNull()
    # The type does not decide: what was sent is no picture.
    await open_body(shown, b'{"a": 1}', "image/png")
    assert body.views.current() == "pretty"
    assert not offered(body.views)
    await open_body(shown, b"<a/>", "image/svg+xml")
    assert not offered(body.views)
    await open_body(shown, png(100_000, 100_000), "")
    await until(lambda: "megapixels" in body.image.caption.text())
    body.open_find()
    await until(lambda: body.stack.currentWidget() is body.code)


@pytest.mark.parametrize("sent", [picture("png"), SVG], ids=["picture", "drawing"])
async def test_what_is_too_large_for_a_preview_is_told(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr("app.ui.inspector.body.image_view.BYTES_MAX", 20)
    found = await read_picture(of_bytes(sent, "picture"), 1.0)
    assert found.image is None
    assert found.words == f"Too large to preview: more than 20 B ({size_text(len(sent))} as sent)."


async def test_copying_a_picture_copies_the_picture(shown: PageDesk) -> None:
    body, clipboard = shown.detail.body, QGuiApplication.clipboard()
    await open_body(shown, picture("png"), "image/png")
    clipboard.clear()
    body.copy.click()
    await until(lambda: clipboard.image().size() == QSize(30, 20))
    assert not clipboard.text()
    # Neither the view nor the type decides: it is a picture in hex as well.
    clipboard.clear()
    body.views.activated.emit("hex")
    await until(lambda: body.stack.currentWidget() is body.hex)
    body.copy.click()
    await until(lambda: not clipboard.image().isNull())
    await open_body(shown, png(10, 10), "image/png")
    clipboard.setText("before")
    body.copy.click()
    await settle()
    assert clipboard.text() == "before"
    await open_body(shown, b"words", "image/png")
    body.copy.click()
    await until(lambda: clipboard.text() == "words")


def offered(views: Segmented) -> bool:
    return any(found.isVisible() for found in views.findChildren(QWidget) if found.property("key") == "preview")


async def test_a_picture_shows_a_ring_when_a_key_leads_to_it(shown: PageDesk) -> None:
    await open_body(shown, picture("PNG"), "image/png")
    image = shown.detail.body.image
    await activate(shown.page)
    await until(lambda: image.canvas.picture_rect().isValid() and shown.page.isActiveWindow())

    def edge() -> list[str]:
        grabbed = image.grab().toImage()
        return [grabbed.pixelColor(grabbed.width() // 2, y).name() for y in range(8)]

    shown.list.setFocus()
    plain = edge()
    image.setFocus(Qt.FocusReason.TabFocusReason)
    assert edge() != plain
    shown.list.setFocus()
    assert edge() == plain
    image.setFocus(Qt.FocusReason.MouseFocusReason)
    assert edge() == plain


async def test_a_picture_is_named_as_what_it_is(shown: PageDesk) -> None:
    body = shown.detail.body
    for content_type, note in (
        ("image/png", ""),
        ("", ""),
        ("application/octet-stream", ""),
        ("application/json; charset=utf-8", "Sent as application/json, but this is a PNG image."),
        ("image/jpeg", "Sent as image/jpeg, but this is a PNG image."),
    ):
        await open_body(shown, picture("PNG"), content_type)
        assert body.stack.currentWidget() is body.image, content_type
        await until(lambda: body.facts.text().startswith("PNG image \u00b7 "))
        assert (body.notices.text.text(), body.notices.isVisible()) == (note, bool(note)), content_type
        await open_body(shown, b"a", "text/plain")
