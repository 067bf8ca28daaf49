"""Opens the window and every dialog on the screen that Qt was told of, and prints what does not lie on it.

Run by `test_small_screens.py`, because a process has one screen and one scale. The argument is an empty folder.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSettings
from PySide6.QtWidgets import QApplication, QDialog, QFrame, QPushButton, QWidget

from app.core.target import TargetDraft
from app.core.tunnel import TunnelState
from app.ui.about_dialog import AboutDialog, LicencesDialog
from app.ui.comparison.dialog import ComparisonDialog
from app.ui.comparison.requests_dialog import RequestsDialog
from app.ui.endpoints.endpoint_dialog import EndpointDialog
from app.ui.endpoints.qr_dialog import QrDialog
from app.ui.endpoints.targets_dialog import TargetsDialog
from app.ui.loop import new_loop
from app.ui.requests.saved_filters import NameDialog
from app.ui.settings.dialog import SettingsDialog
from app.ui.shell.main_window import MainWindow
from app.ui.shell.sidebar import TUNNEL
from app.ui.widgets.dialog import ChoiceDialog, DialogOption, Question
from tests.deliveries import two_targets
from tests.ui.desk import Desk, open_desk
from tests.ui.waiting import settle, until

LONG = "Deletes 4,200 requests of “Stripe test”, 12 of them starred, with their bodies and delivery results. " * 30


class Look:
    """What is wrong with the windows that it was given."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.seen: dict[str, tuple[int, int]] = {}

    def at(self, window: QWidget, name: str) -> None:
        """It lies on the screen with its frame, and the buttons of its footer lie in it."""
        available, frame = window.screen().availableGeometry(), window.frameGeometry()
        self.seen[name] = (window.width(), window.height())
        if not available.contains(frame):
            self.wrong.append(f"{name}: {frame.getRect()} is not within {available.getRect()}")
        for button in window.findChildren(QPushButton):
            foot = button.parentWidget()
            of_dialog = isinstance(foot, QFrame) and foot.property("part") == "footer" and foot.parentWidget() is window
            if of_dialog and isinstance(window, QDialog) and not button.isHidden():
                self.whole(button, f"{name}: {button.text()}")

    def whole(self, widget: QWidget, name: str) -> None:
        """All of it is seen."""
        seen, place = widget.visibleRegion().boundingRect(), QRect(widget.mapToGlobal(QPoint(0, 0)), widget.size())
        if seen != widget.rect() or not widget.window().geometry().contains(place):
            self.wrong.append(f"{name}: only {seen.getRect()} of {widget.rect().getRect()} is seen")


async def show_dialogs(desk: Desk, window: MainWindow, look: Look) -> None:
    services, theme, tasks = desk.services, desk.theme, desk.tasks
    about = AboutDialog(services, theme, tasks, window)
    endpoint = desk.store.endpoints.all()[0]
    two = await desk.capture(endpoint), await desk.capture(endpoint)
    dialogs: dict[str, QDialog] = {
        "form of an endpoint": EndpointDialog(services, theme, tasks, window, desk.store.endpoints.all()[0]),
        "targets": TargetsDialog(services, theme, tasks, window, desk.store.endpoints.all()[0]),
        "settings": SettingsDialog(services, theme, tasks, window, window.desktop),
        "about": about,
        "licences": LicencesDialog(services.about, theme, tasks, about),
        "question": Question("Delete all requests? " * 4, LONG, "Delete 4,200 requests", theme, window),
        "choice": ChoiceDialog(
            "Hookline cannot start", LONG, (DialogOption("Quit"), DialogOption("Try again", "primary")), theme, None
        ),
        "QR code": QrDialog(services, theme, tasks, window, desk.store.endpoints.all()[0]),
        "name": NameDialog("method:POST status:500", set(), theme, window),
        "comparison": ComparisonDialog(await two_targets(desk.store), services, theme, tasks, window),
        "two requests": RequestsDialog(two, services, theme, tasks, window),
    }
    for name, dialog in dialogs.items():
        dialog.open()
        await settle()
        look.at(dialog, name)
        dialog.hide()
    window.commands.open_shortcuts()
    await settle()
    sheet = QApplication.activeModalWidget()
    assert sheet is not None
    look.at(sheet, "shortcuts")
    sheet.close()
    window.commands.palette.open()
    look.whole(window.commands.palette.panel, "palette")
    window.commands.palette.dismiss()


