"""The .tar.gz: what is in it, that it is the same each time, and `install.sh` from it in a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from linux.tarball import make_tarball

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="for Linux only")]
NAME = "hookline-1.2.3-linux-x86_64"
FACTS = {"version": "1.2.3", "epoch": 1_700_000_000, "glibc": "2.35"}


@pytest.fixture
def tarball(tmp_path: Path, bundle: Path, share: Path, papers: list[Path]) -> Path:
    return make_tarball(bundle, share, papers, tmp_path / "dist" / f"{NAME}.tar.gz", **FACTS)  # type: ignore[arg-type]


@pytest.fixture
def unpacked(tmp_path: Path, tarball: Path) -> Path:
    target = tmp_path / "un packed"
    with tarfile.open(tarball) as archive:
        archive.extractall(target, filter="data")
    return target / NAME


def test_programs_alone_can_be_started(tmp_path: Path, bundle: Path, share: Path, papers: list[Path]) -> None:
    papers[0].chmod(0o755)  # as some wheels have it
    made = make_tarball(bundle, share, papers, tmp_path / "one.tar.gz", **FACTS)  # type: ignore[arg-type]
    with tarfile.open(made) as archive:
        started = {member.name for member in archive.getmembers() if member.isfile() and member.mode & 0o111}
    assert started == {"one/hookline", "one/install.sh"}


def test_all_lies_under_one_folder_owned_by_root_and_dated(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        members = archive.getmembers()
    assert {member.name.split("/")[0] for member in members} == {NAME}
    assert {(m.uid, m.gid, m.uname, m.gname, m.mtime) for m in members} == {(0, 0, "root", "root", 1_700_000_000)}
    names = {member.name.removeprefix(f"{NAME}/"): member for member in members}
    for name in ("hookline", "install.sh", "LICENSE", "THIRD-PARTY-LICENCES.txt", "share/man/man1/hookline.1.gz"):
        assert name in names
    assert (names["hookline"].mode, names["LICENSE"].mode) == (0o755, 0o644)
    assert names["_internal/libpart.so.1"].linkname == "lib/libpart.so.1.2"


def test_the_same_input_makes_the_same_bytes(
    tmp_path: Path, tarball: Path, bundle: Path, share: Path, papers: list[Path]
) -> None:
    for path in bundle.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (1, 1))
    again = make_tarball(bundle, share, papers, tmp_path / "again" / tarball.name, **FACTS)  # type: ignore[arg-type]
    assert again.read_bytes() == tarball.read_bytes()


def test_the_readme_names_version_and_glibc(unpacked: Path) -> None:
    text = (unpacked / "README.txt").read_text("utf-8")
    assert text.startswith("Hookline 1.2.3\n")
    assert "glibc 2.35" in text
    assert "@" not in text


def test_the_program_starts_from_where_it_was_unpacked(unpacked: Path, tmp_path: Path) -> None:
    shown = subprocess.run([unpacked / "hookline", "a b"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert shown.stdout == "a b\n"


class Home:
    """A home folder, and what `install.sh` of an unpacked tarball does in it."""

    def __init__(self, folder: Path, unpacked: Path) -> None:
        self.folder, self.unpacked = folder, unpacked
        folder.mkdir()
        self.lib = folder / ".local/lib/hookline"

    def install(self, *words: str, script: Path | None = None) -> subprocess.CompletedProcess[str]:
        environment = {"HOME": str(self.folder), "PATH": "/usr/bin:/bin"}
        command = [script or self.unpacked / "install.sh", *words]
        return subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)

    def files(self) -> set[str]:
        found = (path for path in self.folder.rglob("*") if path.is_symlink() or path.is_file())
        return {path.relative_to(self.folder).as_posix() for path in found}


@pytest.fixture
def home(tmp_path: Path, unpacked: Path) -> Home:
    return Home(tmp_path / "ho&me $x 5% \\", unpacked)


def without_caches(files: set[str]) -> set[str]:
    """What desktop tools write themselves, where they are installed, does not count."""
    return {name for name in files if not name.endswith((".cache", "mimeinfo.cache"))}


def test_installs_into_the_home_and_starts(home: Home) -> None:
    done = home.install()
    assert (done.returncode, done.stderr) == (0, "")
    assert str(home.folder / ".local/bin/hookline") in done.stdout
    shown = subprocess.run([home.folder / ".local/bin/hookline", "x"], capture_output=True, text=True, check=True)
    assert shown.stdout == "x\n"
    assert (home.lib / "_internal/libpart.so.1").read_bytes() == b"part"
    assert (home.folder / ".local/share/man/man1/hookline.1.gz").is_file()


def test_the_menu_entry_names_the_program_with_its_folder(home: Home) -> None:
    home.install()
    entry = (home.folder / ".local/share/applications/hookline.desktop").read_text("utf-8")
    # Escaped for the quotes, and that once more as every string of a desktop entry.
    quoted = str(home.lib / "hookline").replace("\\", "\\" * 4).replace("$", "\\\\$").replace("%", "%%")
    assert f'\nExec="{quoted}" %u\n' in entry
    assert f'\nExec="{quoted}" --new-endpoint\n' in entry


def test_an_upgrade_replaces_the_program_and_keeps_portable_data(home: Home) -> None:
    home.install()
    (home.lib / "_internal/gone-in-the-next").touch()
    (home.lib / "hookline.portable").touch()
    (home.lib / "hookline-data").mkdir()
    (home.lib / "hookline-data/hookline.db").touch()
    (home.unpacked / "share/man/man1/hookline.1.gz").unlink()
    assert home.install().returncode == 0
    assert not (home.lib / "_internal/gone-in-the-next").exists()
    assert (home.lib / "hookline-data/hookline.db").exists()
    assert not (home.folder / ".local/share/man/man1/hookline.1.gz").exists()
    assert sorted(path.name for path in home.lib.iterdir() if path.name.startswith(".")) == []


def test_uninstalling_leaves_nothing_but_the_users_files(home: Home) -> None:
    data = home.folder / ".local/share/hookline/hookline.db"
    data.parent.mkdir(parents=True)
    data.touch()
    before = home.files()
    home.install()
    # Also from the installed copy: the unpacked folder may be gone by then.
    assert home.install("--uninstall", script=home.lib / "install.sh").returncode == 0
    assert without_caches(home.files()) == before
    assert not home.lib.exists()
    assert not (home.folder / ".local/share/man").exists()


def test_uninstalling_keeps_portable_data_and_says_so(home: Home) -> None:
    home.install()
    (home.lib / "hookline-data").mkdir()
    done = home.install("--uninstall")
    assert (home.lib / "hookline-data").is_dir()
    assert f"Kept: {home.lib}" in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [(("--uninstall",), 1, "not installed"), (("--wrong",), 2, "usage"), (("--help",), 0, "usage")],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    home: Home, words: tuple[str, ...], code: int, says: str
) -> None:
    done = home.install(*words)
    assert done.returncode == code
    assert says in done.stdout + done.stderr
    assert home.files() == set()


def test_the_installed_one_does_not_install_itself(home: Home, tmp_path: Path) -> None:
    home.install()
    before = home.files()
    (tmp_path / "link").symlink_to(home.folder)
    for folder in (home.folder, tmp_path / "link"):
        done = home.install(script=folder / ".local/lib/hookline/install.sh")
        assert (done.returncode, home.files()) == (1, before)
        assert "this is the installed Hookline" in done.stderr


def test_a_program_of_somebody_elses_is_not_overwritten(home: Home) -> None:
    other = home.folder / ".local/bin/hookline"
    other.parent.mkdir(parents=True)
    other.write_text("mine", "utf-8")
    done = home.install()
    assert done.returncode == 1
    assert "not a link to Hookline" in done.stderr
    assert home.files() == {".local/bin/hookline"}


def test_a_half_unpacked_folder_is_not_installed(home: Home) -> None:
    (home.unpacked / "hookline").unlink()
    done = home.install()
    assert done.returncode == 1
    assert "Unpack it again" in done.stderr
    assert home.files() == set()
