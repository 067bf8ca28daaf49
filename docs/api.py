"""`make api`: writes the local API's document, `docs/openapi.json`, and its page, `docs/api.html`.

The document is the one that a running Hookline serves.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

# The folder above has to be on the path first.
# ruff: noqa: E402
from app.application import Application
from app.server.api.routes import PREFIX
from docs.api_page import page

DOCUMENT, PAGE = ROOT / "docs" / "openapi.json", ROOT / "docs" / "api.html"


async def served() -> dict[str, Any]:
    """The document of a Hookline that is started for this."""
    with tempfile.TemporaryDirectory() as folder:
        application = Application(Path(folder))
        await application.open(new_database=True)
        try:
            url = await application.listen_api(0)
            headers = {"Authorization": f"Bearer {application.token}"}
            async with httpx.AsyncClient(headers=headers, trust_env=False) as client:
                document: dict[str, Any] = (await client.get(f"{url}{PREFIX}/openapi.json")).raise_for_status().json()
        finally:
            await application.close()
    return document


def as_text(document: dict[str, Any]) -> str:
    """The document as it is committed."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write both files."""
    document = asyncio.run(served())
    DOCUMENT.write_text(as_text(document), encoding="utf-8")
    PAGE.write_text(page(document), encoding="utf-8")


if __name__ == "__main__":
    main()
