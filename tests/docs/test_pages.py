"""The README and the pages of docs/: commands they show, links and navigation, as `make docs` checks them too."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from app.cli.errors import CliError
from app.cli.parser import parse
from app.core.search.filters import FILTERS
from app.core.search.parse import parse as parse_query
from app.server.api.web_application import PATHS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = sorted([*DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), *DOCS.glob("examples/*/*.md")])
ALL = [*(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")), *SITE]
FENCED = re.compile(r"^( *)```(.*?)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
each = pytest.mark.parametrize("page", ALL, ids=lambda page: str(page.relative_to(ROOT)))


def sentences(page: Path) -> str:
    """The page without its blocks of code."""
    return FENCED.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """Its headings' anchors, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", sentences(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each
def test_links_and_pictures_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in re.findall(r"\]\((?!https?:)([^)]+)\)", sentences(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert not wrong


def test_every_page_is_in_the_navigation() -> None:
    """Once; its entries are a page, or `title <page>`."""
    trees = [code for _, kind, code in FENCED.findall((DOCS / "index.md").read_text("utf-8")) if kind == "{toctree}"]
    entries = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    named = [re.sub(r".* <(.*)>", r"\1", entry) for entry in entries]
    pages = [page.relative_to(DOCS).with_suffix("").as_posix() for page in SITE]
    assert sorted([*named, "index"]) == sorted(pages)


def test_the_readme_is_read_to_its_end() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


def commands(page: Path) -> Iterator[str]:
    """Each that a sentence, a table or a block of code shows, without what it is piped to."""
    text = page.read_text("utf-8")
    shown = re.findall(r"`(hookline [^`]+)`", sentences(page))
    for _, language, code in FENCED.findall(text):
        if language == "sh":
            shown += re.findall(r"^ *(hookline .+)$", code, re.MULTILINE)
    for command in shown:
        yield re.split(r" [|&>]|;", command)[0]


@each
def test_a_command_on_a_page_exists(page: Path) -> None:
    placeholders, wrong = {"ID": "7", "SECONDS": "30"}, []
    for command in commands(page):
        words = [placeholders.get(word, word) for word in shlex.split(command, comments=True)[1:]]
        if not {"--help", "--version", "--complete"} & set(words):
            try:
                parse(words)
            except CliError as error:
                wrong.append(f"{command}: {error}")
    # A sentence may be about a command without its arguments.
    assert not [text for text in wrong if "arguments are required" not in text]


def test_the_search_page_has_every_filter() -> None:
    rows = re.findall(r"^\| `(\w+):` \| (.*) \| (.*) \|$", (DOCS / "searching.md").read_text("utf-8"), re.MULTILINE)
    assert [name for name, *_ in rows] == list(FILTERS)
    for name, text, examples in rows:
        shown = re.findall(r"`([^`]+)`", examples)
        assert FILTERS[name].example in shown
        for example in shown:
            parse_query(example)
        if FILTERS[name].read is None and name != "method":
            assert all(f"`{value}`" in text for value in FILTERS[name].values)


def test_calls_on_the_apis_page_exist_and_every_resource_is_there() -> None:
    document: dict[str, Any] = json.loads((DOCS.parent / "resources" / "openapi.json").read_bytes())
    paths = {re.sub(r"\{\w+\}", "NAME", path): methods for path, methods in document["paths"].items()}
    shown = re.findall(r"`(?:([A-Z]+) )?(/[^`?]*)(?:\?([^`]*))?`", sentences(DOCS / "local-api.md"))
    calls = [(method.lower() or "get", re.sub(r"\b[A-Z]+\b", "NAME", path), query) for method, path, query in shown]
    for method, path, query in calls:
        if path in ("/api/v1/openapi.json", *PATHS):
            continue
        assert path in paths, path
        assert method in paths[path] or path == "/retention/resume", path
        known = {parameter["name"] for parameter in paths[path][method]["parameters"]} if query else set()
        assert set(re.findall(r"(\w+)=", query)) <= known, path
    named = {path.split("/")[1] for _, path, _ in calls}
    assert {path.split("/")[1] for path in paths} - {"openapi.json"} <= named
    (types,) = (one["schema"] for one in paths["/events"]["get"]["parameters"] if one["name"] == "types")
    text = (DOCS / "local-api.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in re.findall(r"[a-z]+", types["pattern"]))


@cache
def stored() -> str:
    """The paths of the repository's files and folders, each behind a slash and before a line end."""
    folders = ("app", "benchmarks", "docs", "hookline", "packaging", "requirements", "resources", "tests")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return "".join(f"/{path.relative_to(ROOT).as_posix()}\n" for path in (*found, *ROOT.glob("*")))


ONLY_IN_THE_WHEEL = {"hookline/_program"}


@pytest.mark.parametrize("page", [page for page in ALL if page.parent in (DOCS, ROOT)], ids=lambda page: page.name)
def test_files_on_a_page_exist(page: Path) -> None:
    """Named by their path, or by the end of it."""
    path = r"`([\w./-]+\.(?:py|toml|md|css|in|spec)|(?:app|docs|tests|hookline|packaging)/[\w./-]+)`"
    named = set(re.findall(path, sentences(page))) - ONLY_IN_THE_WHEEL
    assert not [name for name in named if f"/{name.rstrip('/')}\n" not in stored()]
