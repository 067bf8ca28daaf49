"""The icon in the system's own tray, as far as Qt has one without a desktop."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon

from app.ui.desktop.tray import SystemTray, tray_icon

Reason = QSystemTrayIcon.ActivationReason


def icons(parent: QObject) -> list[QSystemTrayIcon]:
    return [one for one in parent.findChildren(QSystemTrayIcon) if one.isVisible()]


@pytest.mark.qt_log_ignore("systemTrayWindowChanged", extend=True)  # the platform without a display has none
def test_it_is_shown_once_and_passes_clicks_and_messages_on(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, str]] = []

    def show_message(icon: QSystemTrayIcon, title: str, text: str, picture: QIcon) -> None:
        told.append((title, text))

    monkeypatch.setattr(QSystemTrayIcon, "showMessage", show_message)
    tray, menu, clicks = SystemTray(qapp), QMenu(), list[str]()
    tray.menu = menu
    tray.clicked.connect(lambda: clicks.append("icon"))
    tray.message_clicked.connect(lambda: clicks.append("message"))
    tray.hide()
    tray.show_message("Too", "early")
    assert not tray.can_show_message()
    first, second = tray_icon(1, paused=False), tray_icon(2, paused=False)
    for icon, text in ((first, "1 unread"), (second, "2 unread")):
        tray.show(icon, text)
        (shown,) = icons(tray)
        assert (shown.icon().cacheKey(), shown.toolTip()) == (icon.cacheKey(), text)
    assert shown.contextMenu() is menu
    tray.show_message("Stripe", "POST /")
    assert told == [("Stripe", "POST /")]
    for reason in (Reason.Trigger, Reason.DoubleClick, Reason.MiddleClick, Reason.Context):
        shown.activated.emit(reason)
    shown.messageClicked.emit()
    assert clicks == [*(["icon"] * 2 if sys.platform != "darwin" else []), "message"]
    tray.hide()
    assert icons(tray) == []
    assert not tray.can_show_message()
    tray.show(first, "Back")
    assert [one.toolTip() for one in icons(tray)] == ["Back"]
    tray.hide()
    tray.deleteLater()
