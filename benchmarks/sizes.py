"""Lists what may have become too big to read: long files and functions, classes of many methods.

Nothing fails for it. A reviewer asks of each entry that a change adds whether it is one idea or two.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE_LINES, FUNCTION_LINES, CLASS_METHODS = 400, 60, 25
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def oversized(path: Path) -> Iterator[str]:
    """One line of text for each part of this file that is above its limit, and for the file itself."""
    text = path.read_text("utf-8")
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    lines = len(text.splitlines())
    if lines > FILE_LINES:
        yield f"{name}: {lines} lines (above {FILE_LINES})"
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, FUNCTION)
            and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
        ):
            yield f"{name}:{node.lineno}: {node.name} has {length} lines (above {FUNCTION_LINES})"
        if isinstance(node, ast.ClassDef):
            methods = sum(isinstance(member, FUNCTION) for member in node.body)
            if methods > CLASS_METHODS:
                yield f"{name}:{node.lineno}: {node.name} has {methods} methods (above {CLASS_METHODS})"


def main() -> int:
    """Print the list for `app/`."""
    found = [line for path in sorted((ROOT / "app").rglob("*.py")) for line in oversized(path)]
    print("\n".join(found) or "Nothing is above its limit.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
