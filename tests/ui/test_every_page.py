"""Every page and dialog, in small and large windows, with all notices, long names and long URLs: nothing is cut,
covered, too faint or without a name of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtWidgets import QDialog

from app.core.model import Capture, Endpoint, Plan
from app.core.replay import MatchingRequests
from app.core.target import TargetDraft
from app.core.team import StoreChoice
from app.ui.about_dialog import AboutDialog, LicencesDialog
from app.ui.comparison.dialog import ComparisonDialog
from app.ui.comparison.requests_dialog import RequestsDialog
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.endpoints.qr_dialog import QrDialog
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.inspector.request_view import INFO
from app.ui.messages import Message
from app.ui.open_store_dialog import OpenStoreDialog
from app.ui.replay.replay_editor import ReplayEditor
from app.ui.replay.replay_many_dialog import ReplayManyDialog
from app.ui.replay.request_editors import load_request
from app.ui.requests.saved_filters import NameDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MINIMUM, MainWindow
from app.ui.shell.sidebar import ALL_DELIVERIES, ALL_REQUESTS, DASHBOARD, REFUSED, REPLAYS, TUNNEL
from tests.ui.desk import Desk, open_desk, shown_over
from tests.ui.layout_faults import layout_faults
from tests.ui.waiting import settle, until

NAMES = ("W" * 97, "Stripe test", "مرحبا بالعالم " * 5)
LONG_URL = "https://hooks.example.org/" + "long/" * 390
PAGES = (DASHBOARD, ALL_REQUESTS, ALL_DELIVERIES, REPLAYS, REFUSED, TUNNEL)
pytestmark = [
    pytest.mark.usefixtures("each_font"),
    pytest.mark.qt_log_ignore("This plugin does not support"),
    pytest.mark.slow,
]


@asynccontextmanager
async def crowded(folder: Path) -> AsyncIterator[tuple[Desk, Endpoint, list[Capture]]]:
    """40 endpoints, 12 targets of which one is paused, requests with long targets, and every notice of the window."""
    async with open_desk(folder, plan=Plan.PRO) as desk:
        for number in range(40):
            name = f"{NAMES[number % len(NAMES)]} {number}"
            await desk.endpoint(name=name, description="Payments of the shop, as the accounting team sees them. " * 4)
        first = desk.store.endpoints.all()[0]
        for number in range(12):
            target = await desk.store.targets.create(first.id, TargetDraft(url=f"{LONG_URL}{number}"))
        await desk.store.targets.pause(target.id)
        captures = []
        for number in range(12):
            headers = (("Content-Type", "application/json"), ("X-Long", "value " * 200))
            captures.append(await desk.capture(first, target=f"/catch/x/{'y' * 1_900}/{number}", headers=headers))
        for text in ("The disk is full, and nothing is captured. " * 3, "The port is taken."):
            desk.messages.post(Message(text=text, advice="Free some space on the disk, then try again."))
        desk.tunnels.come_up(f"https://{'long-' * 30}name.example", problem="It does not answer. " * 12)
        endpoint = desk.store.endpoints.by_id(first.id)
        assert endpoint is not None
        try:
            yield desk, endpoint, captures
        finally:
            for message in desk.messages.waiting():
                desk.messages.withdraw(message.key)


async def test_every_page_and_dialog(tmp_path: Path) -> None:
    async with crowded(tmp_path) as (desk, endpoint, captures), shown_over(desk) as window:
        for size, theme in ((MINIMUM, "light"), ((911, 512), "dark"), ((1280, 800), "light")):
            desk.theme.set_choice(theme)
            window.resize(*size)
            for page in PAGES:
                window.show_page(page)
                await still(desk)
                assert layout_faults(window) == set(), (size, page)
            window.show_endpoint(endpoint.id)
            await until(window.requests.list.isVisible)
            await still(desk)
            assert layout_faults(window) == set(), (size, "list")
            window.requests.go_to(captures[3])
            detail = window.requests.detail
            await until(detail.header.isVisible)
            for tab in range(INFO + 1):
                detail.tabs.setCurrentIndex(tab)
                await still(desk)
                assert layout_faults(window) == set(), (size, detail.tabs.tabText(tab))
            if size == MINIMUM:
                continue
            for make in await dialogs(desk, window, endpoint, captures):
                before = desk.followed()
                dialog = make()
                dialog.open()
                await still(desk)
                assert layout_faults(dialog) == set(), (size, type(dialog).__name__)
                dialog.done(0)
                await settle()
                assert desk.followed() == before, f"{type(dialog).__name__} follows events although it was closed"
            window.commands.palette.open()
            await settle()
            assert layout_faults(window) == set(), (size, "palette")
            window.commands.palette.dismiss()


async def dialogs(
    desk: Desk, window: MainWindow, endpoint: Endpoint, captures: list[Capture]
) -> list[Callable[[], QDialog]]:
    usual = desk.services, desk.theme, desk.tasks
    request = await load_request(captures[0].id, desk.services)
    assert request is not None

    def form_with_more() -> QDialog:
        dialog = EndpointDialog(*usual, window, endpoint)
        dialog.form.show_more(True)
        return dialog

    return [
        form_with_more,
        partial(EndpointDialog, *usual, window),
        partial(TargetsDialog, *usual, window, endpoint),
        partial(SettingsDialog, *usual, window, window.desktop),
        partial(AboutDialog, *usual, window),
        partial(LicencesDialog, desk.services.about, desk.theme, desk.tasks, window),
        partial(QrDialog, *usual, window, endpoint),
        partial(ReplayEditor, request, *usual, window),
        partial(ReplayManyDialog, MatchingRequests(query="word"), *usual, window),
        partial(ComparisonDialog, endpoint, *usual, window),
        partial(RequestsDialog, (captures[1], captures[0]), *usual, window),
        partial(NameDialog, "method:POST status:500", set(), desk.theme, window),
        partial(OpenStoreDialog, *usual, window, StoreChoice()),
    ]


async def still(desk: Desk) -> None:
    """What was begun is done, and laid out."""
    await settle()
    await until(lambda: not desk.tasks.running())
    await settle(10)
