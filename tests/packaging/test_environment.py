"""The set-up script's decisions: which Python, which system packages, and when everything is already there."""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import system

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]


def load(name: str) -> ModuleType:
    """The script as a module; by path, because `packaging` is also the name of a package that pytest uses."""
    spec = importlib.util.spec_from_file_location(f"hookline_{name}", ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


environment = load("environment")


def program(folder: Path, name: str, prints: str) -> str:
    """A real program that prints `prints` whatever it is asked."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{prints}'\n", "utf-8")
    path.chmod(0o755)
    return str(path)


posix = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in programs are shell scripts")


def test_takes_the_python_that_runs_it() -> None:
    path, version = environment.find_python()
    assert Path(path) == Path(sys.executable)
    assert version == sys.version_info[:3]


@posix
def test_takes_a_newer_python_from_path_when_its_own_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = program(tmp_path, "old", "3 9 2")
    program(tmp_path, "python3.13", "3 10 0")
    newer = program(tmp_path, "python3.12", "3 12 4")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert environment.find_python(old, ("python3.13", "python3.12")) == (newer, (3, 12, 4))


@posix
def test_says_what_to_do_when_no_python_is_new_enough(tmp_path: Path) -> None:
    with pytest.raises(environment.SetUpError, match=r"needs Python 3\.11 or newer; .*old is 3\.9\.2 .*PYTHON="):
        environment.find_python(program(tmp_path, "old", "3 9 2"), ("no-such-python",))


def test_an_interpreter_that_does_not_run_has_no_version(tmp_path: Path) -> None:
    assert environment.version_of(str(tmp_path / "gone")) == ()


def test_only_packages_called_installed_count() -> None:
    listing = "installed libegl1\nconfig-files libgl1\nnot-installed libdbus-1-3\n\n"
    assert system.installed(listing) == {"libegl1"}


def test_any_of_a_librarys_names_will_do() -> None:
    wanted = (("libegl1",), ("libglib2.0-0t64", "libglib2.0-0"), ("libgl1",))
    assert system.missing(wanted, {"libegl1", "libglib2.0-0"}) == (("libgl1",),)
    assert system.missing(wanted, {"libegl1", "libglib2.0-0t64", "libgl1"}) == ()


def test_any_version_of_the_database_will_do() -> None:
    assert system.missing(system.TEST_DATABASE, {"postgresql-16"}) == ()


@posix
def test_asks_apt_for_the_name_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = tmp_path / "apt-cache"
    known.write_text('#!/bin/sh\ntest "$2" = libglib2.0-0 && echo "Package: $2"\n', "utf-8")
    known.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    wanted = (("libglib2.0-0t64", "libglib2.0-0"), ("unknown-new", "unknown-old"))
    assert system.apt_names(wanted) == ["libglib2.0-0", "unknown-old"]


@posix
def test_without_root_prints_the_line_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(tmp_path, "dpkg-query", "installed libegl1")
    for name in ("apt-get", "apt-cache"):
        program(tmp_path, name, "Package: any")
    (tmp_path / "sudo").write_text("#!/bin/sh\nexit 1\n", "utf-8")
    (tmp_path / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    system.install_system((("libegl1",), ("libgl1",)))
    assert "sudo apt-get install --no-install-recommends libgl1\n" in capsys.readouterr().err


def line_to_type(folder: Path, packages: str) -> list[str]:
    """The words of the one line that `environment` prints for its `packages`. It runs for real, as somebody without
    root, on a system that has nothing.
    """
    for name, prints in (("dpkg-query", ""), ("apt-get", ""), ("apt-cache", "Package: any")):
        program(folder, name, prints)
    (folder / "sudo").write_text("#!/bin/sh\nexit 1\n", "utf-8")
    (folder / "sudo").chmod(0o755)
    start = "import os, sys, environment, system; os.geteuid = lambda: 1000; "
    start += f"system.install_system(environment.{packages})"
    told = subprocess.run(
        [sys.executable, "-c", start],
        env={"PATH": f"{folder}:/usr/bin:/bin", "PYTHONPATH": str(ROOT / "packaging")},
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    (line,) = [line for line in told.splitlines() if "sudo apt-get install" in line]
    return line.split()


@posix
@pytest.mark.parametrize(
    ("option", "program_of"), [("build", "rpm"), ("trial", "debootstrap"), ("fonts", "fonts-inter")]
)
def test_each_option_names_its_system_packages_in_one_line(tmp_path: Path, option: str, program_of: str) -> None:
    assert program_of in line_to_type(tmp_path, f"EXTRAS[{option!r}][0]")


@posix
def test_work_on_the_code_also_needs_the_fonts_and_the_database_of_the_tests(tmp_path: Path) -> None:
    own = set(line_to_type(tmp_path, "SYSTEM['dev']")) - set(line_to_type(tmp_path, "SYSTEM['run']"))
    assert own == {"fonts-dejavu-core", "fonts-yanone-kaffeesatz", "postgresql"}


def test_no_system_package_is_listed_twice() -> None:
    names = [
        name
        for group in (
            *(system.QT_LIBRARIES, system.TEST_FONTS, system.TEST_DATABASE),
            *(system.FONTS, system.BUILD, system.TRIAL),
        )
        for e in group
        for name in e
    ]
    assert sorted(names) == sorted(set(names))


def checkout(folder: Path) -> Path:
    """The files that decide what is installed."""
    (folder / "requirements").mkdir()
    (folder / "requirements" / "run.txt").write_text("a==1\n", "utf-8")
    (folder / "requirements" / "dev.txt").write_text("a==1\nb==1\n", "utf-8")
    (folder / "requirements" / "docs.txt").write_text("c==1\n", "utf-8")
    (folder / "pyproject.toml").write_text("[project]\n", "utf-8")
    (folder / ".venv").mkdir()
    return folder


def note(root: Path, kind: str) -> None:
    environment.stamp_file(root / ".venv", kind).write_text(environment.stamp(root, kind, (3, 11, 7)), "utf-8")


@pytest.mark.parametrize(
    ("noted", "wanted", "holds"),
    [
        *[((), "run", False), (("dev",), "run", True), (("dev",), "dev", True), (("run",), "run", True)],
        *[(("run",), "dev", False), (("dev",), "docs", False), (("dev", "docs"), "docs", True)],
    ],
)
def test_the_packages_for_work_on_the_code_hold_those_to_run_and_no_others(
    tmp_path: Path, noted: tuple[str, ...], wanted: str, holds: bool
) -> None:
    root = checkout(tmp_path)
    for kind in noted:
        note(root, kind)
    assert environment.up_to_date(root, root / ".venv", wanted, (3, 11, 7)) is holds


@pytest.mark.parametrize("changed", ["requirements/dev.txt", "pyproject.toml"])
def test_a_changed_lock_or_project_is_installed_anew(tmp_path: Path, changed: str) -> None:
    root = checkout(tmp_path)
    note(root, "dev")
    (root / changed).write_text("changed\n", "utf-8")
    assert not environment.up_to_date(root, root / ".venv", "dev", (3, 11, 7))


def test_another_python_is_installed_anew(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    note(root, "dev")
    assert not environment.up_to_date(root, root / ".venv", "dev", (3, 13, 0))


def test_the_locks_name_no_address_and_agree() -> None:
    pins = {}
    for kind in ("run", "dev", "bundle", "docs"):
        text = (ROOT / "requirements" / f"{kind}.txt").read_text("utf-8")
        assert "://" not in text
        pins[kind] = {line.split(" \\")[0] for line in text.splitlines() if line and not line.startswith(" ")}
    run = {line.split(" ;")[0].strip() for line in pins["run"]}
    for kind in ("dev", "bundle"):
        assert {line.split("==")[0] for line in pins["run"]} <= {line.split("==")[0] for line in pins[kind]}
        assert run <= {line.split(" ;")[0].strip() for line in pins[kind]}


def wheel(folder: Path, name: str, version: str, *metadata: str) -> str:
    """Makes a wheel without files; returns its line in a lock."""
    made, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    head = ("Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *metadata, "")
    tags = ("Wheel-Version: 1.0", "Generator: tests", "Root-Is-Purelib: true", "Tag: py3-none-any", "")
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(f"{info}/METADATA", "\n".join(head))
        archive.writestr(f"{info}/WHEEL", "\n".join(tags))
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(made.read_bytes()).hexdigest()}\n"


def test_a_lock_is_installed_when_there_are_newer_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of what another package needs with an extra, which pip takes for a requirement of its own."""
    root, found = checkout(tmp_path), tmp_path / "wheels"
    found.mkdir()
    lock = wheel(found, "measured", "1.0", "Provides-Extra: toml")
    lock += wheel(found, "measures", "1.0", "Requires-Dist: measured[toml]>=1.0")
    wheel(found, "measured", "2.0", "Provides-Extra: toml")
    (root / "requirements" / "run.txt").write_text(lock, "utf-8")
    environment.make_venv(root / ".venv", sys.executable, sys.version_info[:3])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(found))
    environment.install_packages(root, root / ".venv", "run")
    assert list(root.glob(".venv/**/measured-1.0.dist-info"))


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_make_shows_its_targets() -> None:
    shown = subprocess.run(["make", "-C", str(ROOT), "help"], capture_output=True, text=True, check=True).stdout
    for target in ("run", "test", "test-all", "check", "docs", "bench", "screenshots", "package", "lock", "clean"):
        assert f"make {target}\t" in shown


