"""Rebuilds a drawing (SVG) from allowed elements only: shapes, text and colours.

Qt opens the files that an <image> names, so its input must not name any.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from html import escape
from xml.parsers import expat

from app.core.bodies.formats.image import image_kind, image_size, png_damage
from app.core.text import count_of, word_set

BYTES_MAX = 2 * 1024 * 1024
SHAPES_MAX = 20_000
"""Maximum elements drawn, counting each repetition by `use`."""
DEEPEST = 30
"""Levels; Qt draws 32."""
IMAGE_PIXELS = 10_000_000
"""Of all pictures in a drawing together. Only PNGs are allowed: their declared size is checked."""
LENGTH_MAX = 1_000_000.0
"""Pixels of a side; a larger size is ignored."""
DEFAULT_SIZE = (300.0, 150.0)

SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"


_ELEMENTS = word_set(
    "svg g a defs symbol use path rect circle ellipse line polyline polygon text tspan linearGradient radialGradient"
    " stop style switch image"
)
_SILENT = frozenset({"title", "desc", "metadata"})
_ATTRIBUTES = word_set(
    "id class style x y x1 x2 y1 y2 cx cy r rx ry fx fy width height d points transform preserveAspectRatio offset"
    " dx dy gradientUnits gradientTransform spreadMethod text-anchor font-family font-size font-style font-weight fill"
    " fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin stroke-miterlimit"
    " stroke-dasharray stroke-dashoffset opacity stop-color stop-opacity color display visibility vector-effect"
)
_URL = re.compile(r"url\s*\(", re.IGNORECASE)
_OWN_URL = re.compile(r"url\(\s*(['\"]?)#[\w.:-]+\1\s*\)")
_LOCAL = re.compile(r"#[\w.:-]+")
_LENGTH = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(px|pt|pc|mm|cm|in|)\s*")
_UNITS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")
_DATA = re.compile(r"\s*data:image/png;base64,([A-Za-z0-9+/=\s]*)", re.IGNORECASE)
# A comment ends at the first `-->`: allowing a later one would try n comments in 2^n ways.
_SVG_START = re.compile(
    rb"(?:<\?xml[^>]*\?>|<!--(?:(?!-->).)*-->|<!DOCTYPE\s+svg[^>\[]*(?:\[[^\]]*\]\s*)?>|\s)*<(?:svg:)?svg[\s>/]",
    re.DOTALL,
)


class DrawingError(Exception):
    """The drawing is rejected; `str()` says why, in a sentence."""


@dataclass(frozen=True)
class Drawing:
    """`width` and `height` are its intended size in pixels. `removed` names the elements that were removed."""

    text: str
    width: float
    height: float
    shapes: int
    removed: tuple[str, ...]


def is_svg(head: bytes) -> bool:
    """Whether data with this beginning is a drawing."""
    return _SVG_START.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def fit(media_type: str, head: bytes) -> float:
    """Ranked below the view of the markup."""
    return 0.05 if is_svg(head) else 0.0


def sanitize(data: bytes) -> Drawing:
    """Raises DrawingError for data that is not a drawing, or too large a one."""
    if len(data) > BYTES_MAX:
        raise DrawingError(f"This SVG is larger than {BYTES_MAX // 1024 // 1024} MiB, too large for a preview.")
    return _SvgSanitizer().run(data)


class _SvgSanitizer:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._names: list[str] = []
        self._skipping = 0
        self._removed: dict[str, None] = {}
        # By number of an element: the elements within it, and what it draws too.
        self._children: list[list[int]] = [[]]
        self._used: dict[int, str] = {}
        self._open: list[int] = [0]
        self._ids: dict[str, int] = {}
        self._style: list[str] | None = None
        self._size = DEFAULT_SIZE
        self._pixels = 0

    def run(self, data: bytes) -> Drawing:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._entity
        try:
            parser.Parse(data, True)
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise DrawingError(f"This SVG is damaged: {error}.") from None
        if not self._parts:
            raise DrawingError("This is not an SVG.")
        width, height = self._size
        return Drawing("".join(self._parts), width, height, self._count_shapes(), tuple(self._removed))

    def _entity(self, *declaration: object) -> None:
        """Entities can expand a small drawing without limit, or read a file."""
        raise DrawingError("This SVG declares entities, which previews do not support.")

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        if self._skipping:
            self._skipping += 1
            return
        space, _, name = qualified.rpartition(" ")
        is_svg = space in (SVG, "")
        picture = _png(attributes) if is_svg and name == "image" else None
        if picture is not None:
            width, height = image_size("png", picture) or (0, 0)
            self._pixels += width * height
        is_bad_image = name == "image" and (picture is None or self._pixels > IMAGE_PIXELS)
        if not is_svg or name not in _ELEMENTS or is_bad_image:
            if is_svg and name not in _SILENT:
                self._removed.setdefault(name[:40])
            self._skipping = 1
            return
        if not self._names and name != "svg":
            raise DrawingError("This is not an SVG.")
        if len(self._names) >= DEEPEST:
            raise DrawingError(f"This SVG is nested deeper than {DEEPEST} levels, too deep for a preview.")
        if len(self._children) > SHAPES_MAX:
            raise _too_many()
        self._add_node(name, attributes)
        if name == "style":
            self._style = []
            self._names.append("")
        elif not self._names:
            self._names.append("svg")
            self._root(attributes)
        else:
            # A nested drawing or a link becomes a group.
            output = "g" if name in ("svg", "a") else name
            self._names.append(output)
            link = f' xlink:href="data:image/png;base64,{b64encode(picture).decode()}"' if picture else ""
            self._parts.append(f"<{output}{self._attributes(name, attributes)}{link}>")

    def _add_node(self, name: str, attributes: dict[str, str]) -> None:
        """Add the element and what it references, for counting shapes."""
        node = len(self._children)
        self._children.append([])
        self._children[self._open[-1]].append(node)
        self._open.append(node)
        if name == "use":
            self._used[node] = _reference(attributes)[1:]
        if attributes.get("id"):
            self._ids.setdefault(attributes["id"], node)

    def _root(self, attributes: dict[str, str]) -> None:
        box = [float(part) for part in _NUMBER.findall(attributes.get("viewBox", ""))]
        if len(box) != 4 or not (0 < box[2] <= LENGTH_MAX and 0 < box[3] <= LENGTH_MAX):
            box = []
        width, height = _length(attributes.get("width", "")), _length(attributes.get("height", ""))
        shape = (box[2], box[3]) if box else DEFAULT_SIZE
        if width is None:
            width, height = shape if height is None else (height * shape[0] / shape[1], height)
        elif height is None:
            height = width * shape[1] / shape[0]
        self._size = (width, height)
        box = box or [0.0, 0.0, width, height]
        formatted = " ".join(f"{number:g}" for number in box)
        kept = {name: value for name, value in attributes.items() if name not in ("width", "height", "x", "y")}
        self._parts.append(
            f'<svg xmlns="{SVG}" xmlns:xlink="{_XLINK}" width="{width:g}" height="{height:g}" viewBox="{formatted}"'
            f"{self._attributes('svg', kept)}>"
        )

    def _attributes(self, name: str, attributes: dict[str, str]) -> str:
        output = []
        for key, value in attributes.items():
            if key in _ATTRIBUTES and _has_no_external_reference(value):
                output.append(f' {key}="{escape(value)}"')
        reference = _reference(attributes)
        if reference and name in ("use", "linearGradient", "radialGradient"):
            output.append(f' xlink:href="{escape(reference)}"')
        return "".join(output)

    def _end(self, qualified: str) -> None:
        if self._skipping:
            self._skipping -= 1
            return
        self._open.pop()
        name = self._names.pop()
        if name:
            self._parts.append(f"</{name}>")
        elif self._style is not None:
            style_sheet, self._style = "".join(self._style), None
            if "@" not in style_sheet and "<" not in style_sheet and _has_no_external_reference(style_sheet):
                self._parts.append(f"<style>{escape(style_sheet, quote=False)}</style>")
            else:
                self._removed.setdefault("style")

    def _text(self, text: str) -> None:
        if self._skipping:
            return
        if self._style is not None:
            self._style.append(text)
        elif self._names and self._names[-1] in ("text", "tspan"):
            self._parts.append(escape(text))

    def _count_shapes(self) -> int:
        """The number of elements drawn. `use` elements may form a cycle, which is an error."""
        parts = dict(enumerate(self._children))
        for node, name in self._used.items():
            parts[node] = [*parts[node], *([self._ids[name]] if name in self._ids else [])]
        counts: dict[int, int] = {}
        try:
            for node in TopologicalSorter(parts).static_order():
                counts[node] = 1 + sum(counts[part] for part in parts[node])
                if counts[node] > SHAPES_MAX:
                    raise _too_many()
        except CycleError:
            raise DrawingError("This SVG refers to itself endlessly.") from None
        return counts[0]


def _too_many() -> DrawingError:
    return DrawingError(f"This SVG has more than {count_of(SHAPES_MAX, 'shape')}, too many for a preview.")


def _has_no_external_reference(value: str) -> bool:
    """Whether a value or style sheet has no external references, however they are spelled."""
    if "\\" in value or "/*" in value:  # escapes could hide the names that are searched for here
        return False
    return len(_URL.findall(value)) == len(_OWN_URL.findall(value))


def _reference(attributes: dict[str, str]) -> str:
    """`#name` of an element in the drawing itself, else empty."""
    value = attributes.get(f"{_XLINK} href", attributes.get("href", "")).strip()
    return value if _LOCAL.fullmatch(value) else ""


def _png(attributes: dict[str, str]) -> bytes | None:
    """The PNG embedded in an <image>."""
    match = _DATA.fullmatch(attributes.get(f"{_XLINK} href", attributes.get("href", "")))
    try:
        data = b64decode(match[1]) if match else b""
    except ValueError:  # wrong padding, or a space outside ASCII
        return None
    return data if image_kind(data) == "png" and png_damage(data, IMAGE_PIXELS) is None else None


def _length(text: str) -> float | None:
    match = _LENGTH.fullmatch(text)
    found = float(match[1]) * _UNITS[match[2]] if match else 0.0
    return found if 0 < found <= LENGTH_MAX else None
