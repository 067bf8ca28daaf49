"""The line below the list, and the one above its chart: their numbers stay whole in a narrow window."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.activity import Bar
from app.core.model import Counts
from tests.ui.desk import shown
from tests.ui.waiting import settle, until

SMALL = (894, 466)
"""1366 by 768 pixels at 150 %, less the frame of a window."""


@pytest.mark.usefixtures("each_font")
async def test_a_number_is_never_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        window.resize(SMALL[0], 600)
        (endpoint,) = desk.store.endpoints.all()
        for event in ("invoice.paid", "invoice.paid", "charge.failed"):
            await desk.capture(endpoint, event=event)
        monkeypatch.setattr(desk.store.captures, "counts", lambda _: Counts(total=10_000, unread=861))
        window.show_endpoint(endpoint.id)
        page = window.requests
        await until(lambda: page.feed.model.rowCount() == 3)
        for paused in (False, True):
            if page.list_footer.button.text() != ("Paused · Resume" if paused else "Pause"):
                page.list_footer.button.click()
            page.list_area.refresh()
            await settle(10)
            assert page.footer.shown_text() == page.footer.text()
            assert page.footer.text().startswith("10,000")
            assert page.footer.accessibleName().startswith("10,000 requests · 861 unread · ")
        monkeypatch.setattr(type(page.activity.source), "total", Bar(plain=9_978, failed=22))
        page.activity.source.changed.emit()
        await settle(10)
        summary = page.activity.summary
        assert summary.isVisible()
        assert summary.shown_text() == summary.text()
        assert summary.text().startswith("10,000")
        page.filter.bar.set_text("event:invoice.paid")
        await until(lambda: page.feed.model.rowCount() == 2)
        await settle(10)
        assert page.footer.shown_text() == page.footer.text()
        assert page.footer.text().startswith("2 of 10,000")
