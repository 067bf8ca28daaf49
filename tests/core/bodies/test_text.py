"""Text that is more likely binary is recognised by its zeros and control characters."""

from __future__ import annotations

import pytest

from app.core.bodies.formats.text import is_binary


@pytest.mark.parametrize(
    ("text", "binary"),
    [
        ("", False),
        ("a\tb\r\nc\f\x1b[0m", False),
        ("a\0b", True),
        ("\x01" + 19 * "a", False),  # one in twenty is as many as text may have
        ("\x01" + 18 * "a", True),
        ("\x01\x02" + 38 * "a", False),
        ("\x01\x02" + 37 * "a", True),
    ],
)
def test_control_characters_and_zeros_make_text_binary(text: str, binary: bool) -> None:
    assert is_binary(text) is binary