def test_an_environment_whose_interpreter_is_gone_does_not_work(tmp_path: Path) -> None:
    assert not environment.works(tmp_path / ".venv")
    assert environment.works(Path(sys.prefix))
    assert environment.can_make_venv(sys.executable)


@posix
def test_an_environment_other_than_the_usual_has_to_be_of_exactly_the_python_asked_for(tmp_path: Path) -> None:
    for name in (".venv", ".venv-3.12"):
        (tmp_path / name / "bin").mkdir(parents=True)
        program(tmp_path / name / "bin", "python", "3 12 1")
    assert environment.usable(tmp_path / ".venv-3.12", (3, 12, 1))
    assert not environment.usable(tmp_path / ".venv-3.12", (3, 12, 9))
    assert environment.usable(tmp_path / ".venv", (3, 13, 0))
    assert not environment.usable(tmp_path / ".venv-3.13", (3, 13, 0))


@posix
def test_another_python_in_the_usual_environment_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = checkout(tmp_path)
    (root / ".venv" / "bin").mkdir()
    program(root / ".venv" / "bin", "python", "3 11 7")
    note(root, "run")
    monkeypatch.setattr(environment, "install_system", lambda wanted: None)
    monkeypatch.setattr(environment, "find_python", lambda: ("python3", (3, 11, 2)))
    environment.set_up(root, "run")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(environment, "find_python", lambda: ("python3", (3, 13, 0)))
    environment.set_up(root, "run")
    assert ".venv has Python 3.11.7, not 3.13.0. To change it, run make clean first." in capsys.readouterr().err


@posix
def test_a_python_without_venv_is_told_of(tmp_path: Path) -> None:
    bare = tmp_path / "python3"
    bare.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    bare.chmod(0o755)
    with pytest.raises(environment.SetUpError, match="has no venv module"):
        environment.make_venv(tmp_path / ".venv", str(bare), (3, 11, 2))
