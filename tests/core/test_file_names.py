"""A name that somebody else chose leads nowhere but to one plain file."""

from __future__ import annotations

import ntpath
import sys
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bodies.escape import HIDDEN
from app.core.file_names import BYTES_MAX, LENGTH_MAX, safe_name


@pytest.mark.parametrize(
    ("sent", "safe"),
    [
        ("photo.png", "photo.png"),
        ("Übersicht 2026.pdf", "Übersicht 2026.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\x\\a.txt", "a.txt"),
        ("/abs/", None),
        (".bashrc", "bashrc"),
        ("...", None),
        ("", None),
        (None, None),
        ("NUL", "_NUL"),
        ("con.txt", "_con.txt"),
        ("com\u00b9.log", "_com\u00b9.log"),
        ("console.txt", "console.txt"),
        ("a\u202egpj.exe", "agpj.exe"),
        ("a\0b\r\n.txt", "ab.txt"),
        ('a:b|"c"?.txt', "a_b__c__.txt"),
        ("dots. . .", "dots"),
        ("???", None),
        ("x" * 500 + ".png", "x" * (LENGTH_MAX - 4) + ".png"),
    ],
)
def test_a_name_is_made_safe(sent: str | None, safe: str | None) -> None:
    assert safe_name(sent) == safe


def reserved(name: str) -> bool:
    """Whether Windows keeps `name` for a device, as Python tells it."""
    if sys.version_info >= (3, 13):
        return ntpath.isreserved(name)
    return PureWindowsPath(name).is_reserved()


@given(st.text(max_size=400) | st.text("./\\ CONnul1:\ud800\u202e😀", max_size=300))
def test_any_name_is_made_safe(sent: str) -> None:
    safe = safe_name(sent)
    if safe is None:
        return
    assert Path("/tmp", safe).parent == Path("/tmp")
    assert PureWindowsPath("C:/x", safe).parent == PureWindowsPath("C:/x")
    assert not reserved(safe)
    assert not safe.startswith(".")
    assert not safe.endswith((".", " "))
    assert not HIDDEN.search(safe)
    assert len(safe) <= LENGTH_MAX + 1
    assert len(safe.encode()) <= BYTES_MAX + 1
    assert safe_name(safe) == safe
