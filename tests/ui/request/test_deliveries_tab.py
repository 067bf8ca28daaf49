"""The Deliveries tab: where a request was really sent, and what came back."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtGui import QGuiApplication

from app.core.model import DeliveryState
from app.ui.request.tabs.tabs import DELIVERIES
from tests.ui.requests.page_desk import open_page
from tests.ui.waiting import until

Run = Callable[[Coroutine[Any, Any, Any]], Any]


def test_the_url_shown_and_copied_is_the_one_requested(run: Run, tmp_path: Path) -> None:
    async def check() -> None:
        async with open_page(tmp_path, forward_url="http://127.0.0.1:9/hook?own=1") as shown:
            store, mirror = shown.desk.store, shown.detail.mirror
            sent = await shown.desk.capture(shown.endpoint, target="/catch/x/orders/a%2Fb?id=1&id=2")
            (delivery,) = await store.deliveries.of_capture(sent.id)
            answered = msgspec.structs.replace(
                delivery, state=DeliveryState.DELIVERED, status=204, ms=12.0, response_headers=(("X-A", "1"),)
            )
            await store.deliveries.finish(answered, b"")
            shown.page.open_request(sent.id)
            shown.detail.tabs.setCurrentIndex(DELIVERIES)
            url = "http://127.0.0.1:9/hook/orders/a%2Fb?own=1&id=1&id=2"
            await until(lambda: mirror.url.text() == url)
            mirror._copy.click()
            assert QGuiApplication.clipboard().text() == url
            assert mirror.facts.text().startswith("Response 204 · 12 ms")
            assert [button.text() for button in mirror.parts._buttons.values()] == [
                "Response body",
                "Response headers 1",
            ]

    run(check())
