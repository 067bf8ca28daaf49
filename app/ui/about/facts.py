"""Facts that only the window knows, for the About dialog and a bug report."""

from __future__ import annotations

import PySide6
from PySide6.QtCore import QLocale, qVersion
from PySide6.QtGui import QFontInfo, QGuiApplication, QScreen

from app.core.about import Fact
from app.ui.theme.fonts import ui_font


def versions() -> list[Fact]:
    """The versions of Qt and PySide6."""
    return [("Qt", qVersion()), ("PySide6", PySide6.__version__)]


def window_facts() -> list[Fact]:
    """The screens, the platform plugin and whatever else can make a window look odd. Call it on the GUI thread."""
    screens = "; ".join(map(_screen, QGuiApplication.screens()))
    return [
        *versions(),
        ("Platform plugin", QGuiApplication.platformName()),
        ("Screens", screens or "none"),
        ("Font", QFontInfo(ui_font()).family()),
        ("Language", QLocale.system().name()),
    ]


def _screen(screen: QScreen) -> str:
    size = screen.size()
    return f"{size.width()}x{size.height()} at scale {screen.devicePixelRatio():g}"
