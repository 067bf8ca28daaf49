"""Every colour of the window, named by its use, for light and for dark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType


@dataclass(frozen=True)
class Tokens:
    """The colours of one theme as `#rrggbb`. A `_soft` colour is the background on which the colour of the same name is
    legible text.

    `accent` is a fill (with `on_accent` on top); `accent_text` is the accent as text on bg, surface and accent_soft.
    `text_faint` is the weakest text that is still legible on every background; only disabled text is weaker
    (`text_disabled`); `border*` are never text.
    """

    name: str
    bg: str
    surface: str
    surface_raised: str
    sidebar: str
    border: str
    border_strong: str
    text: str
    text_muted: str
    text_faint: str
    text_disabled: str
    accent: str
    accent_hover: str
    accent_text: str
    accent_soft: str
    on_accent: str
    success: str
    success_soft: str
    success_fill: str
    warning: str
    warning_soft: str
    warning_fill: str
    danger: str
    danger_soft: str
    danger_fill: str
    danger_fill_hover: str
    on_danger: str
    code_key: str
    code_string: str
    code_number: str
    code_literal: str
    code_punctuation: str
    selection: str
    hover: str
    pressed: str
    track: str
    chart_plain: str
    chart_delivered: str
    chart_failed: str
    chart_incomplete: str
    timing_lookup: str
    timing_connect: str
    timing_tls: str
    timing_wait: str
    timing_rest: str
    shadow: str
    methods: Mapping[str, str]

    def method(self, method: str) -> str:
        """The colour of a method's label; unlisted methods are muted."""
        return self.methods.get(method, self.text_muted)


LIGHT = Tokens(
    name="light",
    bg="#f7f8fa",
    surface="#ffffff",
    surface_raised="#ffffff",
    sidebar="#eff1f4",
    border="#e3e6eb",
    border_strong="#c9ced7",
    text="#1a1e26",
    text_muted="#535b69",
    text_faint="#5e6674",
    text_disabled="#a0a6b1",
    accent="#4f52d9",
    accent_hover="#4245c4",
    accent_text="#4447cc",
    accent_soft="#ececfd",
    on_accent="#ffffff",
    success="#0f6b43",
    success_soft="#e0f4ea",
    success_fill="#18995d",
    warning="#855200",
    warning_soft="#fdf1d8",
    warning_fill="#d98a04",
    danger="#b3261e",
    danger_soft="#fdeae8",
    danger_fill="#c8322a",
    danger_fill_hover="#ad2720",
    on_danger="#ffffff",
    code_key="#3a3fc4",
    code_string="#0f6b43",
    code_number="#9a4a00",
    code_literal="#8a2f9c",
    code_punctuation="#5e6674",
    selection="#e8e9fc",
    hover="#f0f1f5",
    pressed="#e4e6ec",
    track="#7b8392",
    chart_plain="#7375d9",
    chart_delivered="#4447cc",
    chart_failed="#c8322a",
    chart_incomplete="#b57303",
    timing_lookup="#0e7c86",
    timing_connect="#c2730a",
    timing_tls="#8b46c9",
    timing_wait="#18995d",
    timing_rest="#3f6fd8",
    shadow="#1a1e26",
    methods=MappingProxyType(
        {
            "GET": "#1659b5",
            "POST": "#0b6a56",
            "PUT": "#8f4e00",
            "PATCH": "#7136ad",
            "DELETE": "#b3261e",
            "OPTIONS": "#535b69",
            "HEAD": "#22657c",
        }
    ),
)

DARK = Tokens(
    name="dark",
    bg="#121417",
    surface="#181b20",
    surface_raised="#20242b",
    sidebar="#15171b",
    border="#282d35",
    border_strong="#3e4550",
    text="#e9ebef",
    text_muted="#a7aeba",
    text_faint="#939ba9",
    text_disabled="#555c68",
    accent="#5f62ea",
    accent_hover="#5356de",
    accent_text="#9ea1ff",
    accent_soft="#25264a",
    on_accent="#ffffff",
    success="#56cf98",
    success_soft="#14301f",
    success_fill="#43c487",
    warning="#eeb353",
    warning_soft="#36290f",
    warning_fill="#eeb353",
    danger="#ff8f85",
    danger_soft="#401d1b",
    danger_fill="#cb3a31",
    danger_fill_hover="#b93028",
    on_danger="#ffffff",
    code_key="#a9acff",
    code_string="#72d3a6",
    code_number="#efa968",
    code_literal="#d99be8",
    code_punctuation="#939ba9",
    selection="#292b52",
    hover="#21252c",
    pressed="#2a2f38",
    track="#6b7482",
    chart_plain="#6f72b1",
    chart_delivered="#9ea1ff",
    chart_failed="#d9483f",
    chart_incomplete="#eeb353",
    timing_lookup="#3fb6c2",
    timing_connect="#e0a24a",
    timing_tls="#b98af0",
    timing_wait="#43c487",
    timing_rest="#7aa2f7",
    shadow="#000000",
    methods=MappingProxyType(
        {
            "GET": "#7db2ff",
            "POST": "#4fd0b0",
            "PUT": "#eea95a",
            "PATCH": "#c8a0f5",
            "DELETE": "#ff8f85",
            "OPTIONS": "#a7aeba",
            "HEAD": "#76c3dd",
        }
    ),
)


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
