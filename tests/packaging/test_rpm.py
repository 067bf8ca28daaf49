"""The .rpm, made for real from a stand-in bundle and read back by rpm itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from linux.rpm import make_rpm
from linux.sonames import Needs

pytestmark = pytest.mark.long

needs_rpm = pytest.mark.skipif(shutil.which("rpmbuild") is None, reason="no rpmbuild here")
EPOCH = 1_700_000_000
NEEDS = Needs("2.35", ("libEGL.so.1", "libGL.so.1"), ("libwayland-client.so.0",))


def build(out: Path, bundle: Path, share: Path, papers: list[Path]) -> Path:
    return make_rpm(bundle, share, papers, out, version="1.2.3", epoch=EPOCH, licence="MIT", needs=NEEDS)


def query(package: Path, *words: str) -> list[str]:
    return subprocess.run(
        ["rpm", "-qp", *words, package], capture_output=True, text=True, check=True
    ).stdout.splitlines()


@needs_rpm
def test_holds_the_tree_and_asks_for_what_it_lacks(
    tmp_path: Path, bundle: Path, share: Path, papers: list[Path]
) -> None:
    package = build(tmp_path / "hookline.rpm", bundle, share, papers)
    files = query(package, "--queryformat", "[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEMTIMES} %{FILENAMES}\n]")
    listed = {line.split(" ", 3)[3]: line.split(" ", 3)[:3] for line in files}
    assert listed["/usr/lib/hookline/hookline"] == ["-rwxr-xr-x", "root", str(EPOCH)]
    assert listed["/usr/share/man/man1/hookline.1.gz"][0] == "-rw-r--r--"
    assert listed["/usr/bin/hookline"][0].startswith("l")
    assert "/usr/share/licenses/hookline" in listed
    # Folders of the system are not ours, our own are.
    assert "/usr/lib/hookline/_internal" in listed
    assert not {"/usr/bin", "/usr/share", "/usr/share/applications", "/usr/lib"} & listed.keys()
    assert not [name for name in listed if "build-id" in name]
    needs = query(package, "--requires")
    assert {"libGL.so.1()(64bit)", "libEGL.so.1()(64bit)", "libc.so.6(GLIBC_2.35)(64bit)"} <= set(needs)
    assert "libwayland-client.so.0()(64bit)" not in needs
    assert "libwayland-client.so.0()(64bit)" in query(package, "--recommends")
    assert not [need for need in needs if "python" in need.lower() or need.startswith("/")]
    assert query(package, "--licensefiles") == [
        "/usr/share/licenses/hookline/LICENSE",
        "/usr/share/licenses/hookline/THIRD-PARTY-LICENCES.txt",
    ]
    assert query(package, "--scripts") == []
    facts = "%{NAME} %{VERSION} %{RELEASE} %{ARCH} %{PAYLOADCOMPRESSOR} %{BUILDTIME}"
    assert query(package, "--queryformat", facts) == [f"hookline 1.2.3 1 x86_64 xz {EPOCH}"]


@needs_rpm
def test_the_same_input_makes_the_same_bytes(tmp_path: Path, bundle: Path, share: Path, papers: list[Path]) -> None:
    first, second = (build(tmp_path / f"{n}.rpm", bundle, share, papers).read_bytes() for n in (1, 2))
    assert first == second
