"""Draws the two pictures of the installer's wizard from Hookline's icon, in the one format NSIS reads."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

# What the wizard shows at 96 dots per inch.
SIDE = (164, 314)
HEADER = (150, 57)
GROUND = "#f5f5fc"
WHITE = "#ffffff"


def make_pictures(icons: Path, folder: Path) -> tuple[Path, Path]:
    """Write `side.bmp` (beside the first and last page) and `header.bmp` (above the others); `icons` holds the PNGs."""
    side = _with_icon(SIDE, GROUND, icons / "hookline-64.png", (50, 48))
    header = _with_icon(HEADER, WHITE, icons / "hookline-48.png", (97, 4))
    written = folder / "side.bmp", folder / "header.bmp"
    side.save(written[0])
    header.save(written[1])
    return written


def _with_icon(size: tuple[int, int], ground: str, icon: Path, place: tuple[int, int]) -> Image.Image:
    picture = Image.new("RGB", size, ground)
    with Image.open(icon) as opened:
        drawing = opened.convert("RGBA")
    picture.paste(drawing, place, drawing)
    return picture
