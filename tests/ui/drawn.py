"""What a widget draws, without its pixels: Qt writes it as an SVG image, which has every text, colour and place."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree import ElementTree

from PySide6.QtCore import QBuffer, QIODevice, QPoint, QPointF, QRect, QRectF
from PySide6.QtGui import QImage, QPainter, QPixmap, QPolygonF, QTransform
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from app.ui.theme.icons import characters

_SVG, _LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


class Text(NamedTuple):
    """`at` is where it begins."""

    text: str
    colour: str
    at: QPointF
    bold: bool


class Shape(NamedTuple):
    colour: str
    rect: QRectF


class Picture(NamedTuple):
    rect: QRectF
    image: QImage

    def shows(self, pixmap: QPixmap) -> bool:
        return self.image == pixmap.toImage().convertToFormat(self.image.format())


@dataclass(frozen=True)
class Drawn:
    """In the order in which it is drawn, also what something else covers. Colours are as in the tokens of a theme."""

    texts: list[Text] = field(default_factory=list)
    icons: list[Text] = field(default_factory=list)
    """By their names in the theme; those that are drawn from a pixmap are `pictures`."""
    grounds: list[Shape] = field(default_factory=list)
    """Filled shapes."""
    lines: list[Shape] = field(default_factory=list)
    """Also the outlines of shapes."""
    pictures: list[Picture] = field(default_factory=list)

    @property
    def words(self) -> list[str]:
        return [one.text for one in self.texts]

    def text(self, wanted: str) -> Text:
        """The only text that reads so."""
        (found,) = (one for one in self.texts if one.text == wanted)
        return found

    def grounds_of(self, colour: str) -> list[QRectF]:
        """The places of the filled shapes in this colour that have an extent."""
        return [one.rect for one in self.grounds if one.colour == colour and not one.rect.isEmpty()]

    def lines_of(self, colour: str) -> list[QRectF]:
        return [one.rect for one in self.lines if one.colour == colour]


def drawn(widget: QWidget, part: QRect | None = None) -> Drawn:
    """What the widget and those inside it draw, or what of it begins in `part`; in its coordinates."""
    buffer, generator = QBuffer(), QSvgGenerator()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator.setOutputDevice(buffer)
    generator.setSize(widget.size())
    generator.setResolution(widget.logicalDpiX())
    painter = QPainter(generator)
    widget.render(painter, QPoint())
    painter.end()
    found, room = Drawn(), QRectF(widget.rect() if part is None else part)
    for group in ElementTree.fromstring(bytes(buffer.data().data())).iter(f"{_SVG}g"):
        transform = QTransform(*map(float, _NUMBER.findall(group.get("transform", "1 0 0 1 0 0"))))
        for element in group:
            if element.tag != f"{_SVG}g":
                _add(found, group, element, transform, room)
    return found


def _add(found: Drawn, group: ElementTree.Element, element: ElementTree.Element, to: QTransform, room: QRectF) -> None:
    place = to.mapRect(_rect_of(element))
    if not (room.left() <= place.left() < room.right() and room.top() <= place.top() < room.bottom()):
        return
    if element.tag == f"{_SVG}text":
        text, bold = (element.text or "").strip(), int(element.get("font-weight", 400)) >= 600
        icon = next((name for name, character in characters().items() if character == text), None)
        written = Text(icon or text, element.get("fill", ""), place.topLeft(), bold)
        (found.texts if icon is None else found.icons).append(written)
    elif element.tag == f"{_SVG}image":
        data = b64decode(element.get(_LINK, "").partition("base64,")[2])
        found.pictures.append(Picture(place, QImage.fromData(data)))
    else:
        fill, stroke = element.get("fill") or group.get("fill", "none"), group.get("stroke", "none")
        if fill != "none":
            found.grounds.append(Shape(fill, place))
        if stroke != "none":
            found.lines.append(Shape(stroke, place))


def _rect_of(element: ElementTree.Element) -> QRectF:
    x, y, width, height, cx, cy, r, rx, ry = (
        float(element.get(name, 0)) for name in ("x", "y", "width", "height", "cx", "cy", "r", "rx", "ry")
    )
    path = [*map(float, _NUMBER.findall(element.get("points", element.get("d", ""))))]
    if path:
        return QPolygonF([QPointF(*point) for point in zip(path[::2], path[1::2], strict=True)]).boundingRect()
    if element.tag in (f"{_SVG}circle", f"{_SVG}ellipse"):
        across, down = r or rx, r or ry
        return QRectF(cx - across, cy - down, 2 * across, 2 * down)
    return QRectF(x, y, width, height)
