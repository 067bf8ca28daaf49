"""SQL is written in few files, each with its reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import app.db
from app.db import raw_sql

FOLDER = Path(app.db.__file__).parent
STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|PRAGMA|CREATE|ALTER|DROP|SAVEPOINT|BEGIN) ")


def writes_sql(source: str) -> bool:
    """Whether a string that is no docstring begins like a statement."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return any(STATEMENT.match(str(node.value)) for node in strings if id(node) not in alone)


def test_every_file_that_writes_sql_says_why() -> None:
    listed = re.findall(r"^\| `(\S+)` \| \S", raw_sql.__doc__ or "", re.MULTILINE)
    found = [
        path.relative_to(FOLDER).as_posix()
        for path in FOLDER.rglob("*.py")
        if writes_sql(path.read_text(encoding="utf-8"))
    ]
    assert listed == sorted(found, key=lambda name: name.replace(".py", ""))
