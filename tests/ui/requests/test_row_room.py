"""What the parts of a row get of its width in a window of 1280 pixels, whose list is 436 wide."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QRect
from PySide6.QtGui import QColor, QFontMetrics, QImage, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from app.core.clock import DAY_US, now_us
from app.ui.requests.list.delegate import NARROW, PROVIDER_LEFT, ROW, SIZE_GAP, ground_of
from app.ui.theme.fonts import SMALL, ui_font
from app.ui.theme.tokens import LIGHT
from tests.ui.on_screen import on_screen
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import until

State = QStyle.StateFlag

WIDTH = 436
GIST = "JSON · id, type, created, data, livemode, api_version"
PATHS = ("/inventory/eu-west/berlin", "/inventory/eu-west/munich", "/inventory/eu-west/lisbon")


def painted(shown: PageDesk, row: int, state: State = State.State_None, width: int = WIDTH) -> QImage:
    """A row from its method to where its size begins in a list that is `WIDTH` wide."""
    delegate = shown.list.request_delegate
    picture = QImage(width, ROW, QImage.Format.Format_RGB32)
    option = QStyleOptionViewItem()
    option.rect, option.state = QRect(0, 0, width, ROW), state
    painter = QPainter(picture)
    delegate.paint(painter, option, shown.model.index(row))
    painter.end()
    return picture.copy(20, 0, delegate.time_rect(QRect(0, 0, WIDTH, ROW)).left() - 60 - 20, ROW)


@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
@pytest.mark.parametrize(
    "fields",
    [{"gist": GIST}, {"provider": "stripe", "event": "customer.subscription.trial_will_end"}],
    ids=["gist", "event"],
)
async def test_rows_that_differ_in_the_end_of_their_path_look_different(
    fields: dict[str, str], read: bool, shown: PageDesk
) -> None:
    await shown.add()  # the first one is read as it opens
    for path in (*PATHS, PATHS[0]):
        await shown.add(target=f"/catch/x{path}", read=read, **fields)
    await until(lambda: shown.model.rowCount() == 5)
    for state in (State.State_None, State.State_MouseOver, State.State_Selected):
        again, *others = (painted(shown, row, state) for row in range(4))
        assert again == others[-1], state
        assert all(one != other for at, one in enumerate(others) for other in others[at + 1 :]), state


@pytest.mark.parametrize(("gist", "path"), [("PNG", "/orders/created/x"), ("JSON · id, type, data", "/a")])
async def test_nothing_is_cut_that_has_room(gist: str, path: str, shown: PageDesk) -> None:
    await shown.add(target=f"/catch/x{path}", gist=gist)
    await until(lambda: shown.model.rowCount() == 1)
    assert painted(shown, 0) == painted(shown, 0, width=2 * WIDTH)


async def test_a_narrow_row_with_an_endpoint_has_the_method_and_not_the_mark_of_the_provider(shown: PageDesk) -> None:
    fields = {"event": "customer.subscription.trial_will_end", "target": "/catch/x/a", "read": True}
    await shown.add(provider="github", **fields)
    await shown.add(provider="stripe", **fields)
    await shown.add(provider="stripe", method="DELETE", **fields)
    shown.page.show_endpoint(None)
    await until(lambda: shown.model.rowCount() == 3)
    delete, stripe, github = (painted(shown, row, width=NARROW - 1) for row in range(3))
    assert stripe == github
    assert stripe != delete
    assert painted(shown, 1, width=NARROW) != painted(shown, 2, width=NARROW)


@pytest.mark.usefixtures("each_font")
async def test_a_row_without_room_for_what_came_in_shows_the_whole_path(shown: PageDesk) -> None:
    for gist, path in ((GIST, "/orders/8"), ("XML · invoice, customer, lines", "/orders/8"), (GIST, "/orders/9")):
        await shown.add(target=f"/catch/x{path}", gist=gist, read=True)
    await until(lambda: shown.model.rowCount() == 3)
    another_path, another_gist, one = (painted(shown, row, width=290) for row in range(3))
    assert one == another_gist
    assert one != another_path
    assert painted(shown, 2) != painted(shown, 1)


def names_end(shown: PageDesk, width: int = WIDTH) -> int:
    """How many pixels the names of endpoints and the gap behind them take: the mark of the provider follows."""
    picture = painted(shown, 0, width=width)
    mark = QColor(ground_of("#635bff", LIGHT)).rgb()
    left = next(x for x in range(picture.width()) if picture.pixel(x, ROW // 2 - 7) == mark)
    return left + 20 - PROVIDER_LEFT


@pytest.mark.usefixtures("each_font")
async def test_the_column_of_endpoints_is_as_wide_as_their_names_within_a_limit(tmp_path: Path) -> None:
    async with open_page(tmp_path, name="Orders") as shown:
        fields = {"provider": "stripe", "event": "invoice.paid"}
        other = await shown.desk.endpoint(name="Warehouse")
        endless = await shown.desk.endpoint(name="Everything that the warehouse sends us by night")
        widths = QFontMetrics(ui_font(SMALL))
        shown.page.show_endpoint(None)
        await shown.add(**fields)
        await until(lambda: shown.model.rowCount() == 1)
        short = names_end(shown) - widths.horizontalAdvance("Orders")
        assert 8 <= short <= 20
        await shown.add(endpoint_id=other.id, **fields)
        await until(lambda: shown.model.rowCount() == 2)
        assert names_end(shown) - widths.horizontalAdvance("Warehouse") == short
        await shown.add(endpoint_id=endless.id, **fields)
        await until(lambda: shown.model.rowCount() == 3)
        assert 80 <= names_end(shown) <= 110
        assert 150 <= names_end(shown, 3 * WIDTH) <= 180


async def test_the_column_of_endpoints_follows_a_new_name(tmp_path: Path) -> None:
    async with open_page(tmp_path, name="Orders of the warehouse") as shown:
        shown.page.show_endpoint(None)
        await shown.add(provider="stripe", event="invoice.paid")
        await until(lambda: shown.model.rowCount() == 1)
        before = names_end(shown)
        await shown.desk.store.endpoints.update(shown.endpoint.id, replace(shown.endpoint.draft(), name="A"))
        await until(lambda: names_end(shown) < before - 40)


async def test_another_name_that_is_as_long_is_shown_at_once(tmp_path: Path) -> None:
    async with open_page(tmp_path, name="stop") as shown:
        shown.page.show_endpoint(None)
        await shown.add(received_at=now_us() - 3 * DAY_US, read=True)  # its age does not change meanwhile
        await until(lambda: shown.model.rowCount() == 1)
        before = await on_screen(shown.list.viewport())
        await shown.desk.store.endpoints.update(shown.endpoint.id, replace(shown.endpoint.draft(), name="pots"))
        assert await on_screen(shown.list.viewport()) != before


@pytest.mark.parametrize("month", [5, 11])
async def test_a_date_stands_apart_from_the_size(month: int, shown: PageDesk) -> None:
    await shown.add(received_at=int(datetime(2020, month, 28, tzinfo=UTC).timestamp()) * 1_000_000, read=True)
    await until(lambda: shown.model.rowCount() == 1)
    delegate, rect = shown.list.request_delegate, QRect(0, 0, WIDTH, ROW)
    picture = QImage(WIDTH, ROW, QImage.Format.Format_RGB32)
    option = QStyleOptionViewItem()
    option.rect = rect
    painter = QPainter(picture)
    delegate.paint(painter, option, shown.model.index(0))
    painter.end()
    gap = picture.copy(delegate.time_rect(rect).left() - SIZE_GAP + 1, 4, 4, ROW - 8)
    ground = gap.pixelColor(0, 0)
    assert all(gap.pixelColor(x, y) == ground for x in range(gap.width()) for y in range(gap.height()))
