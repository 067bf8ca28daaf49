"""Drawings keep shapes, text and colours; all that loads, runs or follows is gone before anything is drawn."""

from __future__ import annotations

import struct
import time
import zlib
from base64 import b64encode
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.bodies.format_registry import ranked
from app.core.bodies.formats.svg_sanitizer import BYTES_MAX, SHAPES_MAX, DrawingError, is_svg, sanitize

NS = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def svg(inside: str, attributes: str = 'width="40" height="20"') -> bytes:
    return f"<svg {NS} {attributes}>{inside}</svg>".encode()


def png(width: int, height: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    pixels = zlib.compress(b"\0" * (1 + (width + 7) // 8) * height)
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def data_url(data: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{b64encode(data).decode()}"


@pytest.mark.parametrize(
    "inside",
    [
        '<image href="/etc/passwd"/>',
        '<image xlink:href="file:///etc/passwd"/>',
        '<image xlink:href="http://127.0.0.1:9/"/>',
        f'<image href="{data_url(svg("<rect/>"), "svg+xml")}"/>',
        f'<image href="{data_url(svg("<rect/>"))}"/>',
        f'<image href="{data_url(png(10_000, 10_000))}"/>',
        '<use xlink:href="http://127.0.0.1:9/#a"/>',
        '<use href="other.svg#a"/>',
        '<rect fill="url(http://127.0.0.1:9/#a)"/>',
        '<rect style="fill:URL( &quot;/etc/passwd&quot; )"/>',
        '<rect style="fill:u\\72l(/etc/passwd)"/>',
        '<rect style="fill:ur/**/l(/etc/passwd)"/>',
        "<style>@import url(/etc/passwd);</style>",
        "<style>rect{fill:url(/etc/passwd)}</style>",
        '<script>alert(1)</script><rect onclick="alert(1)" onload="x"/>',
        '<a xlink:href="http://127.0.0.1:9/"><rect/></a>',
        '<foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="/etc/passwd"/></foreignObject>',
        '<animate attributeName="x" values="1;2"/><set attributeName="href" to="/etc/passwd"/>',
        '<filter id="f"><feImage href="/etc/passwd"/></filter>',
        '<img xmlns="http://www.w3.org/1999/xhtml" src="/etc/passwd"/>',
        '<x:image xmlns:x="http://www.w3.org/2000/svg" href="/etc/passwd"/>',
    ],
)
def test_what_would_load_or_run_is_gone(inside: str) -> None:
    text = (
        sanitize(svg(inside))
        .text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        .replace('xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    )
    for trace in ("passwd", "http", "127.0.0.1", "script", "alert", "other.svg", "data:", "@", "anim"):
        assert trace not in text


def test_what_is_harmless_stays() -> None:
    inside = (
        '<defs><linearGradient id="g"><stop offset="0" stop-color="red"/></linearGradient></defs>'
        '<style>.a{fill:url(#g)}</style><rect class="a" width="4" height="3" style="stroke: blue"/>'
        f'<text x="1">a &lt; b<tspan>c</tspan></text><use xlink:href="#g"/><image href="{data_url(png(4, 4))}"/>'
        "<title>not shown</title>"
    )
    found = sanitize(b'<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd">' + svg(inside))
    for kept in ('class="a"', "fill:url(#g)", "a &lt; b<tspan>c</tspan>", 'xlink:href="#g"', data_url(png(4, 4))):
        assert kept in found.text
    assert "not shown" not in found.text
    assert (found.width, found.height, found.removed) == (40, 20, ())
    assert sanitize(svg("<script/><g><filter/></g>")).removed == ("script", "filter")


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('width="10mm" height="1in"', (37.8, 96)),
        ('viewBox="0 0 30 60"', (30, 60)),
        ('viewBox="0 0 30 60" width="90"', (90, 180)),
        ('width="100%" height="100%" viewBox="0,0,24,24"', (24, 24)),
        ('width="1e99" height="-1"', (300, 150)),
        ('viewBox="0 0 0 nan"', (300, 150)),
    ],
)
def test_its_size_is_told(attributes: str, size: tuple[float, float]) -> None:
    found = sanitize(svg("", attributes))
    assert (round(found.width, 1), round(found.height, 1)) == size


def laughs(levels: int) -> str:
    groups = [f'<g id="a{n}">' + f'<use xlink:href="#a{n - 1}"/>' * 10 + "</g>" for n in range(1, levels)]
    return f'<g id="a0"><rect/></g>{"".join(groups)}'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"<svg", "damaged"),
        (b"<html/>", "not an SVG"),
        (svg("<g>" * 40 + "</g>" * 40), "nested"),
        (svg("<rect/>" * (SHAPES_MAX + 1)), "shapes"),
        (svg(f'<g><g id="a">{"<rect/>" * 10_000}</g><g><use href="#a"/><g><use href="#a"/></g></g></g>'), "shapes"),
        (svg(laughs(9)), "shapes"),
        (svg('<g id="a"><use xlink:href="#b"/></g><g id="b"><use xlink:href="#a"/></g>'), "endlessly"),
        (b'<!DOCTYPE svg [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>' + svg("<text>&b;</text>"), "entities"),
        (b'<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + svg("<text>&a;</text>"), "entities"),
        (b" " * (BYTES_MAX + 1), "larger than 2 MiB, too large"),
    ],
)
def test_what_is_too_much_says_why(data: bytes, why: str) -> None:
    began = time.thread_time()
    with pytest.raises(DrawingError, match=why):
        sanitize(data)
    assert time.thread_time() - began < 2


@example('<g><rect width="1" fill="url(#a)"/><x href="http://h/"/></g>')
@given(st.text('<>/="svgrect #:url()', max_size=80))
def test_any_text_becomes_an_allowed_drawing_or_is_refused(text: str) -> None:
    data = svg(text)
    try:
        ElementTree.fromstring(data)
    except ElementTree.ParseError:
        with pytest.raises(DrawingError, match="damaged"):
            sanitize(data)
        return
    root = ElementTree.fromstring(sanitize(data).text)
    assert {one.tag.rpartition("}")[2] for one in root.iter()} <= {"svg", "g", "rect", "use"}


def test_a_drawing_is_known_by_how_it_begins() -> None:
    for head in (
        b"<svg>",
        b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- <html> -->\n<!DOCTYPE svg>\n<svg xmlns="">',
        b"<svg:svg ",
    ):
        assert is_svg(head)
        assert "drawing" in [view.name for view in ranked("image/svg+xml", head)]
    for head in (b"<p><svg>", b"<svgx>", b"svg", b'{"a":"<svg>"}'):
        assert not is_svg(head)
