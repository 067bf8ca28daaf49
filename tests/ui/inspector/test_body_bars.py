"""The bar below a large body: its buttons do what they say, and the lines in view stay in place."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect

from app.core.errors import StorageUnavailableError
from app.ui.inspector.body.body_source import BodySource
from app.ui.inspector.request_view import RAW
from app.ui.theme.metrics import SPACE_3
from tests.ui.requests.page_desk import PageDesk, open_body
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.slow

ITEM = b'{"number": 12345678, "name": "nothing to see here, nor in the others"},\n'


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


async def test_the_rest_is_loaded_behind_the_first_lines_and_nothing_moves(shown: PageDesk) -> None:
    await open_body(shown, b"[" + ITEM * 7_000 + b"1]", "application/json")
    body, bar = shown.detail.body, shown.detail.body.code.verticalScrollBar()
    assert '\n    "number"' in body.code.toPlainText()
    bar.setValue(300)
    await until(lambda: body.loader.ended)
    assert body.code.line_count() == 7_000 * 4 + 3
    assert bar.value() == 300
    assert body.rest.isHidden()


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
async def test_more_is_loaded_while_there_is_room(shown: PageDesk, body: bytes, content_type: str, end: str) -> None:
    """The first lines leave nothing to scroll, which would load more; long ones on a high screen."""
    shown.page.resize(1000, 1600)
    shown.desk.theme.body_text.toggle_wrap()
    await open_body(shown, body, content_type)
    shown.detail.body.views.activated.emit("pretty")  # Parts are cards at first.
    code = shown.detail.body.code
    await until(lambda: code.toPlainText().rstrip("\n").split("\n")[-1] == end)
    await until(shown.detail.body.rest.isHidden)


async def test_more_of_a_raw_request_is_loaded_while_there_is_room(shown: PageDesk) -> None:
    shown.page.resize(1000, 1600)
    shown.desk.theme.body_text.toggle_wrap()
    await open_body(shown, b"a" * 90_000 + b"end", "text/plain")
    shown.detail.tabs.setCurrentIndex(RAW)
    raw = shown.detail.view.raw
    await until(lambda: raw.code.toPlainText().endswith("end"))


async def test_a_body_that_cannot_be_read_is_tried_again_only_when_asked(shown: PageDesk) -> None:
    reads: list[int] = []

    async def read(offset: int, length: int) -> bytes:
        reads.append(offset)
        raise StorageUnavailableError("The disk is gone.")

    await open_body(shown, b"1", "text/plain")
    pane, messages = shown.detail.body, shown.desk.messages
    pane.show_source(BodySource(len(PARTS), (), "multipart/form-data; boundary=b", "body", read))
    await until(messages.waiting)
    await settle()
    assert pane.unread.isVisible()
    assert reads == [0]
    messages.withdraw(messages.waiting()[0].key)


async def test_the_parts_of_a_large_text_follow_each_other_and_are_named(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("app.core.bodies.body_reader", "app.ui.inspector.body.body_pane"):
        monkeypatch.setattr(f"{module}.FORMATTED_MAX", 500_000)
    await open_body(shown, b"".join(b"line %07d\n" % n for n in range(1, 100_001)), "text/plain")
    body = shown.detail.body

    async def shows(text: str, first: int, last: int) -> None:
        await until(lambda: body.loader.ended and body.rest.text.text() == text)
        assert body.code.toPlainText().startswith(f"line {first:07d}\n")
        assert body.code.toPlainText().endswith(f"line {last:07d}")
        assert (body.code.line_count(), body.code.rows.number_text(0)) == (last, str(first))
        assert body.rest.earlier.isHidden() is (first == 1)
        assert body.rest.more.isHidden() is (last == 100_000)

    await shows("Showing the first 488 KiB of 1.2 MiB", 1, 38_461)
    assert body.rest.more.text() == "Show next part"
    body.rest.more.click()
    await shows("Showing 488 KiB after the first 488 KiB of 1.2 MiB", 38_462, 76_922)
    body.rest.more.click()
    await shows("Showing the last 293 KiB of 1.2 MiB", 76_923, 100_000)
    body.rest.earlier.click()
    await until(lambda: body.code.line_count() in range(76_900, 76_923) and body.loader.ended)


async def test_a_large_body_is_formatted_in_part_and_goes_on_as_text(
    shown: PageDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.core.bodies.body_reader.FORMATTED_MAX", 300_000)
    await open_body(shown, b"[" + ITEM * 7_000 + b"1]", "application/json")
    body = shown.detail.body
    await until(lambda: body.rest.text.text() == "Showing the first 293 KiB of 492 KiB")
    assert not body.notices.isVisible()
    assert (body.views.current(), body.rest.more.text()) == ("pretty", "Show as text")
    body.rest.more.click()
    await until(lambda: body.views.current() == "text" and body.loader.ended)
    assert body.rest.more.text() == "Show next part"
    # The view for bodies of this type is still the one it was.
    await open_body(shown, b"[1]", "application/json")
    assert body.views.current() == "pretty"


async def test_lines_that_no_view_can_hold_are_not_all_shown(shown: PageDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.ui.inspector.body.body_source.LINES_MAX", 10_000)
    await open_body(shown, b"[" + b"1," * 50_000 + b"1]", "application/json")
    body = shown.detail.body
    await until(body.rest.isVisible)
    assert body.code.line_count() in range(10_000, 16_000)
    assert body.rest.text.text() == f"Showing the first {body.code.line_count():,} lines of 98 KiB"
