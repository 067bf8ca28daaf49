"""The tests have the fonts that they choose, whatever the machine has."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fonts import NARROW, WIDE, configuration, font_files

FONTS_USED = """
from PySide6.QtGui import QGuiApplication, QRawFont
from app.ui.theme import icons
from app.ui.theme.fonts import mono_font, ui_font
application = QGuiApplication([])
icons.family()
print(QRawFont.fromFont(ui_font()).familyName(), QRawFont.fromFont(mono_font()).familyName(), sep="\\n")
"""
LIST_FAMILIES = """
from PySide6.QtGui import QFontDatabase, QGuiApplication
application = QGuiApplication([])
print("\\n".join(QFontDatabase.families()))
"""
ROOT = Path(__file__).parents[1]
GENERIC = {"Monospace", "Sans Serif", "Serif"}
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not ask fontconfig")


def printed(script: str, **variables: str) -> list[str]:
    """The lines that `script` prints as a program that a test starts."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", **variables}
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.splitlines()


def families(**variables: str) -> set[str]:
    return set(printed(LIST_FAMILIES, **variables)) - GENERIC


@linux
@pytest.mark.skipif(not font_files(WIDE), reason="DejaVu Sans is not installed")
def test_programs_find_the_chosen_font_only(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """And write no cache of fonts but their own."""
    home = tmp_path / "home"
    found = families(HOME=str(home), XDG_CACHE_HOME=str(home / ".cache"))
    if request.config.getoption("--font") == WIDE:
        assert found == {"DejaVu Sans", "DejaVu Sans Mono"}
    assert not list(home.rglob("*fontconfig*"))


@linux
def test_a_font_of_the_user_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [file for file in font_files(WIDE) if file.name == "DejaVuSansMono.ttf"]
    if not files:
        pytest.skip("DejaVu Sans Mono is not installed")
    (own := tmp_path / "data" / "fonts").mkdir(parents=True)
    (own / "MyMono-Regular.ttf").symlink_to(files[0])
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    chosen = configuration("MyMono-*", tmp_path / "chosen")
    assert families(FONTCONFIG_FILE=str(chosen)) == {"DejaVu Sans Mono"}


def test_fonts_that_are_not_installed_change_nothing(tmp_path: Path) -> None:
    assert configuration("NoSuchFont-*", tmp_path / "chosen") is None
    assert not (tmp_path / "chosen").exists()


@pytest.mark.skipif(not font_files(NARROW), reason="Yanone Kaffeesatz is not installed")
def test_the_narrow_font_has_its_weights() -> None:
    assert {"Regular", "Medium", "SemiBold", "Bold"} <= {file.stem.partition("-")[2] for file in font_files(NARROW)}


@linux
@pytest.mark.parametrize(
    ("choice", "text", "code"),
    [
        (WIDE, "DejaVu Sans", "DejaVu Sans Mono"),
        (NARROW, "Yanone Kaffeesatz", "Yanone Kaffeesatz"),
        ("Liberation*", "Liberation Sans", "Liberation Mono"),
        ("DejaVuSerifCondensed.ttf", "DejaVu Serif", "DejaVu Serif"),
    ],
)
def test_text_and_code_have_the_best_of_what_is_installed(tmp_path: Path, choice: str, text: str, code: str) -> None:
    """Never the font of the icons, which is loaded too."""
    chosen = configuration(choice, tmp_path / "chosen")
    if chosen is None:
        pytest.skip(f"{text} is not installed")
    assert printed(FONTS_USED, FONTCONFIG_FILE=str(chosen)) == [text, code]
