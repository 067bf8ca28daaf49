"""What the rows of the dashboard draw."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QFontMetrics, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPushButton, QToolButton, QToolTip, QWidget

from app.core.model import DeliveryState, Endpoint, Plan, StorageUse, WhenFull
from app.core.rules import FREE_ENDPOINTS
from app.core.target import TargetDraft
from app.core.text import exact_time, size_text
from app.ui.dashboard import Heading
from app.ui.dashboard_row import HEIGHT, Columns, DashboardRow, UrlLine, unread_text
from app.ui.shell.main_window import MINIMUM, MainWindow
from app.ui.shell.sidebar import DASHBOARD
from app.ui.theme.fonts import mono_font, ui_font
from app.ui.widgets.badge import Meter
from tests.factories import after, attempt
from tests.ui.desk import Desk, shown
from tests.ui.drawn import Text, drawn
from tests.ui.on_screen import on_screen
from tests.ui.waiting import activate, settle, until


async def target_is_empty(window: MainWindow, endpoint: Endpoint) -> bool:
    await until(lambda: window.dashboard.rows.row(endpoint.id) is not None)
    await settle()
    row = window.dashboard.rows.row(endpoint.id)
    assert row is not None
    image = row.grab().toImage()
    room = Columns.of(row.width(), HEIGHT).target.adjusted(0, 4, 0, -4)
    ground = image.pixel(room.topLeft())
    return all(
        image.pixel(x, y) == ground for x in range(room.left(), room.right()) for y in range(room.top(), room.bottom())
    )


async def rows_of(window: MainWindow, *endpoints: Endpoint) -> list[DashboardRow]:
    """Once all are laid out and the window has the keyboard."""
    window.show_page(DASHBOARD)
    rows = window.dashboard.rows
    await until(lambda: all((row := rows.row(one.id)) is not None and row.isVisible() for one in endpoints))
    await activate(window)
    return [row for one in endpoints if (row := rows.row(one.id)) is not None]


@pytest.mark.usefixtures("each_font")
async def test_a_slug_is_whole_in_a_small_window(desk: Desk, window: MainWindow) -> None:
    endpoint = await desk.endpoint(name="Plain", slug="q7w3e5r8t2y6u4i9o1p0a8s7")
    for _ in range(9):  # which make a scroll bar
        await desk.endpoint()
    for size in (MINIMUM, (911, 512)):
        window.resize(*size)
        (row,) = await rows_of(window, endpoint)
        await settle()
        url = UrlLine(row.contents.url, marked=False)
        room = url.room(Columns.of(row.width(), HEIGHT).name)
        text = url.fitting_text(room.width())
        assert text.endswith(endpoint.slug), size
        assert QFontMetrics(mono_font()).horizontalAdvance(text) <= room.width(), size


async def test_all_rows_leave_out_the_same_of_their_urls(desk: Desk, window: MainWindow) -> None:
    short = await desk.endpoint(name="Short", slug="shop")
    window.resize(1280, 800)
    (row,) = await rows_of(window, short)

    def text(row: DashboardRow) -> str:
        return row.url.fitting_text(row.url.room(Columns.of(row.width(), HEIGHT).name).width())

    assert text(row) == row.contents.url
    long = await desk.endpoint(name="Long", slug="q7w3e5r8t2y6u4i9o1p0a8s7" * 2)
    rows = await rows_of(window, short, long)
    assert [text(one) for one in rows] == [short.slug, long.slug]
    await until(lambda: rows[0].height() == HEIGHT)
    end = drawn(rows[0]).text("shop").at.x() + QFontMetrics(mono_font()).horizontalAdvance("shop")
    assert 0 <= rows[0].copy_button.x() - end <= 8, "the button follows the text"


async def test_how_many_targets_there_are_is_not_cut(desk: Desk, window: MainWindow) -> None:
    endpoint = await desk.endpoint(forward_url="http://127.0.0.1:34985/webhooks")
    for port in (1, 2):
        await desk.store.targets.create(endpoint.id, TargetDraft(url=f"http://127.0.0.1:{port}/"))
    window.resize(911, 512)
    (row,) = await rows_of(window, endpoint)
    for width in range(600, 720):
        row.resize(width, HEIGHT)
        assert "+2" in drawn(row).words


async def test_the_last_hour_is_drawn(desk: Desk, window: MainWindow) -> None:
    endpoint = await desk.endpoint()
    (row,) = await rows_of(window, endpoint)
    accent = QColor(desk.theme.tokens.accent)

    def bars() -> int:
        row.resize(1000, HEIGHT)
        room, picture = Columns.of(1000, HEIGHT).activity, row.grab().toImage()
        places = ((x, y) for x in range(room.left(), room.right()) for y in range(HEIGHT))
        return sum(picture.pixelColor(*place) == accent for place in places)

    assert not bars()
    await desk.capture(endpoint)
    await until(lambda: any(row.contents.activity))
    assert bars()


async def test_a_row_draws_each_of_its_columns_below_its_title(desk: Desk, window: MainWindow) -> None:
    fields = {"name": "Shop", "description": "Orders\nof 2026", "tags": ("live",), "retention_days": 3}
    endpoint = await desk.endpoint(**fields, forward_url="http://127.0.0.1:9/hooks")
    window.resize(1600, 800)
    (row,) = await rows_of(window, endpoint)
    for _ in range(2):
        await desk.capture(endpoint)
    await until(lambda: row.contents.counts.total == 2)
    seen, tokens = drawn(row), desk.theme.tokens
    columns = {
        "Endpoint": ("Shop", row.contents.url),
        "Forwarded to": ("127.0.0.1:9/hooks",),
        "Retention": ("3 days",),
        "Requests": ("2", row.contents.last),
        "Last hour": (),
    }
    titles = drawn(window.dashboard.findChild(Heading))
    assert titles.words == list(columns)
    for title, texts in columns.items():
        places = [round(seen.text(text).at.x()) for text in texts]
        icon = 22 if title == "Forwarded to" else 0
        assert places == [round(titles.text(title).at.x()) + icon] * len(texts), title
    name, url = seen.text("Shop"), seen.text(row.contents.url)
    assert (name.bold, name.colour, url.at.y() > name.at.y()) == (True, tokens.text, True)
    assert name.at.x() < seen.text("live").at.x() < seen.text("Orders of 2026").at.x()
    assert (seen.text("2 new").bold, seen.text("2 new").colour) == (True, tokens.accent_text)
    assert seen.text("2").bold
    assert [(one.text, one.colour) for one in seen.icons][:1] == [("queued", tokens.warning)]
    activity = drawn(row, Columns.of(row.width(), HEIGHT).activity)
    assert {bar.height() for bar in activity.grounds_of(tokens.accent)} == {HEIGHT - 18 - 19}
    assert {bar.height() for bar in activity.grounds_of(tokens.border_strong)} == {2}, "the minutes without any"
    await desk.store.captures.mark_all_read(endpoint.id)
    await desk.store.endpoints.update(endpoint.id, replace(endpoint.draft(), active=False))
    await until(lambda: not row.contents.endpoint.active and not row.contents.counts.unread)
    assert "2 new" not in drawn(row).words
    assert drawn(row).text("Shop").colour == tokens.text_muted
    row.resize(600, HEIGHT)
    assert "3 days" not in drawn(row).words
    assert 560 < row.menu_button.geometry().right() < 600, "its controls follow"


async def test_a_row_says_in_colour_what_became_full_and_marks_a_url_that_may_not_work(
    desk: Desk, window: MainWindow
) -> None:
    endpoint = await desk.endpoint(name="Shop", description="Orders", storage_limit=2**20)
    window.resize(1600, 800)
    (row,) = await rows_of(window, endpoint)
    tokens = desk.theme.tokens
    before = await on_screen(row)
    await desk.store.endpoints.update(endpoint.id, replace(endpoint.draft(), name="Hops"))
    await until(lambda: row.contents.endpoint.name == "Hops")
    assert await on_screen(row) != before
    plain = drawn(row).text(row.contents.url).at
    row.show_contents(dataclasses.replace(row.contents, mark="the tunnel is off"))
    marked = drawn(row)
    assert [(one.text, one.colour) for one in marked.icons] == [("warning", tokens.warning)]
    assert plain.x() <= marked.icons[0].at.x() < marked.text(row.contents.url).at.x()
    cases: tuple[tuple[WhenFull, str, str], ...] = (
        ("stop_capturing", "Storage full: not capturing", tokens.danger),
        ("delete_oldest", "Storage full: oldest deleted", tokens.warning),
    )
    for when_full, text, colour in cases:
        use = StorageUse(used=2**20, limit=2**20, when_full=when_full, reached=True)
        row.show_contents(dataclasses.replace(row.contents, use=use))
        assert (drawn(row).text(text).bold, drawn(row).text(text).colour) == (True, colour)
        assert "Orders" not in drawn(row).words, "there is no room for both"


async def test_the_target_column_is_empty_without_a_forward_url(desk: Desk, window: MainWindow) -> None:
    plain = await desk.endpoint(name="Plain")
    forwarding = await desk.endpoint(name="Forwarding", forward_url="http://127.0.0.1:9/x")
    window.show_page(DASHBOARD)
    assert await target_is_empty(window, plain)
    assert not await target_is_empty(window, forwarding)


async def test_the_figures_say_what_came_in_and_what_the_plan_leaves(desk: Desk, window: MainWindow) -> None:
    stats, tokens = window.dashboard.stats, desk.theme.tokens

    def meters() -> int:
        return sum(one.isVisible() for one in (*stats.findChildren(Meter), *window.sidebar.findChildren(Meter)))

    def figure(title: str) -> Text:
        """What stands below the title of a cell."""
        seen = drawn(stats)
        above = seen.text(title).at
        return min(
            (one for one in seen.texts if one.at.x() == above.x() and one.at.y() > above.y()),
            key=lambda one: one.at.y(),
        )

    window.show_page(DASHBOARD)
    endpoint = await desk.endpoint(forward_url="http://127.0.0.1:9/")
    await until(lambda: "9 left · Free" in drawn(stats).words)
    assert figure("Endpoints").text == "1 of 10"
    assert "1 of 10 · Free" in drawn(window.sidebar).words
    assert meters() == 2
    assert [figure(title).text for title in ("Received", "Stored", "Failed", "Refused")] == ["0"] * 4
    capture, _ = [await desk.capture(endpoint) for _ in range(2)]
    (delivery,) = await desk.store.deliveries.of_capture(capture.id)
    made = attempt(delivery)
    await desk.store.deliveries.finish(after(delivery, made, DeliveryState.FAILED), [(made, b"")])
    await until(lambda: (figure("Stored").text, figure("Failed").text) == ("2", "1"))
    assert figure("Received").text == "2"
    assert [figure(title).colour for title in ("Failed", "Stored")] == [tokens.danger, tokens.text]
    assert "2 requests" in drawn(stats).words
    await desk.store.account.set_plan(Plan.PRO)
    await until(lambda: "no limit · Pro" in drawn(stats).words)
    assert figure("Endpoints").text == "1"
    assert "1 · Pro" in drawn(window.sidebar).words
    assert meters() == 0


@pytest.mark.usefixtures("each_font")
async def test_no_figure_is_cut_in_the_smallest_window(desk: Desk, window: MainWindow) -> None:
    window.show_page(DASHBOARD)
    window.resize(860, 400)
    endpoint = await desk.endpoint(name="Stripe")
    for _ in range(241):
        await desk.capture(endpoint)
    await desk.store.account.set_plan(Plan.PRO)
    dashboard = window.dashboard
    await until(lambda: any(text.startswith("no limit") for text in drawn(dashboard.stats).words))
    await until(lambda: any(text.startswith("241") for text in drawn(dashboard.rows).words))
    assert not [text for text in (*drawn(dashboard.stats).words, *drawn(dashboard.rows).words) if "…" in text]


async def test_tab_leads_from_row_to_row_whatever_was_made_between_them(desk: Desk, window: MainWindow) -> None:
    window.show_page(DASHBOARD)
    rows = window.dashboard.rows
    first = await desk.endpoint(name="First")
    await until(lambda: rows.row_count() == 1)
    between = QPushButton("Between", window.dashboard)
    between.show()
    row, other = await rows_of(window, first, await desk.endpoint(name="Second"))
    row.setFocus()
    QTest.keyClick(row, Qt.Key.Key_Tab)
    assert window.focusWidget() is other


async def test_a_row_is_one_tab_stop_with_arrow_keys_inside(desk: Desk, window: MainWindow) -> None:
    first, second = [await desk.endpoint(name=name) for name in ("First", "Second")]
    row, other = await rows_of(window, first, second)
    row.setFocus()
    for key, place in (
        (Qt.Key.Key_Left, row),
        (Qt.Key.Key_Right, row.switch),
        (Qt.Key.Key_Right, row.copy_button),
        (Qt.Key.Key_Right, row.menu_button),
        (Qt.Key.Key_Right, row.menu_button),
        (Qt.Key.Key_Left, row.copy_button),
        (Qt.Key.Key_Tab, other),
        (Qt.Key.Key_Backtab, row),
        (Qt.Key.Key_Down, other),
        (Qt.Key.Key_Up, row),
        (Qt.Key.Key_Right, row.switch),
    ):
        QTest.keyClick(window.focusWidget(), key)
        assert window.focusWidget() is place, key
    QTest.keyClick(row.switch, Qt.Key.Key_Space)
    await until(lambda: not desk.store.endpoints.all()[0].active)


def menu_of(widget: QWidget) -> list[str]:
    """The entries of the menu that is open, which is closed; the widget was asked for it with the right button."""
    place = widget.rect().center()
    asked = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, place, widget.mapToGlobal(place))
    QApplication.sendEvent(widget, asked)
    return open_menu()


def open_menu() -> list[str]:
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    texts = [action.text().partition("\t")[0] for action in menu.actions() if action.text()]
    menu.close()
    return texts


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
async def test_a_row_has_a_menu_and_a_tooltip_for_each_column_and_opens_its_endpoint(
    desk: Desk, window: MainWindow
) -> None:
    url = "http://127.0.0.1:9/x"
    endpoint = await desk.endpoint(
        name="<b>Shop</b>", description="Orders", tags=("live",), forward_url=url, storage_limit=2**20
    )
    window.resize(1600, 800)
    (row,) = await rows_of(window, endpoint)
    assert tip(row, "requests") == ""
    capture = await desk.capture(endpoint)
    await until(lambda: row.contents.counts.total == 1)
    used = desk.store.limits.use_of(endpoint.id).used
    assert {column: tip(row, column) for column in ("target", "requests", "retention", "activity")} == {
        "target": f"{url}\n{row.contents.look.words if row.contents.look else None}",
        "requests": f"Last request {exact_time(capture.received_at)}",
        "retention": f"{size_text(used)} of 1 MiB stored",
        "activity": "1 request in the last hour",
    }
    shown = tip(row, "name").replace("\u2060", "").splitlines()
    assert shown == ["<b>Shop</b>", "Orders", "Tags: live", row.contents.url]
    line = window.sidebar.row(endpoint.id)
    entries = menu_of(row)
    assert entries[:2] == ["Open", "Copy URL"]
    QTest.mouseClick(row.menu_button, Qt.MouseButton.LeftButton)
    assert [open_menu(), menu_of(line)] == [entries] * 2
    QTest.mouseClick(row, Qt.MouseButton.LeftButton, pos=QPoint(row.width() // 2, 6))
    assert window.requests.endpoint_id == endpoint.id


def tip(row: DashboardRow, column: str) -> str:
    """The tooltip that comes up in the middle of a column."""
    place = getattr(Columns.of(row.width(), HEIGHT), column).center()
    QApplication.sendEvent(row, QHelpEvent(QEvent.Type.ToolTip, place, row.mapToGlobal(place)))
    return QToolTip.text()


@pytest.mark.parametrize("count", [1, 4])
async def test_the_card_ends_below_its_last_row(tmp_path: Path, count: int) -> None:
    async with shown(tmp_path, endpoints=count) as (_, window):
        window.resize(1280, 900)
        rows = window.dashboard.rows
        await until(lambda: rows.row_count() == count)
        await settle()
        lowest = max(row.mapTo(rows, QPoint(0, row.height())).y() for row in rows.findChildren(DashboardRow))
        assert 0 <= rows.height() - lowest <= 8


@pytest.mark.slow
async def test_many_endpoints_can_be_filtered_and_none_stays_hidden_without_a_filter(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=FREE_ENDPOINTS - 1, plan=Plan.PRO) as (desk, window):
        rows, line, others = window.dashboard.rows, window.dashboard.filter, desk.store.endpoints.all()
        shop = await desk.endpoint(
            name="Shop", description="Orders of 2026", tags=("billing",), forward_url="http://stage.example/x"
        )
        await until(lambda: rows.row_count() == FREE_ENDPOINTS)
        assert not line.isVisible()
        await desk.endpoint(name="Other")
        await until(line.isVisible)

        def listed() -> list[int]:
            every = [(one.id, rows.row(one.id)) for one in desk.store.endpoints.all()]
            return [number for number, row in every if row is not None and row.isVisible()]

        await until(lambda: len(listed()) == FREE_ENDPOINTS + 1)
        height = rows.height()
        for text in (" SHOP ", "orders of", "Billing", "stage.example", shop.slug):
            line.setText(text)
            assert listed() == [shop.id], text
        await until(lambda: rows.height() < height)
        assert not nothing_fits(window)
        line.setText("nowhere")
        assert listed() == []
        assert nothing_fits(window)
        await until(lambda: "No endpoints match the filter." in drawn(rows).words)
        (told,) = (one for one in drawn(rows).texts if one.text.startswith("No endpoints match"))
        assert told.at.x() >= 16, "it is not at the edge of the card"
        (clear,) = line.findChildren(QToolButton)
        assert clear.accessibleName() == "Clear"
        made = await desk.endpoint(name="Nowhere else")
        await until(lambda: listed() == [made.id])
        assert not nothing_fits(window)
        await desk.store.endpoints.update(shop.id, replace(shop.draft(), name="Nowhere at all"))
        await until(lambda: listed() == [shop.id, made.id])
        await desk.store.endpoints.update(shop.id, shop.draft())
        await until(lambda: listed() == [made.id])
        assert not nothing_fits(window)
        for number in (made.id, *(one.id for one in others[:3])):
            await desk.store.endpoints.delete(number)
        await until(lambda: rows.row_count() < FREE_ENDPOINTS)
        assert line.isVisible(), "nobody could tell why the others are hidden"
        assert nothing_fits(window)
        line.clear()
        await until(lambda: len(listed()) == rows.row_count())
        assert not nothing_fits(window)


def nothing_fits(window: MainWindow) -> bool:
    return any(one.isVisible() and "No endpoints match" in one.text() for one in window.findChildren(QLabel))


def test_an_unread_count_is_shortened_where_room_is_short(qapp: QApplication) -> None:
    font = ui_font()
    assert unread_text(1_234_567, 400, font) == "1,234,567 new"
    fm = QFontMetrics(font)
    assert unread_text(1_234_567, fm.horizontalAdvance("1M new") + 1, font) == "1M new"
    assert unread_text(1_234_567, fm.horizontalAdvance("1M new") - 1, font) == "1M"
    assert unread_text(241, fm.horizontalAdvance("241 n…"), font) == "241", "no cut words"
