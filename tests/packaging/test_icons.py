"""Hookline's icon in the forms that each system wants: every size there, each from the drawing made for it."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import IcnsImagePlugin, IcoImagePlugin, Image

import icons

pytestmark = pytest.mark.long

SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("icons") / "not" / "there"
    icons.make_icons(folder)
    return folder


def of_right_drawing(image: Image.Image) -> bool:
    """Whether the left edge is where the drawing for this size has it: the small one has no margin."""
    middle = image.height // 2
    left = next(x for x in range(image.width) if image.getpixel((x, middle))[3] > 0)
    return left == (0 if image.width <= 32 else round(image.width * 12 / 128))


@pytest.mark.parametrize("size", SIZES)
def test_each_png_has_its_size_and_drawing(made: Path, size: int) -> None:
    image = Image.open(made / f"hookline-{size}.png")
    assert (image.size, image.mode) == ((size, size), "RGBA")
    assert of_right_drawing(image)
    assert image.getpixel((0, 0))[3] < 128
    assert image.getpixel((size // 2, size * 9 // 16)) == (255, 209, 102, 255)


@pytest.mark.parametrize("size", [16, 32, 48, 64, 128, 256, 512])
def test_the_sides_are_sharp(made: Path, size: int) -> None:
    """No half-covered pixel along the middle of a side, on neither side."""
    image = Image.open(made / f"hookline-{size}.png")
    for line in ([(x, size // 2) for x in range(size)], [(size // 3, y) for y in range(size)]):
        assert {image.getpixel(place)[3] for place in line} <= {0, 255}


def test_the_ico_holds_every_size_as_the_pngs_show_it(made: Path) -> None:
    with Image.open(made / "hookline.ico") as file:
        assert isinstance(file, IcoImagePlugin.IcoImageFile)
        assert sorted(file.ico.sizes()) == [(size, size) for size in (16, 24, 32, 48, 64, 128, 256)]
        for size in file.ico.sizes():
            image = file.ico.getimage(size)
            assert image.tobytes() == Image.open(made / f"hookline-{size[0]}.png").tobytes()


def test_the_icns_holds_the_sizes_for_both_kinds_of_screens(made: Path) -> None:
    with Image.open(made / "hookline.icns") as file:
        assert isinstance(file, IcnsImagePlugin.IcnsImageFile)
        sizes = file.info["sizes"]
        doubled = {(size, size, 2) for size in (16, 32, 128, 256, 512)}
        assert set(sizes) >= doubled | {(size, size, 1) for size in (128, 256, 512)}
        for size in sizes:
            image = file.icns.getimage(size).convert("RGBA")
            assert image.width == size[0] * size[2]
            assert image.tobytes() == icons.render(icons.drawing(image.width), image.width).tobytes()


def test_the_same_drawings_make_the_same_bytes(made: Path, tmp_path: Path) -> None:
    icons.make_icons(tmp_path)
    again = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert again == {file.name: file.read_bytes() for file in made.iterdir()}
    assert len(again) == len(SIZES) + 2


@pytest.mark.qt_log_ignore("Cannot read file")
def test_a_drawing_that_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.svg"
    broken.write_text("<svg", "utf-8")
    with pytest.raises(ValueError, match=r"broken\.svg is not a drawing"):
        icons.render(broken, 16)


@pytest.mark.parametrize("name", ["hookline", "hookline-small", "hookline-symbolic"])
def test_the_drawings_use_only_filled_shapes(name: str) -> None:
    """Strokes come out uneven in Qt, gradients may band, text needs a font; panels recolour only a plain fill."""
    root = ElementTree.parse(icons.DRAWINGS / f"{name}.svg").getroot()
    shapes = list(root)
    assert {shape.tag.partition("}")[2] for shape in shapes} <= {"path", "rect", "circle"}
    assert all("fill" in shape.attrib and "stroke" not in shape.attrib for shape in shapes)
    if name == "hookline-symbolic":
        assert {shape.attrib["fill"] for shape in shapes} == {"#2e3436"}
        assert root.attrib["viewBox"] == "0 0 16 16"


def test_the_sheet_shows_the_icon_on_every_ground(tmp_path: Path) -> None:
    icons.sheet(tmp_path / "sheet.png")
    picture = Image.open(tmp_path / "sheet.png")
    colours = {colour for _, colour in picture.getcolors(1 << 20)}
    assert colours >= {(255, 255, 255), (0, 0, 0), (30, 30, 30), (255, 209, 102)}
