"""Hookline installed by pip beside projects that have a package `app` of their own: neither notices the other."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from app import __version__

ROOT = Path(__file__).parents[2]
LIMIT_S = 120.0
SAID = f"hookline {__version__}\n"

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

SHOP = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "shop"
version = "1"
[tool.hatch.build.targets.wheel]
packages = ["app"]
"""

SENDER = """
from urllib.request import urlopen


def notify(url):
    urlopen(url, b"paid").close()
"""
PROJECT_TEST = """
from app import notify


def test_a_payment_is_announced(hookline):
    endpoint = hookline.endpoint()
    notify(endpoint.url)
    assert endpoint.wait_for(method="POST").body == b"paid"
"""


class Environment:
    """A virtual environment that has what this one has, but for Hookline."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        self.site = Path(self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        # The .pth files of a folder that a .pth file names are not read: its editable Hookline is not seen.
        (self.site / "others.pth").write_text(sysconfig.get_path("purelib"), "utf-8")

    def run(self, *arguments: str, folder: Path | None = None, **environment: str) -> str:
        """What Python prints, on both outputs; it must not fail."""
        dropped = ("PYTHONPATH", "HOOKLINE_DATA_DIR")
        own = {name: value for name, value in os.environ.items() if name not in dropped}
        done = subprocess.run(
            [str(self.python), *arguments],
            cwd=folder,
            env={**own, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def install(self, *what: str) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check", "install"]
        options = ["--no-index", "--no-deps", "--no-build-isolation", "--ignore-installed", "--quiet"]
        done = subprocess.run([*pip, *options, *what], capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 0, done.stdout + done.stderr

    def hookline(self, *arguments: str, folder: Path | None = None, **environment: str) -> Sequence[str]:
        """What the installed command prints, and `python -m hookline`."""
        script = "import runpy, sys; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
        command = self.python.with_name("hookline")
        return (
            self.run("-c", script, str(command), *arguments, folder=folder, **environment),
            self.run("-m", "hookline", *arguments, folder=folder, **environment),
        )


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Hookline's wheel and that of a project whose package is `app`."""
    folder = tmp_path_factory.mktemp("wheels")
    shop = tmp_path_factory.mktemp("shop")
    (shop / "pyproject.toml").write_text(SHOP, "utf-8")
    (shop / "app").mkdir()
    (shop / "app" / "__init__.py").write_text("OWN = 'mine'\n", "utf-8")
    for project in (ROOT, shop):
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=project, capture_output=True, check=True)
    return folder


def wheel(folder: Path, name: str) -> str:
    (found,) = folder.glob(f"{name}-*.whl")
    return str(found)


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.py"))}


@pytest.mark.parametrize("order", [("shop", "hookline"), ("hookline", "shop")], ids=" then ".join)
def test_a_wheel_with_a_package_app_and_hookline_keep_out_of_each_others_way(
    wheels: Path, tmp_path: Path, order: tuple[str, str]
) -> None:
    environment = Environment(tmp_path / "venv")
    before: dict[str, str] | None = None
    for name in order:
        environment.install(wheel(wheels, name))
        before = before or (hashes(environment.site / "app") if name == "shop" else None)
    assert hashes(environment.site / "app") == before
    assert environment.run("-c", "import app, hookline; print(app.OWN)", folder=tmp_path) == "mine\n"
    assert list(environment.hookline("--version")) == [SAID, SAID]
    assert environment.hookline("endpoint", "add", "Shop", "--data-dir", str(tmp_path / "data"))
    assert "Shop" in environment.hookline("endpoint", "list", "--data-dir", str(tmp_path / "data"))[1]
    assert environment.hookline("selftest")


@pytest.mark.parametrize("editable", [False, True], ids=["wheel", "editable"])
def test_a_projects_own_package_is_its_own_and_hookline_starts_in_its_folder(
    wheels: Path, tmp_path: Path, editable: bool
) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install(*(["--editable", str(ROOT)] if editable else [wheel(wheels, "hookline")]))
    for layout in (tmp_path / "flat", tmp_path / "with-src" / "src"):
        package = layout / "app"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('the user’s own')\n", "utf-8")
        (layout / "resources").mkdir()
        before = hashes(package)
        for path in (".", str(layout)):
            assert list(environment.hookline("--version", folder=layout, PYTHONPATH=path)) == [SAID, SAID]
            assert "Usage" in environment.hookline("--help", folder=layout, PYTHONPATH=path)[0].capitalize()
        assert hashes(package) == before
    missing = "import importlib.util as u; print(u.find_spec('app'))"
    assert environment.run("-c", missing, folder=tmp_path) == "None\n"


def test_a_projects_tests_use_the_fixture_and_its_own_package(wheels: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install(wheel(wheels, "hookline"))
    for layout in (tmp_path / "flat", tmp_path / "with-src" / "src"):
        (layout / "app").mkdir(parents=True)
        (layout / "app" / "__init__.py").write_text(SENDER, "utf-8")
        (layout / "test_shop.py").write_text(PROJECT_TEST, "utf-8")
        before = hashes(layout / "app")
        said = environment.run("-m", "pytest", "-q", "-p", "no:pytest-qt", folder=layout, PYTHONPATH=str(layout))
        assert "1 passed" in said
        assert hashes(layout / "app") == before
    pip = [sys.executable, "-m", "pip", "--python", str(environment.python), "--disable-pip-version-check", "check"]
    checked = subprocess.run(pip, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert checked.stdout == "No broken requirements found.\n"


def test_agents_are_served_in_the_folder_of_such_a_project(wheels: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    environment.install(wheel(wheels, "hookline"))
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise RuntimeError('the user’s own')\n", "utf-8")
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    done = subprocess.run(
        [str(environment.python), "-m", "hookline", "mcp", "--data-dir", str(tmp_path / "data")],
        input=json.dumps(begin) + "\n",
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "hookline", done.stderr


def test_the_wheel_made_of_the_source_distribution_is_the_same(wheels: Path, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build"]
    subprocess.run([*build, "-t", "sdist", "-d", str(tmp_path)], cwd=ROOT, capture_output=True, check=True)
    (source,) = tmp_path.glob("hookline-*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / source.name.removesuffix(".tar.gz")
    subprocess.run([*build, "-t", "wheel", "-d", str(tmp_path)], cwd=folder, capture_output=True, check=True)
    (made,) = tmp_path.glob("*.whl")
    assert names(made) == names(Path(wheel(wheels, "hookline")))


def test_an_app_that_python_loaded_first_is_named(wheels: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    for name in ("hookline", "shop"):
        environment.install(wheel(wheels, name))
    (environment.site / "early.pth").write_text("import app\n", "utf-8")
    done = subprocess.run(
        [str(environment.python), "-m", "hookline", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert done.stderr.startswith("hookline: Python loaded another package named app before Hookline began, from ")
    assert "Traceback" not in done.stderr
