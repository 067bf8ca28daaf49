"""What the library and the plugin load: for other programs, importing them has to be quick and harmless."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


QT = {"PySide6", "shiboken6", "qasync", "segno"}


def loaded_by(module: str) -> set[str]:
    """The packages that importing it loads."""
    code = f"import sys, {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    command = [sys.executable, "-W", "error", "-c", code]
    return set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("module", ["hookline.client", "hookline.testing"])
def test_the_library_loads_nothing_of_the_program(module: str) -> None:
    assert not loaded_by(module) & {"app", "aiohttp", "peewee", *QT}


def test_the_plugin_loads_nothing_until_it_is_used() -> None:
    assert not loaded_by("hookline.pytest_plugin") & {"app", "httpx", "msgspec", "platformdirs", *QT}


def test_the_program_is_found_without_http() -> None:
    assert not loaded_by("hookline.running") & {"app", "httpx"}
