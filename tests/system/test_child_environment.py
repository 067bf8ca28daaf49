"""What a bundle's children are started with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.system.installation import without_bundle

BUNDLE = Path("/opt/hookline/_internal")
ROOT = Path(__file__).parents[2]
SET_BY_A_BUNDLE = {
    "LD_LIBRARY_PATH": str(BUNDLE),
    "QT_PLUGIN_PATH": f"{BUNDLE}/PySide6/Qt/plugins",
    "QML2_IMPORT_PATH": f"{BUNDLE}/PySide6/Qt/qml",
    "_PYI_ARCHIVE_FILE": "/opt/hookline/hookline",
    "_PYI_PARENT_PROCESS_LEVEL": "1",
    "_MEIPASS2": str(BUNDLE),
    "ARGV0": "./Hookline.AppImage",
}


def test_what_a_bundle_sets_is_taken_away_and_all_else_stays() -> None:
    users = {"HOME": "/home/ann", "APPIMAGE": "/home/ann/H.AppImage", "PATH": "/usr/bin", "XDG_DATA_DIRS": "/usr/share"}
    assert without_bundle({**SET_BY_A_BUNDLE, **users}, BUNDLE) == users


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (
            {"LD_LIBRARY_PATH": f"{BUNDLE}:/opt/lib", "LD_LIBRARY_PATH_ORIG": "/opt/lib"},
            {"LD_LIBRARY_PATH": "/opt/lib"},
        ),
        ({"LD_LIBRARY_PATH": str(BUNDLE), "LD_LIBRARY_PATH_ORIG": ""}, {}),
        ({"PATH": "/usr/bin", "PATH_ORIG": "/bin"}, {"PATH": "/usr/bin", "PATH_ORIG": "/bin"}),
        ({"LD_LIBRARY_PATH": "/opt/lib:/opt/more"}, {"LD_LIBRARY_PATH": "/opt/lib:/opt/more"}),
        ({"QT_PLUGIN_PATH": f"/usr/lib/qt6/plugins:{BUNDLE}/plugins"}, {"QT_PLUGIN_PATH": "/usr/lib/qt6/plugins"}),
        ({"LD_LIBRARY_PATH": f"{BUNDLE}-of-another/lib"}, {"LD_LIBRARY_PATH": f"{BUNDLE}-of-another/lib"}),
    ],
)
def test_what_the_user_set_comes_back(given: dict[str, str], left: dict[str, str]) -> None:
    assert without_bundle(given, BUNDLE) == left


@pytest.mark.parametrize("frozen", [True, False])
def test_a_child_of_a_bundle_sees_none_of_it_and_from_source_nothing_changes(frozen: bool, tmp_path: Path) -> None:
    """A process that is told to be a bundle starts one that prints its environment."""
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    parent = (
        "import subprocess, sys; sys.path.insert(0, sys.argv[1]);"
        f"sys.frozen = {frozen}; sys._MEIPASS = {str(BUNDLE)!r};"
        "from app.__main__ import main; main(['version']);"
        f"subprocess.run([sys.executable, '-c', {show!r}], check=True)"
    )
    env = {**os.environ, **SET_BY_A_BUNDLE, "LD_LIBRARY_PATH_ORIG": str(tmp_path)}
    command = [sys.executable, "-c", parent, str(ROOT)]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen.get("LD_LIBRARY_PATH") == (str(tmp_path) if frozen else str(BUNDLE))
    assert (seen.keys() & SET_BY_A_BUNDLE.keys() == {"LD_LIBRARY_PATH"}) is frozen
