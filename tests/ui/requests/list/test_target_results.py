"""What a row's tooltip and its text for screen readers say of several targets."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from app.core.delivery import Delivery
from app.core.model import DeliveryState
from app.core.target import TargetDraft
from app.ui.requests.list.delegate import targets_text
from tests.deliveries import NO_CONNECTION, finish
from tests.factories import attempt
from tests.ui.requests.page_desk import PageDesk, open_page
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

DELIVERED, FAILED, QUEUED = DeliveryState.DELIVERED, DeliveryState.FAILED, DeliveryState.QUEUED


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ((), ""),
        ((FAILED,), ""),
        ((FAILED, FAILED), ""),
        ((DELIVERED, FAILED), "1 of 2 targets failed, 1 delivered"),
        ((QUEUED, DELIVERED, DELIVERED), "1 of 3 targets waiting, 2 delivered"),
        ((QUEUED, DELIVERED, DeliveryState.NOT_SENT), "1 of 3 targets not sent, 1 waiting, 1 delivered"),
        ((QUEUED, DELIVERED, FAILED, FAILED), "2 of 4 targets failed, 1 waiting, 1 delivered"),
    ],
)
def test_targets_that_differ_are_counted(states: tuple[DeliveryState, ...], text: str) -> None:
    def delivery(state: DeliveryState, replay_id: str | None = None) -> Delivery:
        return Delivery(
            id="1", capture_id="2", endpoint_id=3, url="", state=state, queued_at=4, target_id=5, replay_id=replay_id
        )

    assert targets_text([delivery(DELIVERED, "6"), *map(delivery, states)]) == text


async def two_results(shown: PageDesk) -> list[Delivery]:
    """The deliveries of a new request: to the first target delivered, to the second failed."""
    store = shown.desk.store
    await store.targets.create(shown.endpoint.id, TargetDraft(url="http://127.0.0.1:9/two"))
    endpoint = store.endpoints.by_id(shown.endpoint.id)
    assert endpoint is not None
    capture = await shown.desk.capture(endpoint)
    one, two = await store.deliveries.of_capture(capture.id)
    await finish(store, one, DELIVERED, attempt(one))
    await finish(store, two, FAILED, attempt(two, **NO_CONNECTION))
    await until(lambda: shown.model.rowCount() == 1 and shown.model.summary(0).delivery is FAILED)
    return [one, two]


async def test_the_cursors_row_says_how_each_target_went(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/one") as shown:
        (_, two) = await two_results(shown)
        shown.list.setCurrentIndex(shown.model.index(0))
        await until(lambda: str(shown.model.index(0).data()).endswith(", 1 of 2 targets failed, 1 delivered"))
        await finish(shown.desk.store, two, DELIVERED, attempt(two, 2))
        await until(lambda: str(shown.model.index(0).data()).endswith(", forwarded"))


async def test_the_tooltip_says_how_each_target_went(tmp_path: Path) -> None:
    async with open_page(tmp_path, forward_url="http://127.0.0.1:9/one") as shown:
        (_, two) = await two_results(shown)
        await shown.add()
        await until(lambda: shown.model.rowCount() == 2)
        shown.list.setCurrentIndex(shown.model.index(0))  # of the cursor's row it is known without a tooltip
        await finish(shown.desk.store, two, FAILED, attempt(two, 2, **NO_CONNECTION))
        place = QPoint(200, shown.list.visualRect(shown.model.index(1)).center().y())

        def tooltip() -> str:
            viewport = shown.list.viewport()
            event = QHelpEvent(QHelpEvent.Type.ToolTip, place, viewport.mapToGlobal(place))
            QApplication.sendEvent(viewport, event)
            return QToolTip.text()

        await until(lambda: "1 of 2 targets failed, 1 delivered" in tooltip())
        QToolTip.hideText()
        await settle()
