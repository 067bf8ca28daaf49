"""The Debian package, read back by dpkg: what it holds, whose, and what it asks of the system."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linux.deb import installed_kib, make_deb
from linux.needed import either
from linux.share import sorted_version
from project import PackagingError, version

TOOLS = ("dpkg", "dpkg-deb", "dpkg-shlibdeps")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not all(map(shutil.which, TOOLS)), reason="a Debian package is made by dpkg, dpkg-deb and dpkg-shlibdeps"
    ),
]
LIB = "./usr/lib/hookline"


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A bundle of a real program, a library, a link, and text that anyone may write; and an icon."""
    folder = tmp_path_factory.mktemp("deb")
    bundle, icons = folder / "hookline", folder / "icons"
    (bundle / "_internal").mkdir(parents=True)
    icons.mkdir()
    program = Path(shutil.which("true") or "/bin/true")
    shutil.copy(program, bundle / "hookline")
    shutil.copy(program, bundle / "_internal/libpart.so.1.2")
    (bundle / "_internal/libpart.so.1").symlink_to("libpart.so.1.2")
    (bundle / "_internal/text").write_text("text\n", "utf-8")
    (bundle / "_internal/text").chmod(0o666)
    (icons / "hookline-16.png").touch()
    return bundle, icons


@pytest.fixture(scope="module")
def made(stand_in: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_deb(*stand_in, tmp_path_factory.mktemp("out") / "new" / "hookline.deb", "1.2.0rc1")


def ask(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def contents(made: Path) -> Iterator[dict[str, tarfile.TarInfo]]:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", made], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
            yield {entry.name: entry for entry in archive}


def field(made: Path, name: str) -> str:
    return ask("dpkg-deb", "--field", made, name).strip()


def test_everything_belongs_to_root_and_lies_below_usr(contents: dict[str, tarfile.TarInfo]) -> None:
    assert {(entry.uid, entry.gid, entry.uname, entry.gname) for entry in contents.values()} == {(0, 0, "root", "root")}
    assert {name.split("/")[1] for name in contents if "/" in name} == {"usr"}


def test_only_the_program_may_be_started(contents: dict[str, tarfile.TarInfo]) -> None:
    assert {name for name, entry in contents.items() if entry.isfile() and entry.mode != 0o644} == {f"{LIB}/hookline"}
    assert contents[f"{LIB}/hookline"].mode == 0o755
    assert {entry.mode for entry in contents.values() if entry.isdir()} == {0o755}


def test_links_stay_links(contents: dict[str, tarfile.TarInfo]) -> None:
    links = {name: entry.linkname for name, entry in contents.items() if entry.issym()}
    assert links == {
        "./usr/bin/hookline": "../lib/hookline/hookline",
        f"{LIB}/_internal/libpart.so.1": "libpart.so.1.2",
    }


def test_brings_what_packages_share_and_what_debian_wants(contents: dict[str, tarfile.TarInfo]) -> None:
    for name in (
        "applications/hookline.desktop",
        "doc/hookline/changelog.gz",
        "doc/hookline/copyright",
        "lintian/overrides/hookline",
        "man/man1/hookline.1.gz",
        "zsh/vendor-completions/_hookline",
    ):
        assert f"./usr/share/{name}" in contents


def test_says_what_it_is(made: Path) -> None:
    assert field(made, "Package") == "hookline"
    assert field(made, "Version") == "1.2.0~rc1"
    assert field(made, "Architecture") == ask("dpkg", "--print-architecture").strip()
    assert "@" in field(made, "Maintainer")
    summary, *text = field(made, "Description").splitlines()
    assert 20 < len(summary) < 80
    assert all(line.startswith(" ") and len(line) <= 81 for line in text)


def test_depends_on_what_its_programs_link_to_and_on_data_they_read(made: Path) -> None:
    depends = field(made, "Depends").split(", ")
    assert any(package.startswith("libc6 (>= ") for package in depends)
    assert "xkb-data" in depends
    assert any("fonts-dejavu-core | " in package for package in depends)


def test_has_no_scripts(made: Path) -> None:
    names = ask("dpkg-deb", "--info", made)
    for script in ("preinst", "postinst", "prerm", "postrm"):
        assert script not in names


def test_dpkg_can_verify_what_it_installed(made: Path, tmp_path: Path) -> None:
    ask("dpkg-deb", "--raw-extract", made, tmp_path / "tree")
    done = subprocess.run(
        ["md5sum", "--check", "--quiet", "DEBIAN/md5sums"],
        cwd=tmp_path / "tree",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    listed = len((tmp_path / "tree/DEBIAN/md5sums").read_text("utf-8").splitlines())
    files = [path for path in (tmp_path / "tree/usr").rglob("*") if path.is_file() and not path.is_symlink()]
    assert listed == len(files)
    assert field(made, "Installed-Size") == str(installed_kib(tmp_path / "tree"))


@pytest.mark.parametrize(
    ("ours", "debians"),
    [("1.2.0", "1.2.0"), ("1.2.0rc1", "1.2.0~rc1"), ("1.2.0.dev3", "1.2.0~dev3"), ("2.0a1", "2.0~a1")],
)
def test_a_version_before_the_release_sorts_before_it(ours: str, debians: str) -> None:
    assert sorted_version(ours) == debians
    final = ours.split("rc", maxsplit=1)[0].split(".dev", maxsplit=1)[0].split("a", maxsplit=1)[0]
    order = "lt" if ours != final else "eq"
    assert subprocess.run(["dpkg", "--compare-versions", debians, order, final], check=False).returncode == 0


def test_a_library_renamed_for_64_bit_dates_will_do_by_either_name() -> None:
    assert either("libglib2.0-0t64 (>= 2.80)") == "libglib2.0-0t64 (>= 2.80) | libglib2.0-0 (>= 2.80)"
    assert either("libcups2t64") == "libcups2t64 | libcups2"
    assert either("libc6 (>= 2.35)") == "libc6 (>= 2.35)"


def test_a_bundle_that_is_missing_ends_without_a_package(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make_deb(tmp_path / "none", tmp_path, tmp_path / "x.deb")
    assert not (tmp_path / "x.deb").exists()


def test_a_library_nobody_has_is_refused_with_its_name(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler is installed")
    bundle, icons = tmp_path / "hookline", tmp_path / "icons"
    bundle.mkdir()
    icons.mkdir()
    (icons / "hookline-16.png").touch()
    library = tmp_path / "libnobodyhas.so"
    source = tmp_path / "x.c"
    source.write_text("int answer(void) { return 42; } int main(void) { return answer(); }\n", "utf-8")
    ask(compiler, "-shared", "-fPIC", "-o", library, source)
    source.write_text("int answer(void); int main(void) { return answer(); }\n", "utf-8")
    ask(compiler, "-o", bundle / "hookline", source, library)
    with pytest.raises(PackagingError, match="dpkg-shlibdeps"):
        make_deb(bundle, icons, tmp_path / "x.deb")
    assert not (tmp_path / "x.deb").exists()


def test_the_version_is_hooklines_own_and_the_bytes_are_the_same_each_time(
    stand_in: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    one, two = (make_deb(*stand_in, tmp_path / name) for name in ("one.deb", "two.deb"))
    assert field(one, "Version") == sorted_version(version())
    assert one.read_bytes() == two.read_bytes()
