"""How Sphinx makes the site of docs/ (`make docs`). The pages are Markdown as GitHub shows it."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "Hookline"
extensions = ["myst_parser"]
exclude_patterns = ["examples/shop/.*", "screenshots"]

highlight_language = "none"
# Anchors as GitHub makes them.
myst_heading_anchors = 4
# MyST would offer a file that is no page as a download.
myst_url_schemes = {"https": None, "http": None, "site": {"url": "{{path}}"}}

html_theme = "furo"
html_title = "Hookline"
html_favicon = "../resources/icons/hookline.svg"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["api.html", "../resources/openapi.json"]
html_copy_source = False
html_use_index = False
html_show_copyright = False

_OF_ROOT = re.compile(r"\]\((?P<up>(?:\.\./)*)(?P<name>CHANGELOG|CONTRIBUTING)\.md")
_GENERATED = re.compile(r"\]\((?:\.\./resources/)?(?=(?:api\.html|openapi\.json)\b)")


def _of_the_site(text: str, up: str) -> str:
    """Links to files that GitHub has in another place, or shows in another way; `up` leads from the page to docs/."""
    text = _OF_ROOT.sub(lambda found: f"]({up}{found['name'].lower()}.md", text)
    return _GENERATED.sub("](site:", text)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = _of_the_site(source[0], "../" * name.count("/"))


def _read_included(app: Sphinx, path: Path, parent: str, source: list[str]) -> None:
    """README.md, CHANGELOG.md and CONTRIBUTING.md, which link from the root of the repository."""
    source[0] = _of_the_site(source[0].replace("](docs/", "]("), "")


def setup(app: Sphinx) -> None:
    app.connect("source-read", _read)
    app.connect("include-read", _read_included)
