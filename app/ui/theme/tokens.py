"""Every colour of the window, named by its use, for light and for dark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any


def _colour(*light_and_dark: str) -> Any:
    return field(metadata={"colours": light_and_dark})


@dataclass(frozen=True)
class Tokens:
    """The colours of one theme as `#rrggbb`. A `_soft` colour is the background on which the colour of the same name is
    legible text.

    `accent` is a fill (with `on_accent` on top); `accent_text` is the accent as text on bg, surface and accent_soft.
    `text_faint` is the weakest text that is still legible on every background; only disabled text is weaker
    (`text_disabled`); `border*` are never text.
    """

    name: str
    methods: Mapping[str, str]
    bg: str = _colour("#f7f8fa", "#121417")
    surface: str = _colour("#ffffff", "#181b20")
    surface_raised: str = _colour("#ffffff", "#20242b")
    sidebar: str = _colour("#eff1f4", "#15171b")
    border: str = _colour("#e3e6eb", "#282d35")
    border_strong: str = _colour("#c9ced7", "#3e4550")
    text: str = _colour("#1a1e26", "#e9ebef")
    text_muted: str = _colour("#535b69", "#a7aeba")
    text_faint: str = _colour("#5e6674", "#939ba9")
    text_disabled: str = _colour("#a0a6b1", "#555c68")
    accent: str = _colour("#4f52d9", "#5f62ea")
    accent_hover: str = _colour("#4245c4", "#5356de")
    accent_text: str = _colour("#4447cc", "#9ea1ff")
    accent_soft: str = _colour("#ececfd", "#25264a")
    on_accent: str = _colour("#ffffff", "#ffffff")
    success: str = _colour("#0f6b43", "#56cf98")
    success_soft: str = _colour("#e0f4ea", "#14301f")
    success_fill: str = _colour("#18995d", "#43c487")
    warning: str = _colour("#855200", "#eeb353")
    warning_soft: str = _colour("#fdf1d8", "#36290f")
    warning_fill: str = _colour("#d98a04", "#eeb353")
    danger: str = _colour("#b3261e", "#ff8f85")
    danger_soft: str = _colour("#fdeae8", "#401d1b")
    danger_fill: str = _colour("#c8322a", "#cb3a31")
    danger_fill_hover: str = _colour("#ad2720", "#b93028")
    on_danger: str = _colour("#ffffff", "#ffffff")
    code_key: str = _colour("#3a3fc4", "#a9acff")
    code_string: str = _colour("#0f6b43", "#72d3a6")
    code_number: str = _colour("#9a4a00", "#efa968")
    code_literal: str = _colour("#8a2f9c", "#d99be8")
    code_punctuation: str = _colour("#5e6674", "#939ba9")
    selection: str = _colour("#e8e9fc", "#292b52")
    hover: str = _colour("#f0f1f5", "#21252c")
    pressed: str = _colour("#e4e6ec", "#2a2f38")
    track: str = _colour("#7b8392", "#6b7482")
    chart_plain: str = _colour("#7375d9", "#6f72b1")
    chart_delivered: str = _colour("#4447cc", "#9ea1ff")
    chart_failed: str = _colour("#c8322a", "#d9483f")
    chart_incomplete: str = _colour("#b57303", "#eeb353")
    timing_lookup: str = _colour("#0e7c86", "#3fb6c2")
    timing_connect: str = _colour("#c2730a", "#e0a24a")
    timing_tls: str = _colour("#8b46c9", "#b98af0")
    timing_wait: str = _colour("#18995d", "#43c487")
    timing_rest: str = _colour("#3f6fd8", "#7aa2f7")
    shadow: str = _colour("#1a1e26", "#000000")

    def method(self, method: str) -> str:
        """The colour of a method's label; unlisted methods are muted."""
        return self.methods.get(method, self.text_muted)


_METHODS = {
    "GET": ("#1659b5", "#7db2ff"),
    "POST": ("#0b6a56", "#4fd0b0"),
    "PUT": ("#8f4e00", "#eea95a"),
    "PATCH": ("#7136ad", "#c8a0f5"),
    "DELETE": ("#b3261e", "#ff8f85"),
    "OPTIONS": ("#535b69", "#a7aeba"),
    "HEAD": ("#22657c", "#76c3dd"),
}


def _theme(number: int, name: str) -> Tokens:
    colours = {one.name: one.metadata["colours"][number] for one in fields(Tokens) if one.metadata}
    methods = {method: pair[number] for method, pair in _METHODS.items()}
    return Tokens(name=name, methods=MappingProxyType(methods), **colours)


LIGHT, DARK = _theme(0, "light"), _theme(1, "dark")


@lru_cache(maxsize=256)
def mix(over: str, under: str, share: float) -> str:
    """`over` blended over `under` with opacity `share`, as `#rrggbb`."""
    pairs = zip(_channels(over), _channels(under), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio of two colours, 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _channels(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
