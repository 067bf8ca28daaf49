"""A library that the window needs and the system lacks is named, with what installs it; no traceback, no abort."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from app.system.display import (
    PACKAGES,
    explained,
    families,
    how_to_install,
    how_to_install_fonts,
    why_no_qt,
)
from tests.e2e.program import environment

ROOT = Path(__file__).parents[2]
ABSENT = "libEGL.so.1: cannot open shared object file: No such file or directory"


def test_a_missing_library_is_named_with_the_command_that_installs_it() -> None:
    text = explained(ABSENT, system=("ubuntu", "debian"))
    assert "libEGL.so.1" in text
    assert text.endswith("To install: sudo apt install libegl1")
    assert "hookline serve" in text


def test_all_that_is_missing_is_named_at_once_and_a_package_only_once() -> None:
    text = explained(ABSENT, ["libxcb-shm.so.0", "libEGL.so.1", "libxcb-xkb.so.1"], system=("fedora",))
    assert text.endswith("To install: sudo dnf install mesa-libEGL libxcb")


@pytest.mark.parametrize(
    ("system", "command"),
    [
        (("debian",), "sudo apt install libgl1"),
        (("linuxmint", "ubuntu", "debian"), "sudo apt install libgl1"),
        (("rocky", "rhel", "centos", "fedora"), "sudo dnf install mesa-libGL"),
        (("opensuse-leap", "suse", "opensuse"), "sudo zypper install 'libGL.so.1()(64bit)'"),
        (("arch",), "your system's package manager"),
        ((), "your system's package manager"),
    ],
)
def test_each_system_is_told_its_own_way(system: tuple[str, ...], command: str) -> None:
    assert command in how_to_install(["libGL.so.1"], system)


def test_a_library_nobody_has_heard_of_is_left_to_the_user_or_to_what_rpm_knows() -> None:
    assert "package manager" in how_to_install(["libGL.so.1", "libnew.so.3"], ("debian",))
    assert "'libnew.so.3()(64bit)'" in how_to_install(["libnew.so.3"], ("fedora",))


def test_fonts_have_packages_too() -> None:
    assert "sudo apt install fonts-dejavu-core" in how_to_install_fonts(("debian",))
    assert "dejavu" in how_to_install_fonts(("fedora",))


@pytest.mark.parametrize(
    ("trouble", "part"),
    [
        ("/lib/libc.so.6: version `GLIBC_2.38' not found (required by /x/libQt6Core.so.6)", "GLIBC 2.38"),
        ("/usr/lib/libEGL.so.1: file too short", "file too short"),
        ("Error loading shared library libGL.so.1: No such file or directory (needed by libq.so)", "libGL.so.1."),
    ],
)
def test_other_words_of_the_loader_are_passed_on(trouble: str, part: str) -> None:
    text = explained(trouble, system=())
    assert part in text
    assert "hookline serve" in text


def test_the_system_is_read_from_os_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = tmp_path / "os-release"

    def read(content: bytes | None) -> tuple[str, ...]:
        release.unlink(missing_ok=True)
        if content is not None:
            release.write_bytes(content)
        monkeypatch.setattr("platform._os_release_candidates", (str(tmp_path / "none"), str(release)))
        monkeypatch.setattr("platform._os_release_cache", None)
        return families()

    rocky = b'NAME="Rocky Linux"\nID="rocky"\n# ID=no\nID_LIKE="rhel centos fedora"\n'
    assert read(rocky) == ("rocky", "rhel", "centos", "fedora")
    assert read(b'ID=debian\nVERSION_ID="12\n') == ("debian",)
    assert read(b"ID=\xff\n") == ()
    assert read(None) == ()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there the system's loader is asked")
class TestReally:
    """With the real Qt."""

    def test_here_nothing_is_missing(self) -> None:
        assert why_no_qt({"QT_QPA_PLATFORM": "offscreen"}) is None

    def test_a_platform_that_is_not_there_is_named(self) -> None:
        text = why_no_qt({"QT_QPA_PLATFORM": "nonesuch"}) or ""
        assert "nonesuch" in text
        assert "offscreen" in text

    @pytest.mark.parametrize(("arguments", "code"), [((), 3), (("selftest",), 1)])
    def test_the_program_ends_with_words(self, tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
        """Its Qt has a platform plugin that asks for a library of a name that no system has."""
        self._lame_qt(tmp_path)
        env = environment(
            PYTHONPATH=str(tmp_path), QT_QPA_PLATFORM="offscreen", DISPLAY="", WAYLAND_DISPLAY="", PYTHONWARNINGS=""
        )
        command = [sys.executable, "-m", "hookline", *arguments]
        done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == code
        told = done.stdout if arguments else done.stderr
        assert "libX1X.so.6" in told
        assert "Traceback" not in done.stderr + done.stdout
        assert len(done.stderr.splitlines()) == (0 if arguments else 2)

    def _lame_qt(self, folder: Path) -> None:
        spec = importlib.util.find_spec("PySide6")
        assert spec is not None
        assert spec.submodule_search_locations
        real = Path(spec.submodule_search_locations[0]) / "Qt"
        plugins = folder / "PySide6" / "Qt" / "plugins" / "platforms"
        plugins.mkdir(parents=True)
        (folder / "PySide6" / "__init__.py").touch()
        (folder / "PySide6" / "Qt" / "lib").symlink_to(real / "lib")
        plugin = (real / "plugins" / "platforms" / "libqoffscreen.so").read_bytes()
        assert b"libX11.so.6\0" in plugin
        (plugins / "libqoffscreen.so").write_bytes(plugin.replace(b"libX11.so.6\0", b"libX1X.so.6\0"))


def test_the_table_names_libraries_and_packages() -> None:
    assert all(".so." in name and all(packages) for name, packages in PACKAGES.items())
