"""Renders Hookline's icon for the packages: PNGs, a Windows `.ico` and a macOS `.icns`, each size from its own drawing.

`python packaging/icons.py [FOLDER]` writes them, by default into `build/icons/`; `--sheet FILE` shows them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from project import ICONS, ROOT

DRAWINGS = ROOT / "resources" / "icons"
PNG = (16, 22, 24, 32, 48, 64, 128, 256, 512)
ICO = (16, 24, 32, 48, 64, 128, 256)
ICNS = (32, 64, 128, 256, 512, 1024)
SMALL = 32
"""Up to this many pixels the simpler drawing is used, which is fitted to them."""
UNITS, MARGIN = 128, 12
"""The width of the large drawing and of the empty margin in it; the small one has none."""
SHEET = {16: 16, 24: 10, 32: 8, 48: 5, 256: 1}
"""Sizes shown for the eye, and how many times enlarged."""
GAP = 24
GROUNDS = ("#ffffff", "#f6f6f6", "#1e1e1e", "#000000", "#3a6ea5")


def drawing(size: int) -> Path:
    """The drawing made for `size` pixels."""
    return DRAWINGS / ("hookline-small.svg" if size <= SMALL else "hookline.svg")


def render(svg: Path, size: int) -> Image.Image:
    """The drawing as RGBA, `size` pixels wide and high; ValueError when it cannot be drawn."""
    renderer = QSvgRenderer(str(svg))
    if not renderer.isValid():
        raise ValueError(f"{svg} is not a drawing that Qt can render")
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    renderer.render(painter, fitted(renderer.defaultSize().width(), size))
    painter.end()
    straight = image.convertToFormat(QImage.Format.Format_RGBA8888)
    return Image.frombytes("RGBA", (size, size), bytes(straight.constBits()))


def fitted(width: int, size: int) -> QRectF:
    """Where a drawing `width` units wide is painted, so that its outer edges fall on whole pixels (48 px needs it)."""
    margin = MARGIN if width == UNITS else 0
    edge = round(size * margin / width)
    unit = (size - 2 * edge) / (width - 2 * margin)
    start = edge - margin * unit
    return QRectF(start, start, width * unit, width * unit)


def make_icons(folder: Path) -> None:
    """Write `hookline-SIZE.png`, `hookline.ico` and `hookline.icns` into `folder`, the same bytes each time."""
    folder.mkdir(parents=True, exist_ok=True)
    images = {size: render(drawing(size), size) for size in {*PNG, *ICO, *ICNS}}
    for size in PNG:
        images[size].save(folder / f"hookline-{size}.png", optimize=True)
    # Pillow takes each size from the images given; it would scale only one that it was not given.
    first, *others = (images[size] for size in reversed(ICO))
    first.save(folder / "hookline.ico", sizes=[image.size for image in (first, *others)], append_images=others)
    first, *others = (images[size] for size in reversed(ICNS))
    first.save(folder / "hookline.icns", append_images=others)


def sheet(file: Path) -> None:
    """Write a picture for the eye: the sizes of SHEET on each ground, as they are and enlarged to count pixels."""
    shown = []
    for size, zoom in SHEET.items():
        icon = render(drawing(size), size)
        shown += [icon, icon.resize((size * zoom, size * zoom), Image.Resampling.NEAREST)][: min(zoom, 2)]
    height = GAP + max(icon.height for icon in shown)
    picture = Image.new("RGB", (GAP + sum(icon.width + GAP for icon in shown), height * len(GROUNDS)))
    for row, ground in enumerate(GROUNDS):
        picture.paste(ground, (0, row * height, picture.width, (row + 1) * height))
        left = GAP
        for icon in shown:
            picture.paste(icon, (left, row * height + GAP // 2), icon)
            left += icon.width + GAP
    picture.save(file)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ICONS, help="where they go (build/icons)")
    parser.add_argument("--sheet", type=Path, metavar="FILE", help="write only a PNG that shows them on light and dark")
    options = parser.parse_args()
    if options.sheet:
        sheet(options.sheet)
    else:
        make_icons(options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
