"""Capture URLs in the window follow the tunnel, and each copy of one is noted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtGui import QGuiApplication

from app.core.tunnel import TunnelState
from app.ui.about_dialog import AboutDialog
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import DASHBOARD
from app.ui.widgets.buttons import CopyButton
from tests.ui.desk import BASE, Desk, shown
from tests.ui.tunnels import URL
from tests.ui.waiting import settle, until


async def of_header(desk: Desk, window: MainWindow) -> Callable[[], str]:
    window.show_endpoint(desk.store.endpoints.all()[0].id)
    return window.requests.header.url.text


async def of_empty_list(desk: Desk, window: MainWindow) -> Callable[[], str]:
    window.show_endpoint(desk.store.endpoints.all()[0].id)
    return lambda: window.requests.list_area.empty.copy.text_to_copy


async def of_dashboard(desk: Desk, window: MainWindow) -> Callable[[], str]:
    row = window.dashboard.rows.row(desk.store.endpoints.all()[0].id)
    assert row is not None
    return lambda: row.contents.url


async def of_dashboard_title(desk: Desk, window: MainWindow) -> Callable[[], str]:
    return window.dashboard.about.text


async def of_form(desk: Desk, window: MainWindow) -> Callable[[], str]:
    window.endpoint_actions.edit(desk.store.endpoints.all()[0])
    return window.findChildren(EndpointDialog)[-1].url.text


async def of_targets(desk: Desk, window: MainWindow) -> Callable[[], str]:
    window.endpoint_actions.edit_targets(desk.store.endpoints.all()[0])
    return window.findChildren(TargetsDialog)[-1].subtitle.text


async def of_about(desk: Desk, window: MainWindow) -> Callable[[], str]:
    window.dialogs.open_about()
    return window.findChildren(AboutDialog)[-1].base_url.text


async def test_every_place_follows_the_tunnel(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        places = (of_header, of_empty_list, of_dashboard, of_dashboard_title, of_form, of_targets, of_about)
        texts = {place.__name__: await place(desk, window) for place in places}
        await settle()
        for base in (URL, "https://other.example", BASE):
            if base == BASE:
                desk.tunnels.change(state=TunnelState.OFF, url=None, url_changed=True)
            else:
                desk.tunnels.come_up(base)
            assert {name for name, text in texts.items() if base not in text()} == set()
        for dialog in window.findChildren(EndpointDialog) + window.findChildren(TargetsDialog):
            dialog.done(0)
        for about in window.findChildren(AboutDialog):
            about.done(0)


async def test_a_url_that_nobody_reaches_is_marked_wherever_it_is_shown(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        await of_form(desk, window)
        await of_targets(desk, window)
        await of_about(desk, window)
        form, targets = window.findChildren(EndpointDialog)[-1], window.findChildren(TargetsDialog)[-1]
        about, row = window.findChildren(AboutDialog)[-1], window.dashboard.rows.row(endpoint.id)
        assert row is not None
        window.show_endpoint(endpoint.id)
        said: list[str] = []
        window.endpoint_actions.announced.connect(said.append)
        texts: tuple[Callable[[], str], ...] = (
            window.requests.header.url.accessibleDescription,
            window.requests.list_area.empty.text.text,
            lambda: row.contents.mark,
            lambda: window.dashboard.about.text().lower(),
            form.url.accessibleDescription,
            targets.subtitle.text,
            about.base_url.accessibleDescription,
        )
        for state in (TunnelState.CHECKING, TunnelState.UNREACHABLE):
            desk.tunnels.come_up(state=state, url_changed=True)
            assert [f"tunnel: {state}" in text() for text in texts] == [True] * len(texts)
            assert window.requests.header.url.mark.isVisible()
            window.endpoint_actions.copy_url(endpoint)
            assert said[-1].endswith(f"Its URL may not work now (tunnel: {state}).")
        desk.tunnels.come_up(url_changed=True)
        assert ["tunnel: " in text() for text in texts] == [False] * len(texts)
        assert not window.requests.header.url.mark.isVisible()
        for dialog in (form, targets, about):
            dialog.done(0)


async def test_every_copy_is_noted(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        endpoint = desk.store.endpoints.all()[0]
        desk.tunnels.come_up()
        url = f"{URL}/catch/{endpoint.slug}"
        row = window.dashboard.rows.row(endpoint.id)
        assert row is not None
        row.copy_button.click()
        await until(lambda: len(desk.tunnels.called("copied")) == 1)
        window.show_endpoint(endpoint.id)
        window.requests.header.url.copy()
        await until(lambda: len(desk.tunnels.called("copied")) == 2)
        window.requests.list_area.empty.copy.click()
        await until(lambda: len(desk.tunnels.called("copied")) == 3)
        for command in (window.requests.endpoint_commands.copy_url, window.requests.endpoint_commands.copy_curl):
            QGuiApplication.clipboard().clear()
            command.trigger()
            assert url in QGuiApplication.clipboard().text()
        await until(lambda: len(desk.tunnels.called("copied")) == 5)
        window.endpoint_actions.edit(endpoint)
        dialog = window.findChildren(EndpointDialog)[-1]
        dialog.findChildren(CopyButton)[0].click()
        assert QGuiApplication.clipboard().text() == url
        await until(lambda: len(desk.tunnels.called("copied")) == 6)
        dialog.done(0)
        assert set(desk.tunnels.called("copied")) == {(endpoint.id,)}


async def test_the_tunnels_own_url_is_of_no_endpoint(tmp_path: Path) -> None:
    async with shown(tmp_path, endpoints=1) as (desk, window):
        desk.tunnels.come_up()
        window.show_page(DASHBOARD)
        window.tunnel_page.status.url.copy()
        await settle()
        assert desk.tunnels.called("copied") == []
