"""Every place that shows a capture URL shows it as it is now, also where it changes while that is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from app.core.events import NodesChanged
from app.ui.about_dialog import AboutDialog
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.endpoints.qr_dialog import QrDialog
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.shell.sidebar import DASHBOARD
from tests.ui.desk import Desk, shown
from tests.ui.tunnels import URL


async def by_settings(desk: Desk) -> None:
    await desk.change_settings({"base_url": URL})


async def by_nodes(desk: Desk) -> None:
    desk.settings = replace(desk.settings, base_url=URL)
    desk.bus.publish(NodesChanged())


async def by_tunnel(desk: Desk) -> None:
    desk.tunnels.come_up(URL)


@pytest.mark.parametrize("change", [by_settings, by_nodes, by_tunnel])
async def test_every_place_follows_the_capture_url(tmp_path: Path, change: Callable[[Desk], Awaitable[None]]) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        (endpoint,) = desk.store.endpoints.all()
        window.show_endpoint(endpoint.id)
        window.show_page(DASHBOARD)
        usual = (window.services, desk.theme, desk.tasks, window)
        about, form = AboutDialog(*usual), EndpointDialog(*usual, endpoint)
        targets, qr = TargetsDialog(*usual, endpoint), QrDialog(*usual, endpoint)
        await change(desk)
        row = window.dashboard.rows.row(endpoint.id)
        assert row is not None
        shows = {
            "dashboard": row.contents.url,
            "page": window.requests.header.url.text(),
            "form": form.url.text(),
            "targets": targets.subtitle.text().partition(" · ")[2].partition(" ")[0],
            "QR code": qr.url.text(),
            "about": about.base_url.text() + f"/catch/{endpoint.slug}",
        }
        assert shows == dict.fromkeys(shows, f"{URL}/catch/{endpoint.slug}")
        for dialog in (about, form, targets, qr):
            dialog.done(0)
