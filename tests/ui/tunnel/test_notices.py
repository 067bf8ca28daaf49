"""What is said, and where, when the tunnel died, restarted or changed its URL."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication

from app.core.clock import now_us
from app.core.tunnel import OutdatedUrl, Probe, TunnelState
from app.ui.messages import Message
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import DASHBOARD, TUNNEL
from app.ui.tunnel.area import KEY
from tests.ui.desk import Desk, shown
from tests.ui.desktop.recording import with_tray
from tests.ui.tunnels import URL
from tests.ui.waiting import settle, until

pytestmark = pytest.mark.qt_log_ignore("does not support raise", extend=True)  # without a display none can

OTHER = "https://other.trycloudflare.com"


def message_of(desk: Desk) -> Message | None:
    return next((one for one in desk.tasks.messages.waiting() if one.key == KEY), None)


def ended(desk: Desk) -> None:
    """It ended by itself."""
    desk.tunnels.change(state=TunnelState.RESTARTING, restart_at=now_us() + 60_000_000, problem="It ended.")


def fails(desk: Desk) -> None:
    desk.tunnels.change(state=TunnelState.FAILED, url=None, problem="It's over.", url_changed=True)


class TestMessages:
    async def test_a_failure_is_said_at_once_with_what_to_do(self, desk: Desk, window: MainWindow) -> None:
        desk.tunnels.come_up()
        assert message_of(desk) is None, "the user started it"
        fails(desk)
        message = message_of(desk)
        assert message is not None
        assert (message.text, message.advice, message.tone) == ("The tunnel failed.", "It’s over.", "danger")
        assert window.error_bar.isVisible()
        again, show = message.actions
        again.run()
        await until(lambda: desk.tunnels.called("start"))
        show.run()
        assert window.tunnel_page.isVisible()

    async def test_a_failure_from_before_the_window_is_said_too(self, desk: Desk, window: MainWindow) -> None:
        fails(desk)
        window.close()
        desk.tasks.messages.withdraw(KEY)
        another = desk.window()
        assert message_of(desk) is not None
        another.stop()
        another.deleteLater()

    async def test_it_never_restarts_without_a_word(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (desk, _):
            desk.tunnels.come_up()
            ended(desk)
            message = message_of(desk)
            assert message is not None
            assert message.tone == "warning"
            desk.tunnels.change(state=TunnelState.STARTING, restarts=1)
            assert message_of(desk) is message
            desk.tunnels.come_up()
            message = message_of(desk)
            assert message is not None
            assert message.text == "The tunnel was restarted. Its URL is unchanged."
            ended(desk)
            desk.tunnels.come_up(OTHER)
            message = message_of(desk)
            assert message is not None
            assert (message.text, message.advice) == ("The tunnel has a new URL.", "other.trycloudflare.com")

    async def test_a_new_url_while_it_is_up_is_said(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (desk, _):
            desk.tunnels.come_up()
            desk.tunnels.come_up(OTHER)
            message = message_of(desk)
            assert message is not None
            assert message.text == "The tunnel has a new URL."

    async def test_a_url_that_no_longer_arrives_is_said_until_it_does(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (desk, _):
            desk.tunnels.come_up()
            failed = Probe(at=1, ms=None, problem="Another page came back.")
            desk.tunnels.change(state=TunnelState.UNREACHABLE, probe=failed)
            assert message_of(desk) is None, "one probe is no alarm"
            desk.tunnels.probed(failed)
            message = message_of(desk)
            assert message is not None
            assert message.advice == "Another page came back."
            desk.tunnels.probed(Probe(at=2, ms=84.0))
            assert message_of(desk) is None

    async def test_stopping_it_says_nothing(self, tmp_path: Path) -> None:
        async with shown(tmp_path) as (desk, _):
            desk.tunnels.come_up()
            ended(desk)
            desk.tunnels.change(state=TunnelState.STOPPING)
            await desk.tunnels.stop()
            assert message_of(desk) is None

    async def test_the_page_says_it_itself(self, desk: Desk, window: MainWindow) -> None:
        window.show_page(TUNNEL)
        desk.tunnels.come_up()
        fails(desk)
        assert message_of(desk) is None
        window.show_page(DASHBOARD)
        ended(desk)
        assert message_of(desk) is not None
        window.show_page(TUNNEL)
        assert message_of(desk) is None


class TestOutdatedUrls:
    async def test_the_endpoints_are_named_with_what_to_do(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            first, second = desk.store.endpoints.all()
            bar = window.tunnel.bar
            assert not bar.isVisible()
            desk.tunnels.outdate(first.id, second.id)
            assert bar.isVisible()
            assert bar.title.text() == "The tunnel’s URL changed: 2 URLs that you copied no longer work"
            assert [row.name.text() for row in bar.rows] == [first.name, second.name]
            await settle()
            assert bar.rows[1].y() == bar.rows[0].y() + bar.rows[0].height()
            bar.rows[1].copy.click()
            assert QGuiApplication.clipboard().text() == f"{URL}/catch/{second.slug}"
            await until(lambda: desk.tunnels.called("copied") == [(second.id,)])
            bar.rows[1].done.setFocus()
            bar.rows[1].done.click()
            await until(lambda: len(bar.rows) == 1)
            assert bar.rows[0].done.hasFocus()
            bar.rows[0].done.click()
            await until(lambda: not bar.isVisible())
            assert desk.tunnels.called("updated") == [(second.id,), (first.id,)]

    async def test_how_long_ago_a_url_was_copied_goes_on_while_it_is_shown(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            bar, card = window.tunnel.bar, window.tunnel_page.outdated
            endpoint, url = desk.store.endpoints.all()[0], "https://old.example/catch/a"
            copied = OutdatedUrl(endpoint_id=endpoint.id, url=url, copied_at=now_us())
            desk.tunnels.come_up(outdated=(copied,))
            for one, page in ((bar, DASHBOARD), (card, TUNNEL)):
                window.show_page(page)
                clocks = [part.findChildren(QTimer)[0].isActive() for part in (bar, card)]
                assert clocks == [one is bar, one is card]
                first = one.rows[0].facts.text()
                await until(lambda shown=one, first=first: shown.rows[0].facts.text() != first)
                assert one.rows[0].facts.text().endswith(" s ago as https://old.example/catch/a")

    async def test_without_a_tunnel_there_is_no_new_url_to_give(self, tmp_path: Path) -> None:
        """So it is after a restart of Hookline without autostart."""

        async with shown(tmp_path, endpoints=1) as (desk, window):
            bar, card = window.tunnel.bar, window.tunnel_page.outdated
            desk.tunnels.outdate(desk.store.endpoints.all()[0].id)
            desk.tunnels.change(state=TunnelState.OFF)
            for one in (bar, card):
                assert one.title.text() == "The tunnel has no URL: a URL that you copied no longer works"
                assert one.advice.text().startswith("Once the tunnel has a URL, give each provider the new URL.")
            desk.tunnels.come_up()
            for one in (bar, card):
                assert one.title.text().startswith("The tunnel’s URL changed")
                assert one.advice.text().startswith("Give each provider the new URL.")

    async def test_more_than_fit_are_on_the_page(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=7) as (desk, window):
            bar, page = window.tunnel.bar, window.tunnel_page
            desk.tunnels.outdate(*(endpoint.id for endpoint in desk.store.endpoints.all()))
            assert len(bar.rows) == 3
            assert bar.more.text() == "Show 4 others"
            bar.more.click()
            assert page.isVisible()
            assert len(page.outdated.rows) == 7
            assert not bar.isVisible(), "said twice"
            window.show_page(DASHBOARD)
            assert bar.isVisible()

    async def test_dismissed_it_comes_back_for_more_only(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=2) as (desk, window):
            first, second = desk.store.endpoints.all()
            bar = window.tunnel.bar
            desk.tunnels.outdate(first.id)
            bar.dismiss.click()
            assert not bar.isVisible()
            desk.tunnels.change(probe=None)
            assert not bar.isVisible()
            desk.tunnels.outdate(first.id, second.id, url=OTHER)
            assert bar.isVisible()

    @pytest.mark.parametrize("page", [DASHBOARD, TUNNEL])
    async def test_the_focus_stays_where_the_user_has_gone_since(self, tmp_path: Path, page: str) -> None:
        """Rows are made anew when others are listed, and one that has the focus gives it to its successor."""
        async with shown(tmp_path, endpoints=2) as (desk, window):
            first, second = (endpoint.id for endpoint in desk.store.endpoints.all())
            window.show_page(page)
            box = window.tunnel_page.outdated if page == TUNNEL else window.tunnel.bar
            desk.tunnels.outdate(first)
            await settle()
            box.rows[0].done.setFocus()
            desk.tunnels.outdate(first, second)
            await until(box.rows[0].done.hasFocus)
            row = window.sidebar.row(first)
            row.setFocus()
            desk.tunnels.outdate(second)
            await settle(10)
            assert row.hasFocus()

    async def test_without_a_tunnel_there_is_no_new_url_to_copy(self, tmp_path: Path) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            desk.tunnels.outdate(desk.store.endpoints.all()[0].id)
            assert window.tunnel.bar.rows[0].copy.isEnabled()
            fails(desk)
            assert not window.tunnel.bar.rows[0].copy.isEnabled()
            assert window.tunnel.bar.rows[0].done.isEnabled()

    async def test_a_deleted_endpoint_is_forgotten(self, tmp_path: Path, no_time_to_undo: None) -> None:
        async with shown(tmp_path, endpoints=1) as (desk, window):
            endpoint = desk.store.endpoints.all()[0]
            desk.tunnels.outdate(endpoint.id)
            await desk.store.endpoints.delete(endpoint.id)
            await until(lambda: not window.tunnel.bar.isVisible())


class TestDesktop:
    async def test_a_notification_in_the_background_opens_the_page(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=2) as tray:
            desk, window = tray.desk, tray.window
            desk.tunnels.come_up()
            window.hide()
            fails(desk)
            await until(lambda: tray.tray.told == [("The tunnel failed", "It’s over.")])
            tray.tray.message_clicked.emit()
            await until(window.tunnel_page.isVisible)

    async def test_a_new_url_names_the_endpoints(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path, endpoints=5) as tray:
            desk = tray.desk
            tray.window.hide()
            names = [endpoint.name for endpoint in desk.store.endpoints.all()]
            desk.tunnels.outdate(*(endpoint.id for endpoint in desk.store.endpoints.all()))
            await until(lambda: tray.tray.told)
            title, text = tray.tray.told[-1]
            assert title == "The tunnel’s URL changed"
            quoted = ", ".join(f"“{name}”" for name in names[:3])
            assert text == f"Update it at the provider of {quoted} and 2 more."

    async def test_nothing_while_the_window_is_in_front(self, tmp_path: Path) -> None:
        async with with_tray(tmp_path) as tray:
            tray.desk.tunnels.come_up()
            fails(tray.desk)
            await settle(20)
            assert tray.tray.told == []