async def show_form(desk: Desk, window: MainWindow, look: Look) -> None:
    """It grows with More, and scrolls to each of its fields."""
    dialog = EndpointDialog(desk.services, desk.theme, desk.tasks, window)
    dialog.open()
    await settle()
    look.at(dialog, "form")
    dialog.form.show_more(True)
    dialog.form["retention_days"].days.lineEdit().setText("365")
    dialog.submit()
    await settle()
    look.at(dialog, "form with more and an error")
    for path in ("slug", "name", "forward.timeout_ms"):
        dialog.form.reveal(path)
        await settle()
        look.whole(dialog.form.fields[path].control, f"form: {path}")
    dialog.done(0)


async def show_targets(desk: Desk, window: MainWindow, look: Look) -> None:
    """Its form scrolls to each of its fields, and is never wider than its place."""
    endpoint = desk.store.endpoints.all()[0]
    await desk.store.targets.create(endpoint.id, TargetDraft(url="https://example.org/" + "long/" * 40))
    current = desk.store.endpoints.by_id(endpoint.id)
    assert current is not None
    await desk.store.targets.pause(current.targets[0].id)
    dialog = TargetsDialog(desk.services, desk.theme, desk.tasks, window, current)
    dialog.open()
    await settle()
    look.at(dialog, "form of a target")
    form = dialog.forms.current()
    assert form is not None
    for path in ("client_key", "url", "retry.total_ms", "pause_after"):
        form.reveal(path)
        await settle()
        look.whole(form.fields[path].control, f"target: {path}")
    look.whole(dialog.column.remove, "target: remove")
    dialog.done(0)


async def show_windows(desk: Desk, look: Look) -> None:
    endpoint = await desk.endpoint()
    made = [(await desk.capture(endpoint)).summary() for _ in range(3)]
    window = desk.window()
    window.show()
    await settle()
    look.at(window, "first start")
    window.show_endpoint(endpoint.id)
    await until(window.requests.list.isVisible)
    await settle()
    look.whole(window.requests.list_footer, "foot of the list")
    window.requests.go_to(await desk.store.captures.get(made[0].id))
    await until(window.requests.detail.header.isVisible)
    await settle()
    look.whole(window.requests.detail, "detail")
    sidebar = window.sidebar
    for button in (sidebar.settings_button, sidebar.about_button, sidebar.add_button, sidebar.tunnel):
        look.whole(button, button.accessibleName())
    await show_tunnel(desk, window, look)
    await show_dialogs(desk, window, look)
    await show_form(desk, window, look)
    await show_targets(desk, window, look)
    for summary in made:
        window.requests.windows.open(summary)
        await settle()
        look.at(window.requests.windows.open_now[summary.id], "window of a request")
    await end(desk, window)


async def show_tunnel(desk: Desk, window: MainWindow, look: Look) -> None:
    """Its page scrolls to its last buttons, and never sideways."""
    window.show_page(TUNNEL)
    page = window.tunnel_page
    await until(page.programs.list.rows.rowCount)
    desk.tunnels.come_up("https://" + "long-" * 30 + "name.example", problem="It does not answer. " * 12)
    await settle()
    for button in (page.status.stop, page.status.check):
        look.whole(button, f"tunnel: {button.text()}")
    assert page.width() <= window.pages.width()
    desk.tunnels.change(state=TunnelState.OFF, url=None, problem=None, url_changed=True)


async def show_restored(desk: Desk, look: Look) -> None:
    """A window that was left on a larger screen, at its far corner."""
    left = QWidget()
    left.setGeometry(1900, 900, 1800, 1200)
    file = QSettings(str(desk.folder / "window.ini"), QSettings.Format.IniFormat)
    file.setValue("window/geometry", left.saveGeometry())
    file.sync()
    left.deleteLater()
    window = desk.window()
    window.show()
    await settle()
    look.at(window, "restored")
    look.whole(window.sidebar.settings_button, "restored: settings")
    await end(desk, window)


async def end(desk: Desk, window: MainWindow) -> None:
    """It is deleted here, not by a garbage collection while another is made."""
    window.close()
    await desk.tasks.cancel_all()
    window.deleteLater()
    await settle()


async def main(folder: Path) -> None:
    look = Look()
    async with open_desk(folder) as desk:
        await show_windows(desk, look)
        await show_restored(desk, look)
        await desk.tasks.cancel_all()
    screen = QApplication.primaryScreen().availableGeometry().size()
    print(json.dumps({"screen": screen.toTuple(), "seen": look.seen, "wrong": look.wrong}))


if __name__ == "__main__":
    application = QApplication([])
    with asyncio.Runner(loop_factory=partial(new_loop, application)) as runner:
        asyncio.set_event_loop(runner.get_loop())
        runner.run(main(Path(sys.argv[1])))
