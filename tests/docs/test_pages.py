"""The README and the pages of docs/: commands they show, links and navigation, as `make docs` checks them too."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.errors import CliError
from app.cli.parser import parse
from app.core.search.filters import FILTERS
from app.core.search.parse import parse as parse_query

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
