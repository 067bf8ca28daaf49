"""The fonts, chosen from families that systems already have; none is bundled."""

from __future__ import annotations

from functools import cache

from PySide6.QtGui import QFont, QFontDatabase, QFontInfo

UI_FAMILIES = ("Inter", "Segoe UI Variable", "SF Pro Text", "Noto Sans", "DejaVu Sans", "Liberation Sans")
MONO_FAMILIES = (
    "JetBrains Mono",
    "Cascadia Code",
    "SF Mono",
    "Menlo",
    "DejaVu Sans Mono",
    "Noto Sans Mono",
    "Liberation Mono",
)
"""Where none is installed, fontconfig may well give a monospaced font for text, and a proportional one for code."""

SMALL, BASE, LARGE, TITLE, DISPLAY = 12, 13, 15, 18, 22
"""Sizes in pixels."""

GENERIC = {"Monospace", "Sans Serif", "Serif"}
"""Names that Qt lists on Linux even if no font is installed."""

MOST_BROUGHT = 32
"""More fonts than the icons have; Qt numbers the application's own fonts from 0."""


def ui_font(size: int = BASE, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """The font of labels and controls."""
    return _font(UI_FAMILIES, size, weight, QFontDatabase.SystemFont.GeneralFont)


def mono_font(size: int = SMALL, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """The font of URLs, headers and bodies; without ligatures, so that each character is visible as it is."""
    font = _font(MONO_FAMILIES, size, weight, QFontDatabase.SystemFont.FixedFont)
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setFixedPitch(True)
    for feature in ("liga", "calt"):
        font.setFeature(QFont.Tag(feature), 0)
    return font


def can_write() -> bool:
    """Whether the system has any text font, apart from Hookline's icon fonts."""
    return bool(_installed())


def _brought() -> set[str]:
    return {family for number in range(MOST_BROUGHT) for family in QFontDatabase.applicationFontFamilies(number)}


def _installed() -> set[str]:
    return set(QFontDatabase.families()) - _brought() - GENERIC


@cache
def _available(families: tuple[str, ...], kind: QFontDatabase.SystemFont) -> list[str]:
    """`families`, and the system's own where none of them is installed: Qt may take the font of the icons for it."""
    installed = _installed()
    if not installed or not installed.isdisjoint(families):
        return list(families)
    default = QFontInfo(QFontDatabase.systemFont(kind)).family()
    return [*families, min(installed) if default in _brought() else default]


def _font(families: tuple[str, ...], size: int, weight: QFont.Weight, kind: QFontDatabase.SystemFont) -> QFont:
    font = QFont()
    font.setFamilies(_available(tuple(families), kind))
    font.setPixelSize(size)
    font.setWeight(weight)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return font
