"""What a screen reader learns about the real window, its form and its settings over the accessibility bus."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.at_spi import MISSING, Node, Reader, desktop
from tests.e2e.program import environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

OPENER = Path(__file__).with_name("window_opener.py")
MARKUP = re.compile(r"</?[a-z][^>]*>|&(?:lt|gt|amp|quot|nbsp);", re.IGNORECASE)
BUTTON = ({"push button"}, {"button"})
"""Its role, by the version of Qt."""
CONTROLS = {
    *("push button", "button", "toggle button", "check box", "radio button", "combo box", "spin button", "spin box"),
    *("slider", "text", "entry", "list", "list item", "tree", "table", "page tab", "page tab list", "progress bar"),
    "chart",
}


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[Node]]]:
    """What is showing of each window, by the window's name."""
    folder = tmp_path_factory.mktemp("data")
    with desktop() as given:
        env = environment(**given, PYTHONWARNINGS="")
        command = [sys.executable, "-m", "tests.e2e.window_opener", str(folder)]
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith('{"shown"')
                with Reader(given["DBUS_SESSION_BUS_ADDRESS"]) as reader:
                    trees = [reader.tree(*window) for window in reader.windows(process.pid)]
            finally:
                process.terminate()
    yield {tree[0].name.removeprefix("(1) "): tree for tree in trees if tree}
    assert process.returncode == 0


def roles(tree: list[Node], *names: str) -> set[str]:
    """The roles of what has one of these names."""
    return {node.role for node in tree if node.name in names}


@pytest.mark.parametrize("window", ["Hookline", "Edit endpoint", "Settings"])
def test_no_markup_is_read_out(windows: dict[str, list[Node]], window: str) -> None:
    assert [str(node) for node in windows[window] if MARKUP.search(f"{node.name} {node.description}")] == []


@pytest.mark.parametrize("window", ["Hookline", "Edit endpoint", "Settings"])
def test_every_control_has_a_name(windows: dict[str, list[Node]], window: str) -> None:
    controls = [node for node in windows[window] if node.focusable or node.role in CONTROLS]
    assert len(controls) > 10
    assert [str(node) for node in controls if not node.name.strip() and not node.labels] == []
    # Qt gives a combo box the name of what is chosen; what it chooses is its label.
    assert [str(node) for node in controls if node.role == "combo box" and not node.labels] == []


def test_the_parts_of_the_window_have_the_roles_that_they_look_like(windows: dict[str, list[Node]]) -> None:
    window = windows["Hookline"]
    tabs = {node.name.partition(" ")[0] for node in window if node.role == "page tab"}
    assert tabs >= {"Body", "Headers", "Query", "Deliveries", "Info"}
    assert roles(window, "Requests") == {"list"}
    assert roles(window, "Pretty", "Tree", "Text", "Hex", "Last hour", "Last day") == {"radio button"}
    assert roles(window, "Dashboard", "All requests", "Refused", "Orders") == {"list item", "label"}
    assert roles(window, "Orders active") == {"check box"}
    for name in ("Edit", "Send a test request", "Copy body", "Pause list", "Settings"):
        assert roles(window, name) in BUTTON, name
    assert roles(window, "Body as text") == {"text"}
    assert roles(window, "Requests over time, last hour") == {"chart"}
    assert roles(window, "Endpoints: 10% used") == {"progress bar"}
    form = windows["Edit endpoint"]
    assert {node.role for node in form if node.name.startswith("More:")} in BUTTON
    assert "slider" in {node.role for node in form}
