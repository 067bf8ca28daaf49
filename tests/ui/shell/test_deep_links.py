"""What a start asks of the window is done, and what cannot be done is told in the bar."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter

from app.core.ids import new_slug, uuid7
from app.core.links import EndpointLink, LaunchAction, LaunchRequest, RequestLink, link_to_request
from app.ui.about_dialog import AboutDialog
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.deep_links import DeepLinks
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.dialog import Dialog, Question
from tests.ui.desk import Desk, open_desk, shown
from tests.ui.waiting import settle, until, wait_for_widget

MINE = "1.2.3"
pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)  # without a display none can


def shown_id(window: MainWindow) -> str | None:
    """Of the request that is shown."""
    capture = window.requests.detail.capture
    return capture.id if capture is not None else None


@asynccontextmanager
async def wishing(folder: Path, **store: Any) -> AsyncIterator[tuple[Desk, MainWindow, DeepLinks]]:
    """A window, and what does wishes to it."""
    async with shown(folder, **store) as (desk, window):
        yield desk, window, DeepLinks(desk.services, desk.tasks, window)


def told(window: MainWindow) -> str:
    """What the bar says."""
    message = window.error_bar.message()
    return f"{message.text} {message.advice}" if message and window.error_bar.isVisible() else ""


async def test_a_request_is_opened_in_its_endpoints_list_with_its_detail(tmp_path: Path) -> None:
    async with wishing(tmp_path, endpoints=2) as (desk, window, wishes):
        first, second = desk.store.endpoints.all()
        await desk.capture(first)
        sought = await desk.capture(second)
        window.showMinimized()
        wishes.handle_launch(LaunchRequest(MINE, RequestLink(id=sought.id)))
        await until(lambda: window.requests.detail.capture is not None)
        assert not window.windowState() & Qt.WindowState.WindowMinimized
        assert window.pages.currentWidget() is window.requests
        assert window.requests.endpoint_id == second.id
        assert window.sidebar.row(second.id).isChecked()
        await until(lambda: window.requests.list.current() is not None)
        assert [one.id for one in window.requests.list.selected()] == [sought.id]
        assert told(window) == ""


async def test_what_is_gone_is_told_until_a_link_leads_somewhere(tmp_path: Path) -> None:
    async with wishing(tmp_path, endpoints=1) as (desk, window, wishes):
        endpoint = desk.store.endpoints.all()[0]
        gone = await desk.capture(endpoint)
        await desk.store.captures.delete([gone.id])
        wishes.handle(RequestLink(id=gone.id))
        await until(lambda: "linked request no longer exists" in told(window))
        assert "Its retention is over, or it or its endpoint was deleted." in told(window)
        assert str(tmp_path) in told(window)
        slug = new_slug()
        wishes.handle(EndpointLink(slug=slug))
        assert f"The endpoint “{slug}” no longer exists." in told(window)
        assert len(desk.messages.waiting()) == 1
        wishes.handle(EndpointLink(slug=endpoint.slug))
        assert window.requests.endpoint_id == endpoint.id
        assert told(window) == ""


async def test_a_request_of_a_deleted_endpoint_is_gone_too(tmp_path: Path) -> None:
    async with wishing(tmp_path, endpoints=1) as (desk, window, wishes):
        capture = await desk.capture(desk.store.endpoints.all()[0])
        await desk.store.endpoints.delete(capture.endpoint_id)
        wishes.handle(RequestLink(id=capture.id))
        await until(lambda: "no longer exists" in told(window))


async def test_what_a_link_gives_is_seen_before_older_messages(tmp_path: Path) -> None:
    async with wishing(tmp_path) as (_, window, wishes):
        wishes.handle_launch(LaunchRequest("9.0", EndpointLink(slug=new_slug())))
        assert "The endpoint" in told(window)
        window.error_bar.dismiss()
        assert "Hookline 9.0 was started" in told(window)


@pytest.mark.usefixtures("no_time_to_undo")
async def test_a_link_that_comes_while_a_deletion_is_asked_for_keeps_its_request_open(tmp_path: Path) -> None:
    async with wishing(tmp_path, endpoints=2) as (desk, window, wishes):
        first, second = desk.store.endpoints.all()
        doomed, *_ = [await desk.capture(first) for _ in range(3)]
        *_, linked = [await desk.capture(second) for _ in range(3)]
        wishes.handle(RequestLink(id=doomed.id))
        await until(lambda: shown_id(window) == doomed.id)
        await until(lambda: window.requests.list.model().rowCount() == 3)
        window.requests.list.selectAll()
        await settle()
        window.requests.commands.selected.delete.trigger()
        question = await wait_for_widget(Question, window)
        wishes.handle(RequestLink(id=linked.id))
        await until(lambda: shown_id(window) == linked.id)
        question.accept()
        await until(lambda: desk.store.captures.counts(first.id).total == 0)
        await settle(10)
        assert shown_id(window) == linked.id
        assert [one.id for one in window.requests.list.selected()] == [linked.id]


@pytest.mark.slow
async def test_a_link_closes_what_only_shows_something(tmp_path: Path) -> None:
    async with wishing(tmp_path, endpoints=1) as (desk, window, wishes):
        link = EndpointLink(slug=desk.store.endpoints.all()[0].slug)
        window.dialogs.open_settings()
        (settings,) = window.findChildren(SettingsDialog)
        settings.show_about()
        (about,) = window.findChildren(AboutDialog)
        about.show_licences()
        wishes.handle(LaunchAction.SHOW)
        assert about.isVisible()
        wishes.handle(link)
        await until(lambda: not window.findChildren(Dialog))
        assert window.requests.endpoint_id is not None
        window.dialogs.open_settings()
        (settings,) = window.findChildren(SettingsDialog)
        settings.form["base_url"].setText("https://hooks.example.org")
        wishes.handle(link)
        await settle(10)
        assert settings.isVisible()
        settings.reject()


async def test_of_several_links_the_last_is_opened(tmp_path: Path) -> None:
    async with wishing(tmp_path, endpoints=2) as (desk, window, wishes):
        first, second = desk.store.endpoints.all()
        captures = [await desk.capture(endpoint) for endpoint in (first, second, first)]
        for capture in captures:
            wishes.handle(RequestLink(id=capture.id))
        await until(lambda: shown_id(window) == captures[-1].id)
        wishes.handle(RequestLink(id=captures[0].id))
        wishes.handle(EndpointLink(slug=second.slug))
        await settle(10)
        assert window.requests.endpoint_id == second.id
        assert window.requests.detail.capture is None


async def test_a_new_endpoint_opens_the_form_once_and_a_full_plan_says_so(tmp_path: Path) -> None:
    async with wishing(tmp_path) as (desk, window, wishes):
        for _ in range(2):
            wishes.handle_launch(LaunchRequest(MINE, LaunchAction.NEW_ENDPOINT))
            await settle()
        dialogs = window.findChildren(EndpointDialog)
        assert [dialog.isVisible() for dialog in dialogs] == [True]
        dialogs[0].reject()
        await settle()
        for _ in range(10):
            await desk.endpoint()
        wishes.handle_launch(LaunchRequest(MINE, LaunchAction.NEW_ENDPOINT))
        await until(window.toast.isVisible)


async def test_a_start_at_login_leaves_the_window_as_it_is(tmp_path: Path) -> None:
    async with wishing(tmp_path) as (_, window, wishes):
        window.showMinimized()
        wishes.handle_launch(LaunchRequest(MINE, LaunchAction.STAY))
        assert window.windowState() & Qt.WindowState.WindowMinimized
        assert told(window) == ""
        wishes.handle_launch(LaunchRequest(MINE, LaunchAction.SHOW))
        assert not window.windowState() & Qt.WindowState.WindowMinimized


async def test_a_start_of_another_version_is_told_of_once(tmp_path: Path) -> None:
    async with wishing(tmp_path) as (desk, window, wishes):
        for _ in range(2):
            wishes.handle_launch(LaunchRequest("9.0", LaunchAction.SHOW))
        assert told(window) == (
            "Hookline 9.0 was started while 1.2.3 is running. Close Hookline and start it again to use 9.0."
        )
        assert len(desk.messages.waiting()) == 1


async def test_what_the_system_hands_on_is_opened_or_told_to_be_no_link(tmp_path: Path) -> None:
    async with wishing(tmp_path, endpoints=1) as (desk, window, wishes):
        window.dialogs.open_settings()
        wishes.open_text("file:///tmp/letter.txt")
        assert "not a Hookline link" in told(window)
        await until(lambda: not window.findChildren(Dialog))  # it would cover the message
        capture = await desk.capture(desk.store.endpoints.all()[0])
        wishes.open_text(link_to_request(capture.id) + "/")
        await until(lambda: shown_id(window) == capture.id)
        assert told(window) == ""
        wishes.open_text(link_to_request(uuid7(5)))
        await until(lambda: "no longer exists" in told(window))


async def test_a_window_that_was_never_more_than_an_icon_forgets_no_size(tmp_path: Path) -> None:
    async with open_desk(tmp_path, endpoints=1) as desk:
        seen: list[tuple[int, list[int]]] = []
        for start in ("show", "showMinimized", "showMinimized", "show"):
            window = desk.window()
            if not seen:
                window.resize(960, 666)
            getattr(window, start)()
            await settle()
            frame = window.findChild(QSplitter, "frame")
            assert isinstance(frame, QSplitter)
            if not seen:
                frame.setSizes([225, 734])
            if start == "show":
                seen.append((window.height(), frame.sizes()))
            window.close()
            window.deleteLater()
            await settle()
        assert seen[0][0] == 666
        assert seen[0][1][0] == 225
        assert seen[1] == seen[0]
