"""`make api`: writes the local API's document, `resources/openapi.json`, and its page, `docs/api.html`.

The document is the one that Hookline serves.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The folder above has to be on the path first.
# ruff: noqa: E402
from app.server.api.events import Followers
from app.server.api.web_application import routes_of
from docs.api_page import page
from docs.openapi import document

DOCUMENT, PAGE = ROOT / "resources" / "openapi.json", ROOT / "docs" / "api.html"


def whole_document() -> dict[str, Any]:
    """The document of all calls, which need no services for that."""
    nothing = cast(Any, SimpleNamespace(store=None, events=None))
    made: dict[str, Any] = json.loads(json.dumps(document(routes_of(nothing, Followers(nothing)))))
    return made


def as_text(document: dict[str, Any]) -> str:
    """The document as it is committed."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write both files."""
    document = whole_document()
    DOCUMENT.write_text(as_text(document), encoding="utf-8")
    PAGE.write_text(page(document), encoding="utf-8")


if __name__ == "__main__":
    main()
