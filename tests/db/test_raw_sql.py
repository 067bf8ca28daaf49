"""SQL is written in few files, each with its reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from peewee import PostgresqlDatabase

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


def test_postgres_gets_the_same_statement_in_its_own_words() -> None:
    database = PostgresqlDatabase("never_opened")
    said = {
        "SELECT a FROM t INDEXED BY t_a WHERE a = ? AND b LIKE '%x'": "SELECT a FROM t WHERE a = %s AND b LIKE '%%x'",
        "SELECT a FROM t CROSS JOIN u USING (a)": "SELECT a FROM t JOIN u USING (a)",
        "SELECT a FROM t CROSS JOIN u ON a = b": "SELECT a FROM t JOIN u ON a = b",
        "SELECT a FROM t CROSS JOIN u": "SELECT a FROM t CROSS JOIN u",
        "DELETE FROM t WHERE a IN numbers(:some)": "DELETE FROM t WHERE a = ANY(numbers(%(some)s))",
        "DELETE FROM t WHERE a NOT IN names(?)": "DELETE FROM t WHERE a <> ALL(names(%s))",
        "DELETE FROM t WHERE a IN (SELECT value FROM numbers(:some))": "DELETE FROM t WHERE a = ANY(numbers(%(some)s))",
        "SELECT a::text FROM t WHERE a = :one": "SELECT a::text FROM t WHERE a = %(one)s",
    }
    assert {text: raw_sql.statement(database, text) for text in said} == said


def test_sqlite_gets_lists_as_its_own_function_reads_them() -> None:
    query = "SELECT value FROM numbers(:some)"
    listed = "(SELECT value FROM json_each(:some))"
    assert raw_sql.of_sqlite(f"a IN ({query})") == raw_sql.of_sqlite("a IN numbers(:some)") == f"a IN {listed}"
