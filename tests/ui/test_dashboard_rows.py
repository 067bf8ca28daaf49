"""What the rows of the dashboard draw."""

from __future__ import annotations

from app.core.model import Endpoint
from app.ui.dashboard.row import HEIGHT, Columns
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import DASHBOARD
from tests.ui.desk import Desk
from tests.ui.waiting import settle, until


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


async def test_the_target_column_is_empty_without_a_forward_url(desk: Desk, window: MainWindow) -> None:
    plain = await desk.endpoint(name="Plain")
    forwarding = await desk.endpoint(name="Forwarding", forward_url="http://127.0.0.1:9/x")
    window.show_page(DASHBOARD)
    assert await target_is_empty(window, plain)
    assert not await target_is_empty(window, forwarding)
