"""The workflows: well-formed, of pinned parts, with the least rights, and naming only what this checkout has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import environment

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

each = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    return dict(YAML(typ="safe").load(path)["jobs"])


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job.get("steps", [])]


def scripts(path: Path) -> list[str]:
    return [step["run"] for step in steps(path) if "run" in step]


def test_there_are_workflows() -> None:
    assert {"check.yml", "release.yml"} <= {path.name for path in WORKFLOWS}


@pytest.mark.slow
def test_they_are_what_github_reads() -> None:
    program = Path(sys.executable).with_name("check-jsonschema")
    command = [program, "--builtin-schema", "vendor.github-workflows", *WORKFLOWS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@each
def test_every_script_they_run_is_in_the_checkout(path: Path) -> None:
    named = {name for script in scripts(path) for name in re.findall(r"(?:packaging|\.ci|\.github)/[\w./-]*\w", script)}
    assert named
    missing = sorted(name for name in named if not (ROOT / name).exists())
    # The check's own argument is a pattern.
    assert [name for name in missing if name != ".github/workflows"] == []


@each
def test_every_target_they_make_is_in_the_makefile(path: Path) -> None:
    made = {target for script in scripts(path) for target in re.findall(r"^\s*make ([\w-]+)", script, re.MULTILINE)}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert [target for target in sorted(made) if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


@each
def test_no_variable_is_one_that_the_makefile_takes_from_outside(path: Path) -> None:
    taken = set(re.findall(r"^(\w+) \?=", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert "PYTHON" in taken
    parts = [YAML(typ="safe").load(path), *jobs(path).values(), *steps(path)]
    assert [name for part in parts for name in part.get("env", {}) if name in taken] == []


@each
def test_every_action_is_pinned_to_a_version(path: Path) -> None:
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@(v\d+(\.\d+)*|[0-9a-f]{40})", name)] == []


@each
def test_every_job_has_a_limit_and_no_more_rights_than_it_names(path: Path) -> None:
    whole = YAML(typ="safe").load(path)
    assert "permissions" in whole
    for name, job in jobs(path).items():
        assert "uses" in job or job["timeout-minutes"] <= 60, name
    writing = {name for name, job in jobs(path).items() if "write" in (job.get("permissions") or {}).values()}
    assert writing <= {"publish", "pypi"}


@each
def test_no_download_address_and_nothing_of_the_outside_inside_a_script(path: Path) -> None:
    assert "://" not in path.read_text("utf-8")
    # A name chosen by somebody else would become part of the script; it has to come in as a variable.
    assert [script for script in scripts(path) if "${{" in script and "runner.os" not in script] == []


@pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="no bash here")
@each
def test_the_shell_understands_every_script(path: Path) -> None:
    for step in steps(path):
        if "run" in step and step.get("shell") != "pwsh" and "${{" not in step["run"]:
            done = subprocess.run(["bash", "-n"], input=step["run"], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


def test_the_checks_run_on_each_python_that_the_project_names_and_a_release_is_made_with_one_of_them() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers))
    for job in jobs(ROOT / ".github" / "workflows" / "check.yml").values():
        assert job["strategy"]["matrix"]["python"] == named
    release = YAML(typ="safe").load(ROOT / ".github" / "workflows" / "release.yml")
    assert release["env"]["PYTHON_VERSION"] in named
    assert tuple(f"python{version}" for version in reversed(named)) == environment.OTHERS


def test_only_a_pushed_tag_is_published() -> None:
    release = jobs(ROOT / ".github" / "workflows" / "release.yml")
    for last in ("publish", "pypi"):
        assert release[last]["if"] == "github.event_name == 'push'"
        needed, waiting = set[str](), [last]
        while waiting:
            needs = release[waiting.pop()].get("needs", [])
            waiting += [needs] if isinstance(needs, str) else needs
            needed.update(waiting)
        assert needed == set(release) - {"publish", "pypi"}


def test_wheel_and_sdist_are_uploaded_without_a_token() -> None:
    """Trusted publishing: the job's identity is its key, and it gets nothing else."""
    job = jobs(ROOT / ".github" / "workflows" / "release.yml")["pypi"]
    assert (job["environment"], job["permissions"]) == ("pypi", {"id-token": "write"})
    (download, upload) = job["steps"]
    assert download["with"] == {"name": "python", "path": "dist"}
    assert upload["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert "with" not in upload
