"""The wheel as other projects get it: the sample project, documented examples, projects that do not use it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from hookline.instance import Instance
from tests.hookline.sending import send
from tests.support import until

ROOT = Path(__file__).parents[3]
SHOP = ROOT / "docs" / "examples" / "shop"
README, PAGE = ((ROOT / name).read_text("utf-8") for name in ("README.md", "docs/local-api.md"))
LIMIT_S = 170.0

pytestmark = [pytest.mark.timeout(180), pytest.mark.slow]

PLUGINS = "pytest-qt", "schemathesis", "hypothesispytest", "asyncio", "timeout"
"""Of this environment, not of the project's."""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("hookline-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def python(site: Path, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python in a folder, with the wheel installed."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "HOOKLINE"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**own, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )


def run_tests(site: Path, folder: Path, *arguments: str, fails: bool = False) -> str:
    """What pytest prints of a project's tests, which must pass unless they are to fail."""
    others = [word for name in PLUGINS for word in ("-p", f"no:{name}")]
    own = ("-q", "-p", "no:cacheprovider", f"--basetemp={folder / 'temporary'}")
    done = python(site, folder, "-m", "pytest", *own, *others, *arguments)
    assert (done.returncode == 1) is fails, done.stdout + done.stderr
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text), "utf-8")


def blocks(text: str) -> list[str]:
    """The Python blocks of a Markdown text."""
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_sample_projects_tests_pass_in_parallel(installed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    shutil.copytree(SHOP, folder, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    assert "6 passed" in run_tests(installed, folder, "-n", "2")


SHARED = {
    "test_shared.py": """
        import os
        import time
        from pathlib import Path

        import pytest

        @pytest.mark.parametrize("number", range(8))
        def test_it(hookline, number, worker_id):
            Path(f"{worker_id}-{number}.pid").write_text(str(hookline.client.status().pid))
            assert not hookline.endpoint(slug="the-same").requests()
            if number == 4:
                until = time.monotonic() + 60
                while len({file.name.partition("-")[0] for file in Path().glob("*.pid")}) < 2:
                    assert time.monotonic() < until
                    time.sleep(0.01)
                os._exit(1)
        """,
}


def has_ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.long
def test_workers_share_one_which_lives_on_when_a_worker_is_killed(installed: Path, tmp_path: Path) -> None:
    write(tmp_path, SHARED)
    said = run_tests(installed, tmp_path, "-n", "2", fails=True)
    assert "1 failed, 7 passed" in said
    files = list(tmp_path.glob("*.pid"))
    (process,) = {int(file.read_text()) for file in files}
    assert len({file.name.partition("-")[0] for file in files}) >= 2
    asyncio.run(until(lambda: has_ended(process)))


def test_a_project_that_does_not_use_it_notices_nothing(installed: Path, tmp_path: Path) -> None:
    test = """
        import sys

        def test_it(request):
            assert request.config.pluginmanager.has_plugin("hookline")
            assert not {"hookline.client", "hookline.testing", "httpx", "msgspec", "app"} & set(sys.modules)
        """
    write(tmp_path, {"test_it.py": test})
    assert "1 passed" in run_tests(installed, tmp_path, "-W", "error", "--strict-markers", "-p", "no:xdist")


def test_the_client_of_the_page_runs(installed: Path, tmp_path: Path, hookline_instance: Instance) -> None:
    (code,) = (block for block in blocks(PAGE) if "hookline.client" in block)
    client = hookline_instance.client
    endpoint = client.endpoints.create("Orders", slug="orders")
    try:
        send(endpoint.url, b'{"order": 7}')
        done = python(installed, tmp_path, "-c", code, HOOKLINE_DATA_DIR=str(hookline_instance.data_dir))
    finally:
        client.endpoints.delete("orders")
    assert done.returncode == 0, done.stderr
    assert "{'order': 7}" in done.stdout


PROJECT = {
    "app/__init__.py": "BODY = b'mine'",
    "test_app.py": """
        import urllib.request
        import app

        def test_it(hookline):
            endpoint = hookline.endpoint()
            urllib.request.urlopen(endpoint.url, app.BODY).close()
            assert endpoint.wait_for().body == app.BODY
        """,
    "shop.py": """
        import json, urllib.request

        def notify(url, data):
            request = urllib.request.Request(url, json.dumps(data).encode(), {"Content-Type": "application/json"})
            urllib.request.urlopen(request).close()
        """,
    "test_respond.py": """
        import urllib.error, urllib.request
        import pytest

        def test_it_fails(hookline):
            def refuse(request):
                wanted = 7
                assert len(request.body) == wanted

            endpoint = hookline.endpoint()
            endpoint.respond(refuse)
            with pytest.raises(urllib.error.HTTPError, match="500"):
                urllib.request.urlopen(endpoint.url, b"four")

        test_it_fails = pytest.mark.xfail(raises=AssertionError, strict=True)(test_it_fails)
        """,
    "test_z_end.py": """
        import os, signal, time
        import pytest

        def test_it_is_killed(hookline, hookline_instance):
            os.kill(hookline.client.status().pid, signal.SIGTERM)
            while hookline_instance.running:
                time.sleep(0.01)
            hookline.close = lambda: None

        @pytest.mark.xfail(raises=pytest.fail.Exception, strict=True)
        def test_next(hookline):
            raise AssertionError
        """,
}


def test_another_project(installed: Path, tmp_path: Path) -> None:
    """It may have a package named app, the README's test passes, and a Hookline that has ended is said."""
    (code,) = (block for block in blocks(README) if "def test_" in block)
    write(tmp_path, {**PROJECT, "test_readme.py": code})
    said = run_tests(installed, tmp_path, "-vv", "-p", "no:xdist")
    for test in (
        "test_app.py::test_it PASSED",
        "test_respond.py::test_it_fails XFAIL",
        "test_readme.py::test_an_order_is_announced PASSED",
        "test_z_end.py::test_it_is_killed PASSED",
        "test_z_end.py::test_next XFAIL",
    ):
        assert test in said


def test_the_wheel_is_typed_and_has_the_program(installed: Path) -> None:
    for name in ("py.typed", "client/__init__.py", "_program/app/__main__.py", "_program/app/resources"):
        assert (installed / "hookline" / name).exists()
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {"hookline"}
