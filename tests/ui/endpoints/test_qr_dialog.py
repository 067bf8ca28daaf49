"""The QR code of a capture URL: it says the URL, can be read off any theme, and warns where no phone would get."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import segno
from msgspec.structs import replace
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QLineEdit

from app.core.own_urls import is_loopback
from app.core.tunnel import TunnelState
from app.ui.endpoints.qr_dialog import DARK, FILE_SCALE, LIGHT, QUIET_ZONE, QrDialog
from app.ui.inspector.body.body_export import SaveError
from app.ui.shell.main_window import MainWindow
from app.ui.widgets.dialog import FileDialog
from tests.ui.desk import Desk, shown
from tests.ui.on_screen import on_screen
from tests.ui.tunnels import URL
from tests.ui.waiting import settle, until, wait_for_widget


@asynccontextmanager
async def qr_of(folder: Path, url: str | None = URL) -> AsyncIterator[tuple[Desk, MainWindow, QrDialog]]:
    """The dialog of an endpoint, opened by the button beside its URL."""
    async with shown(folder, endpoints=1) as (desk, window):
        if url is not None:
            desk.tunnels.come_up(url)
        window.show_endpoint(desk.store.endpoints.all()[0].id)
        window.requests.header.qr.click()
        dialog = window.findChildren(QrDialog)[-1]
        await until(dialog.isVisible)
        await settle()
        yield desk, window, dialog
        for left in window.findChildren(QrDialog):
            left.done(0)


def dialogs(window: MainWindow) -> list[QrDialog]:
    """Those that are open."""
    return [one for one in window.findChildren(QrDialog) if one.isVisible()]


def expected(url: str) -> list[list[bool]]:
    """The modules that a QR code of this URL has."""
    code = segno.make(url, error="m", micro=False, boost_error=False)
    return [[bool(module) for module in row] for row in code.matrix]


def read_off(picture: QImage, count: int, side: float, start: float) -> list[list[bool]]:
    """The modules as a camera sees them: the middle of each is dark or light."""

    def is_dark(x: int, y: int) -> bool:
        colour = picture.pixelColor(int(start + (x + 0.5) * side), int(start + (y + 0.5) * side))
        assert colour.name() in (DARK, LIGHT)
        return colour.name() == DARK

    return [[is_dark(x, y) for x in range(count)] for y in range(count)]


class TestCode:
    @pytest.mark.parametrize("dark", [False, True])
    async def test_what_is_drawn_is_the_url(self, tmp_path: Path, dark: bool) -> None:
        async with qr_of(tmp_path) as (desk, _, dialog):
            desk.theme.set_choice("dark" if dark else "light")
            await settle()
            url = f"{URL}/catch/{desk.store.endpoints.all()[0].slug}"
            assert dialog.url.text() == url
            code = dialog.code
            assert read_off(code.modules, code.modules.width(), 1, 0) == expected(url)
            picture = code.grab().toImage()
            count, side = code.modules.width(), code.module_pixels()
            start = (picture.width() - side * count) // 2
            assert read_off(picture, count, side, start) == expected(url)
            # Light all around, four modules wide.
            assert start >= QUIET_ZONE * side
            for place in range(12, picture.width() - 12):
                assert picture.pixelColor(place, start - 1) == QColor(LIGHT)
                assert picture.pixelColor(start - 1, place) == QColor(LIGHT)
            desk.theme.set_choice("light")

    async def test_the_longest_url_fits(self, tmp_path: Path) -> None:
        base = "https://" + ".".join(["long" * 12] * 4) + ".example.org"
        async with qr_of(tmp_path, base) as (_, _window, dialog):
            assert dialog.code.module_pixels() >= 3

    async def test_it_follows_the_tunnel(self, tmp_path: Path) -> None:
        async with qr_of(tmp_path) as (desk, _, dialog):
            before = await on_screen(dialog.code)
            desk.tunnels.come_up("https://other.example")
            assert await on_screen(dialog.code) != before
            url = f"https://other.example/catch/{desk.store.endpoints.all()[0].slug}"
            assert dialog.url.text() == url
            modules = dialog.code.modules
            assert read_off(modules, modules.width(), 1, 0) == expected(url)

    async def test_it_follows_the_name_and_gives_way_to_that_of_another(self, tmp_path: Path) -> None:
        async with qr_of(tmp_path) as (desk, window, dialog):
            endpoint = desk.store.endpoints.all()[0]
            await desk.store.endpoints.update(endpoint.id, replace(endpoint.draft(), name="Shop"))
            assert dialog.name.text() == "Capture URL of “Shop”"
            window.endpoint_actions.show_qr(await desk.endpoint(name="Other"))
            await until(lambda: [one.name.text() for one in dialogs(window)] == ["Capture URL of “Other”"])

    async def test_it_closes_with_its_endpoint(self, tmp_path: Path, no_time_to_undo: None) -> None:
        async with qr_of(tmp_path) as (desk, window, _):
            await desk.store.endpoints.delete(desk.store.endpoints.all()[0].id)
            await until(lambda: not dialogs(window))


class TestFiles:
    async def test_a_png_is_the_same_code(self, tmp_path: Path) -> None:
        async with qr_of(tmp_path) as (desk, _, dialog):
            path = tmp_path / "code.png"
            await dialog.save_to(path)
            picture = QImage(str(path))
            modules = expected(dialog.url.text())
            assert picture.width() == (len(modules) + 2 * QUIET_ZONE) * FILE_SCALE
            assert read_off(picture, len(modules), FILE_SCALE, QUIET_ZONE * FILE_SCALE) == modules
            assert dialog.status.text() == "Saved as code.png."
            assert desk.tunnels.called("copied") == [(desk.store.endpoints.all()[0].id,)]

    async def test_an_svg_by_its_name(self, tmp_path: Path) -> None:
        async with qr_of(tmp_path) as (_, _window, dialog):
            path = tmp_path / "code.SVG"
            await dialog.save_to(path)
            assert b"<svg" in path.read_bytes()

    async def test_a_file_that_cannot_be_written_is_said(self, tmp_path: Path) -> None:
        async with qr_of(tmp_path) as (desk, _, dialog):
            with pytest.raises(SaveError, match="The QR code could not be saved as"):
                await dialog.save_to(tmp_path / "missing" / "code.png")
            (tmp_path / "link.png").symlink_to(tmp_path / "other.png")
            with pytest.raises(SaveError, match="that is a symbolic link"):
                await dialog.save_to(tmp_path / "link.png")
            assert desk.tunnels.called("copied") == []
            for name, said in (("a.png", "Saved as a.png."), ("link.png", "symbolic link")):
                dialog.save_button.click()
                asked = await wait_for_widget(FileDialog, dialog)
                asked.setOption(FileDialog.Option.DontConfirmOverwrite)
                asked.findChildren(QLineEdit)[0].setText(str(tmp_path / name))
                asked.accept()
                await until(lambda said=said: said in dialog.status.text())
            assert not desk.messages.waiting(), "they would be in the window below"

    async def test_copying_the_url_is_noted(self, tmp_path: Path) -> None:
        async with qr_of(tmp_path) as (desk, _, dialog):
            dialog.url.copy()
            assert QGuiApplication.clipboard().text() == dialog.url.text()
            await until(lambda: desk.tunnels.called("copied"))


class TestLoopback:
    @pytest.mark.parametrize(
        ("url", "loopback"),
        [
            ("http://127.0.0.1:8787/catch/a", True),
            ("http://localhost:8787/catch/a", True),
            ("http://[::1]:8787/catch/a", True),
            ("http://0.0.0.0:8787/catch/a", True),
            ("http://192.168.1.7:8787/catch/a", False),
            (f"{URL}/catch/a", False),
        ],
    )
    def test_what_only_this_computer_reaches(self, url: str, loopback: bool) -> None:
        assert is_loopback(url) is loopback

    async def test_a_tunnel_is_offered_and_its_url_shown(self, tmp_path: Path) -> None:
        async with qr_of(tmp_path, None) as (desk, _, dialog):
            assert dialog.warning.isVisible()
            await until(lambda: not dialog.content_area.verticalScrollBar().isVisible())
            assert "127.0.0.1" in dialog.warning.text.text()
            await desk.change_settings({"tunnel_program": "cloudflared"})
            dialog.tunnel_button.click()
            await until(lambda: desk.tunnels.tunnel.state is TunnelState.STARTING)
            assert dialog.tunnel_button.text() == "Starting…"
            desk.tunnels.change(state=TunnelState.FAILED, problem="No network.")
            assert "No network." in dialog.warning.text.text()
            assert dialog.tunnel_button.isEnabled()
            desk.tunnels.come_up()
            assert not dialog.warning.isVisible()
            assert dialog.url.text().startswith(URL)

    async def test_a_tunnel_that_is_up_and_leads_to_this_computer_is_not_started_again(self, tmp_path: Path) -> None:
        """Such as ssh to a server on this computer."""

        async with qr_of(tmp_path, "http://localhost:9001") as (desk, window, dialog):
            assert dialog.warning.text.text() == (
                "Other devices cannot reach localhost. The tunnel’s URL leads to this computer."
                " Use another tunnel program or server."
            )
            assert dialog.tunnel_button.text() == "Show tunnel"
            desk.tunnels.change(state=TunnelState.STOPPING)
            assert (dialog.tunnel_button.text(), dialog.tunnel_button.isEnabled()) == ("Stopping…", False)
            desk.tunnels.come_up("http://localhost:9001")
            dialog.tunnel_button.click()
            await until(window.tunnel_page.isVisible)
            assert not dialogs(window)
            assert desk.tunnels.called("start") == []

    async def test_without_a_program_the_page_is_shown_instead(self, tmp_path: Path) -> None:
        async with qr_of(tmp_path, None) as (_, window, dialog):
            dialog.tunnel_button.click()
            await until(window.tunnel_page.isVisible)
            assert not dialogs(window)
