"""What a bundle asks of the system, read from real programs and libraries."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import PySide6
import pytest

from linux.sonames import needs_of

pytestmark = pytest.mark.skipif(shutil.which("objdump") is None or sys.platform != "linux", reason="no objdump here")


def test_a_bundle_without_programs_asks_for_nothing(bundle: Path) -> None:
    needs = needs_of(bundle)
    assert (needs.required, needs.optional) == ((), ())


def test_what_lies_in_the_bundle_is_not_asked_for(bundle: Path) -> None:
    qt = Path(PySide6.__file__).parent / "Qt"
    for name in ("lib/libQt6Gui.so.6", "lib/libQt6WaylandClient.so.6"):
        shutil.copy(qt / name, bundle / "_internal")
    needs = needs_of(bundle)
    assert {"libGL.so.1", "libEGL.so.1", "libQt6Core.so.6"} <= set(needs.required)
    assert "libQt6Gui.so.6" not in needs.required
    assert "libwayland-client.so.0" in needs.optional
    assert not {"libc.so.6", "libm.so.6"} & set(needs.required)
    assert re.fullmatch(r"2\.\d+", needs.glibc)
    shutil.copy(qt / "lib/libQt6Core.so.6", bundle / "_internal")
    assert "libQt6Core.so.6" not in needs_of(bundle).required
