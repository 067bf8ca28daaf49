"""Which views a body can be shown in is found out at once, whatever was sent."""

from __future__ import annotations

import time

import pytest

from app.core.bodies.format_registry import ranked
from app.core.bodies.formatter import HEAD


@pytest.mark.parametrize(
    "part", [b"<!---->", b"<!-- ->-->\n", b"<!--", b"<?xml ?>", b"<!DOCTYPE svg [", b"<!DOCTYPE svg>", b"<svg:", b" "]
)
def test_what_a_body_is_takes_no_time(part: bytes) -> None:
    """24 parts first: an expression that tries all ways would not end with as many as are looked at."""
    for count in (24, HEAD // len(part)):
        began = time.process_time()
        assert ranked("text/xml", part * count + b"x")
        assert time.process_time() - began < 0.3


def test_comments_may_come_before_a_page_or_a_drawing() -> None:
    before = b"<!-- a -- > b --><!---->\n" * 9
    assert "drawing" in [view.name for view in ranked("", before + b'<svg xmlns="http://www.w3.org/2000/svg"/>')]
    assert "page" in [view.name for view in ranked("", before + b"<!doctype html><p>")]
