"""The screen of the windows that are measured: large enough for the size of a first start, to which they would keep."""

from __future__ import annotations

import os
from pathlib import Path


def with_screen() -> dict[str, str]:
    """The environment for a program with a window. Qt's offscreen platform has 800 by 800 pixels if nothing is said."""
    platform = os.environ.get("QT_QPA_PLATFORM", "offscreen")
    if platform == "offscreen":
        platform = f"offscreen:configfile={Path(__file__).with_suffix('.json')}"
    return {**os.environ, "QT_QPA_PLATFORM": platform}
