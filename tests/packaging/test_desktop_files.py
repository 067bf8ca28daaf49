"""What desktops and software centres are told: in step with the program, and valid by their own validators."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import pytest

import project
from app import __version__
from app.cli.parser import WINDOW, parse
from app.core.links import SCHEME, link_to_endpoint

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
DESKTOP = ROOT / "packaging" / "linux" / "hookline.desktop"
METAINFO = ROOT / "packaging" / "linux" / "io.hookline.Hookline.metainfo.xml"
KNOWN_COMPLAINTS = {"cid-contains-uppercase-letter", "unknown-tag developer", "developer-name-tag-deprecated"}
"""What validators of different ages say of things meant as they are; the metainfo gives the reasons."""


@pytest.fixture(scope="module")
def entries() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # keys of desktop entries have capitals
    parser.read_string(DESKTOP.read_text("utf-8"))
    return parser


@pytest.fixture(scope="module")
def metainfo() -> ElementTree.Element:
    return ElementTree.parse(METAINFO).getroot()


def texts(root: ElementTree.Element, path: str) -> list[str]:
    return [(element.text or "").strip() for element in root.iterfind(path)]


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


# -- desktop entry ---------------------------------------------------------------------------------------------------


@needs("desktop-file-validate")
def test_the_desktop_entry_is_valid_without_a_hint() -> None:
    done = subprocess.run(["desktop-file-validate", DESKTOP], capture_output=True, text=True, check=False)
    assert (done.stdout + done.stderr, done.returncode) == ("", 0)


def test_the_program_knows_all_that_the_desktop_entry_starts_it_with(entries: configparser.ConfigParser) -> None:
    """Without a link, `%u` stands for nothing."""
    program, *arguments = shlex.split(entries["Desktop Entry"]["Exec"])
    assert (program, arguments) == ("hookline", ["%u"])
    assert parse([]).command == WINDOW
    link = link_to_endpoint("stripe-test")
    assert parse([link]).link == link


def test_each_action_is_there_and_known_to_the_program(entries: configparser.ConfigParser) -> None:
    names = entries["Desktop Entry"]["Actions"].strip(";").split(";")
    assert [f"Desktop Action {name}" for name in names] == entries.sections()[1:]
    for name in names:
        program, *arguments = shlex.split(entries[f"Desktop Action {name}"]["Exec"])
        assert program == "hookline"
        assert parse(arguments).command == WINDOW


def test_links_are_opened_by_hookline(entries: configparser.ConfigParser, metainfo: ElementTree.Element) -> None:
    scheme = f"x-scheme-handler/{SCHEME.rstrip(':')}"
    assert entries["Desktop Entry"]["MimeType"] == f"{scheme};"
    assert texts(metainfo, "provides/mediatype") == [scheme]


@pytest.fixture
def display() -> Iterator[str]:
    """An X server of its own, its number chosen by itself."""
    command = ["Xvfb", "-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "1280x800x24"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield f":{server.stdout.readline().strip()}"
        finally:
            server.terminate()


@needs("Xvfb")
@needs("xprop")
def test_the_real_window_belongs_to_the_desktop_entry(
    entries: configparser.ConfigParser, display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise docks show a second icon, without a name, beside the one that was clicked."""
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    command = [sys.executable, "-m", "hookline", "--data-dir", tmp_path, "--port", "0", "--api-port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as program:
        try:
            said = window_properties("Hookline", "WM_CLASS", "_KDE_NET_WM_DESKTOP_FILE")
        finally:
            program.terminate()
    assert re.search(r"WM_CLASS.* = .*, \"(.*)\"", said)[1] == entries["Desktop Entry"]["StartupWMClass"]  # type: ignore[index]
    assert f'_KDE_NET_WM_DESKTOP_FILE(UTF8_STRING) = "{DESKTOP.stem}"' in said


def window_properties(name: str, *properties: str) -> str:
    """What xprop says of the window called `name`, once it is there and has them: its name is set before its class."""
    for _ in range(300):
        done = subprocess.run(["xprop", "-name", name, *properties], capture_output=True, text=True, check=False)
        if done.returncode == 0 and "not found" not in done.stdout:
            return done.stdout
        time.sleep(0.1)
    raise AssertionError(f"no window {name} with {properties} appeared: {done.stdout}{done.stderr}")


# -- metainfo --------------------------------------------------------------------------------------------------------


@needs("appstreamcli")
def test_the_metainfo_is_valid() -> None:
    command = ["appstreamcli", "validate", "--no-net", "--pedantic", "--no-color", METAINFO]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    complaints = [line for line in done.stdout.splitlines() if re.match(r"[EWIP]: ", line)]
    assert [line for line in complaints if not any(known in line for known in KNOWN_COMPLAINTS)] == []


def test_the_newest_release_is_this_version(metainfo: ElementTree.Element) -> None:
    """When the changelog dates it, both name the same day."""
    newest = metainfo.find("releases/release")
    assert newest is not None
    assert newest.attrib["version"] == __version__
    day = date.fromisoformat(newest.attrib["date"]).isoformat()
    heading = re.search(
        rf"^## {re.escape(__version__)}\b(.*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert heading is None or day in heading[1]


def test_releases_are_told_newest_first(metainfo: ElementTree.Element) -> None:
    days = [release.attrib["date"] for release in metainfo.iterfind("releases/release")]
    assert days == sorted(days, reverse=True)


def test_the_metainfo_names_the_desktop_entry_and_the_program(
    entries: configparser.ConfigParser, metainfo: ElementTree.Element
) -> None:
    entry = entries["Desktop Entry"]
    assert texts(metainfo, "launchable") == [DESKTOP.name]
    assert texts(metainfo, "name") == [entry["Name"]]
    assert texts(metainfo, "icon") == [entry["Icon"]]
    assert texts(metainfo, "categories/category") == entry["Categories"].strip(";").split(";")
    assert texts(metainfo, "provides/binary") == ["hookline"]
    assert texts(metainfo, "id")[0] + ".metainfo.xml" == METAINFO.name
    assert texts(metainfo, "url[@type='homepage']") == [project.HOME]


def test_each_screenshot_is_one_that_make_screenshots_draws(metainfo: ElementTree.Element) -> None:
    images = list(metainfo.iterfind("screenshots/screenshot/image"))
    assert len(images) >= 3
    for image in images:
        folder, _, name = (image.text or "").rpartition("/")
        assert folder == f"{project.HOME}/screenshots"
        assert (image.attrib["width"], image.attrib["height"]) == ("1280", "800")
        assert (ROOT / "docs" / "screenshots" / name).is_file()
