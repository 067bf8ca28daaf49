"""The grid: distances, corner radii and row heights in device-independent pixels."""

from __future__ import annotations

SPACE_1, SPACE_2, SPACE_3, SPACE_4, SPACE_5, SPACE_6 = 4, 8, 12, 16, 24, 32

RADIUS_SMALL = 4
RADIUS = 6
RADIUS_CARD = 8

ROW = 32
ROW_DENSE = 28
CONTROL = 32
"""Height of buttons, fields and other controls."""

ICON = 16
SIDEBAR_WIDTH = 248
SIDE_BY_SIDE_WIDTH = 730
"""The narrowest page with room for the list of requests and an open one: in a window of 950, beside the narrowest
sidebar."""
