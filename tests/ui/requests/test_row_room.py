"""What the parts of a row get of its width in a window of 1280 pixels, whose list is 436 wide."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from app.ui.requests.list.delegate import ROW
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import until

Run = Callable[[Coroutine[Any, Any, Any]], Any]
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


@pytest.mark.parametrize(
    "state", [State.State_None, State.State_MouseOver, State.State_Selected], ids=["plain", "hovered", "selected"]
)
@pytest.mark.parametrize("read", [False, True], ids=["unread", "read"])
@pytest.mark.parametrize(
    "fields",
    [{"gist": GIST}, {"provider": "stripe", "event": "customer.subscription.trial_will_end"}],
    ids=["gist", "event"],
)
def test_rows_that_differ_in_the_end_of_their_path_look_different(
    run: Run, tmp_path: Path, fields: dict[str, str], read: bool, state: State
) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            await shown.add()  # the first one is read as it opens
            for path in (*PATHS, PATHS[0]):
                await shown.add(target=f"/catch/x{path}", read=read, **fields)
            await until(lambda: shown.model.rowCount() == 5)
            again, *others = (painted(shown, row, state) for row in range(4))
            assert again == others[-1]
            assert all(one != other for at, one in enumerate(others) for other in others[at + 1 :])

    run(check())


@pytest.mark.parametrize(("gist", "path"), [("PNG", "/orders/created/x"), ("JSON · id, type, data", "/a")])
def test_nothing_is_cut_that_has_room(run: Run, tmp_path: Path, gist: str, path: str) -> None:
    async def check() -> None:
        async with open_page(tmp_path) as shown:
            await shown.add(target=f"/catch/x{path}", gist=gist)
            await until(lambda: shown.model.rowCount() == 1)
            assert painted(shown, 0) == painted(shown, 0, width=2 * WIDTH)

    run(check())
