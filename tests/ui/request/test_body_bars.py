"""The bar below a large body: its buttons do what they say, and the lines in view stay in place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QRect

from app.core.errors import StorageUnavailableError
from app.core.text import size_text
from app.ui.request.body.body_bars import MORE
from app.ui.request.body.body_pane import BodyPane
from app.ui.request.body.body_source import BodySource
from app.ui.request.tabs.tabs import RAW
from app.ui.theme.metrics import SPACE_3
from tests.ui.requests.page_desk import PageDesk, open_body, open_page
from tests.ui.waiting import settle, until

ITEM = b'{"number": 12345678, "name": "nothing to see here, nor in the others"},\n'


async def loaded(body: BodyPane) -> None:
    await until(lambda: not body.loader.loading and body.loader.reader is not None)


async def test_the_facts_keep_their_distance_from_the_views(shown: PageDesk) -> None:
    await open_body(shown, b"{}", "application/json")
    body = shown.detail.body
    await until(lambda: "JSON" in body.facts.text())
    await settle()
    facts, end = body.facts.geometry(), body.views.geometry().right() + 1
    picture = body.grab(QRect(end, facts.top(), facts.right() - end, facts.height())).toImage()
    ground = picture.pixel(0, 0)
    rows = range(picture.height())
    blank = next(x for x in range(picture.width()) if any(picture.pixel(x, y) != ground for y in rows))
    assert abs(blank - SPACE_3) <= 2  # letters begin a little off their place


async def test_load_more_adds_what_it_names_and_keeps_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert size_text(MORE) == "1.0 MiB"
    monkeypatch.setattr("app.ui.request.body.body_bars.MORE", 300_000)

    async with open_page(tmp_path) as shown:
        await open_body(shown, b"[" + ITEM * 7_000 + b"1]", "application/json")
        body, bar = shown.detail.body, shown.detail.body.code.verticalScrollBar()
        assert body.rest.text.text() == "Showing the first 64 KiB of 492 KiB"
        assert '\n    "number"' in body.code.toPlainText()
        bar.setValue(300)
        await loaded(body)
        assert body.rest.more.text() == "Load 293 KiB more"
        body.rest.more.click()
        await until(lambda: body.rest.more.text().startswith("Load the rest, "))
        await loaded(body)
        # All that was read is shown: four lines for each item.
        reader = body.loader.reader
        assert reader is not None
        assert reader.unpacked in range(365_536, 440_000)
        assert abs(body.code.line_count() - reader.unpacked / len(ITEM) * 4) < 8
        assert (bar.value(), body.code.top_line()) == (300, 301)
        body.rest.more.click()
        await until(body.rest.isHidden)
        assert body.code.line_count() == 7_000 * 4 + 3


PARTS = b"".join(
    b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name, content)
    for name, content in ((b"first", b"1"), (b"file", bytes(300_000)), (b"last", b"3"))
)


@pytest.mark.parametrize(
    ("body", "content_type", "end"),
    [
        (PARTS + b"--b--\r\n", "multipart/form-data; boundary=b", "  3"),
        (b'{"long": "%s", "end": 3}' % (b"a" * 90_000), "application/json", "}"),
    ],
    ids=["multipart", "long line"],
)
async def test_more_is_loaded_while_there_is_room(tmp_path: Path, body: bytes, content_type: str, end: str) -> None:
    """The first lines leave nothing to scroll, which would load more; long ones on a high screen."""

    async with open_page(tmp_path) as shown:
        shown.page.resize(1000, 1600)
        shown.desk.theme.body_text.toggle_wrap()
        await open_body(shown, body, content_type)
        code = shown.detail.body.code
        await until(lambda: code.toPlainText().rstrip("\n").split("\n")[-1] == end)
        await until(shown.detail.body.rest.isHidden)


async def test_more_of_a_raw_request_is_loaded_while_there_is_room(shown: PageDesk) -> None:
    shown.page.resize(1000, 1600)
    shown.desk.theme.body_text.toggle_wrap()
    await open_body(shown, b"a" * 90_000 + b"end", "text/plain")
    shown.detail.tabs.setCurrentIndex(RAW)
    raw = shown.detail.raw
    await until(lambda: raw.code.toPlainText().endswith("end"))


async def test_what_cannot_be_read_is_not_read_at_each_paint(tmp_path: Path) -> None:
    reads: list[int] = []

    async def read(offset: int, length: int) -> bytes:
        reads.append(offset)
        if offset:
            raise StorageUnavailableError("The disk is gone.")
        return PARTS[:length]

    async with open_page(tmp_path) as shown:
        await open_body(shown, b"1", "text/plain")
        pane, messages = shown.detail.body, shown.desk.messages
        pane.show_source(BodySource(len(PARTS), (), "multipart/form-data; boundary=b", "body", read))
        await until(messages.waiting)
        for _ in range(3):
            pane.code.viewport().update()
            await settle()
        assert len(reads) == 2
        messages.withdraw(messages.waiting()[0].key)


async def test_the_end_of_a_large_body_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.ui.request.body.body_bars.SHOWN_MAX", 900_000)

    async with open_page(tmp_path) as shown:
        await open_body(shown, b"".join(b"line %07d\n" % n for n in range(1, 100_001)), "text/plain")
        body = shown.detail.body
        body.rest.more.click()
        await until(lambda: body.rest.more.text() == "Show next part")
        await loaded(body)
        body.rest.more.click()
        await until(body.rest.earlier.isVisible)
        await loaded(body)
        body.rest.more.click()
        await until(body.rest.more.isHidden)
        reader = body.loader.reader
        assert reader is not None
        assert body.rest.text.text() == f"Showing the last {size_text(1_300_000 - reader.start_offset)} of 1.2 MiB"


async def test_parts_before_and_after_are_reached_and_the_top_line_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ui.request.body.body_bars.SHOWN_MAX", 600_000)

    async with open_page(tmp_path) as shown:
        await open_body(shown, b"".join(b"line %07d\n" % n for n in range(1, 100_001)), "text/plain")
        body = shown.detail.body
        body.rest.more.click()
        await until(lambda: body.rest.more.text() == "Show next part")
        await loaded(body)
        assert body.code.length() < 800_000
        body.rest.more.click()
        await until(body.rest.earlier.isVisible)
        assert re.fullmatch(
            r"Showing [\d.,]+ (KiB|lines) after the first [56]\d\d KiB of 1\.2 MiB", body.rest.text.text()
        )
        top = body.code.top_line()
        assert top is not None
        assert body.code.firstVisibleBlock().text() == f"line {top:07d}"
        reader = body.loader.reader
        body.rest.earlier.click()
        await until(lambda: body.loader.reader not in (None, reader) and not body.loader.loading)
        await until(lambda: body.code.top_line() == top)
        body.code.verticalScrollBar().setValue(0)
        assert body.code.top_line() in range(top - 40_000, top - 10_000)
