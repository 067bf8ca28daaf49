"""The pages of the guide (docs/guide), as blocks of code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "guide"
FILE_NAME = re.compile(r"[Ss]ave this as `([^`]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block; `before` is the paragraph above it, `line` where it begins."""

    language: str
    code: str
    before: str
    line: int


def read(page: Path) -> list[Block]:
    """The page's blocks, also those that are indented in a list."""
    blocks, text = [], page.read_text("utf-8")
    for found in re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL):
        indent, language, code = found.groups()
        before = re.sub(r"\s+", " ", text[: found.start()].rstrip().rpartition("\n\n")[2])
        plain = "".join(line.removeprefix(indent) for line in code.splitlines(keepends=True))
        blocks.append(Block(language, plain, before, text.count("\n", 0, found.start()) + 1))
    return blocks
