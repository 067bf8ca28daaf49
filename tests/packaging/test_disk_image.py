"""The disk image for macOS: who signs it and how, and, on macOS, the image itself."""

from __future__ import annotations

import plistlib
import subprocess
import sys
from pathlib import Path

import pytest

from macos import disk_image
from project import PackagingError

pytestmark = pytest.mark.long

IDENTITY = "Developer ID Application: Ann (ABCDE12345)"
NOTARY = dict(zip(disk_image.NOTARY, ("ann@hookline.example", "ABCDE12345", "secret"), strict=True))
APP, IMAGE = Path("Hookline.app"), Path("hookline.dmg")

macos_only = pytest.mark.skipif(sys.platform != "darwin", reason="hdiutil and codesign are on macOS only")


@pytest.mark.skipif(sys.platform == "darwin", reason="this is macOS")
def test_elsewhere_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match="made on macOS only"):
        disk_image.make_disk_image(tmp_path / "Hookline.app", tmp_path, "1.0")
    assert not list(tmp_path.iterdir())


def test_without_a_certificate_it_is_signed_ad_hoc_and_nothing_is_sent() -> None:
    # A repository without the secret hands in an empty text.
    identity, notary = disk_image.signing({disk_image.IDENTITY: "", disk_image.NOTARY[0]: ""})
    assert disk_image.sign_command(APP, identity) == ["codesign", "--force", "--deep", "--sign", "-", APP]
    assert disk_image.finishing_commands(IMAGE, identity, notary) == []


def test_with_a_certificate_the_program_and_the_image_are_signed() -> None:
    identity, notary = disk_image.signing({disk_image.IDENTITY: IDENTITY})
    command = disk_image.sign_command(APP, identity)
    assert command[:6] == ["codesign", "--force", "--deep", "--sign", IDENTITY, "--options"]
    assert command[-3:] == ["--entitlements", disk_image.ENTITLEMENTS, APP]
    (only,) = disk_image.finishing_commands(IMAGE, identity, notary)
    assert only == ["codesign", "--force", "--timestamp", "--sign", IDENTITY, IMAGE]


def test_what_is_notarised_is_signed_first_and_carries_the_ticket() -> None:
    identity, notary = disk_image.signing({disk_image.IDENTITY: IDENTITY, **NOTARY})
    signing, sending, stapling = disk_image.finishing_commands(IMAGE, identity, notary)
    assert signing[0] == "codesign"
    assert sending[:4] == ["xcrun", "notarytool", "submit", IMAGE]
    assert sending[4:] == [
        *("--apple-id", "ann@hookline.example", "--team-id", "ABCDE12345", "--password", "secret", "--wait")
    ]
    assert stapling == ["xcrun", "stapler", "staple", IMAGE]


@pytest.mark.parametrize("left_out", [disk_image.IDENTITY, *disk_image.NOTARY])
def test_half_of_what_the_notary_asks_for_is_an_error(left_out: str) -> None:
    given = {disk_image.IDENTITY: IDENTITY, **NOTARY}
    del given[left_out]
    with pytest.raises(PackagingError, match=f"Notarising needs {left_out} as well") as told:
        disk_image.signing(given)
    assert "secret" not in str(told.value)


def test_the_entitlements_are_a_property_list() -> None:
    known = plistlib.loads(disk_image.ENTITLEMENTS.read_bytes())
    assert known == {"com.apple.security.cs.allow-unsigned-executable-memory": True}


@macos_only
def test_the_image_holds_a_signed_program_and_a_link_to_applications(tmp_path: Path) -> None:
    contents = tmp_path / "Hookline.app" / "Contents"
    for name in ("MacOS", "Resources"):
        (contents / name).mkdir(parents=True)
    (contents / "MacOS" / "hookline").write_bytes(Path("/bin/echo").read_bytes())
    (contents / "MacOS" / "hookline").chmod(0o755)
    info = {"CFBundleExecutable": "hookline", "CFBundleIdentifier": "io.hookline.Hookline", "CFBundleName": "Hookline"}
    (contents / "Info.plist").write_bytes(plistlib.dumps(info))
    paper = tmp_path / "LICENSE"
    paper.write_text("free", "utf-8")
    image = disk_image.make_disk_image(contents.parent, tmp_path / "out", "1.0", [paper], {})
    place = tmp_path / "image"
    place.mkdir()
    subprocess.run(
        ["hdiutil", "attach", "-nobrowse", "-readonly", "-mountpoint", place, image], check=True, capture_output=True
    )
    try:
        subprocess.run(["codesign", "--verify", "--deep", "--strict", place / "Hookline.app"], check=True)
        assert (place / "Applications").readlink() == Path("/Applications")
        assert (place / "Hookline.app" / "Contents" / "Resources" / "LICENSE.txt").read_text("utf-8") == "free"
    finally:
        subprocess.run(["hdiutil", "detach", place], check=True, capture_output=True)


@macos_only
def test_a_missing_program_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(PackagingError, match=r"Info\.plist missing"):
        disk_image.make_disk_image(tmp_path / "Hookline.app", tmp_path, "1.0")
