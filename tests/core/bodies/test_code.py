"""Text in a known language is shown as it stands, in colours, however it is cut and whatever it was made to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.bodies.formats import text as plain_text
from app.core.bodies.formats.code import LANGUAGES, MATCH_MAX, PIECE, Language, lexer_of, token_runs, writer
from app.core.bodies.formatter import Line
from app.core.bodies.media_types import type_of
from tests.core.bodies.format_lines import formatted, read, texts

ROOT = Path(__file__).parents[3]
BY_NAME = {language.name: language for language in LANGUAGES}
SAMPLES = {
    "javascript": ("const a = 'x'; // b\n", {"literal": "const", "string": "'x'", "punctuation": "// b"}),
    "typescript": ("let a: number = 12;\n", {"number": "12"}),
    "css": ("a { color: red; }\n", {"key": "a"}),
    "yaml": ("name: 'x'\nport: 80\n", {"key": "name", "string": "'x'"}),
    "toml": ('[a]\nb = "c"\n', {"string": '"c"'}),
    "ini": ("[a]\nb = c\n", {"key": "b", "string": "c"}),
    "properties": ("a.b=c\n", {"key": "a.b"}),
    "graphql": ("query Q { user(id: 7) { name } }\n", {"literal": "query", "number": "7"}),
    "sql": ("SELECT a FROM b WHERE c = 'd'\n", {"literal": "SELECT", "string": "'d'"}),
    "markdown": ("# Title\ntext\n", {"key": "# Title"}),
    "python": ("def f():\n    return 'a'\n", {"literal": "def", "key": "f", "string": "'a'"}),
    "shell": ('if true; then echo "a"; fi # b\n', {"string": '"a"', "punctuation": "# b"}),
    "diff": ("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n", {"string": "+new", "number": "-old"}),
    "tsv": ('a\t"b\tc"\t12\n', {"string": '"b\tc"', "number": "12"}),
    "csv": ('a,"b, c",12\n', {"punctuation": ",", "string": '"b, c"', "number": "12"}),
}
SHAPES = st.text(st.sampled_from("\r\n\t \"'`/*\\{}[]()<>=:#-+,.;$aA01\x1b\u202e\ud800\U0001f600"), max_size=300)


def coloured(lines: list[Line]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in lines:
        for kind, text in line.runs():
            found.setdefault(kind, set()).add(text.strip())
    return found


def test_every_language_has_a_sample() -> None:
    assert set(SAMPLES) == set(BY_NAME)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_language_is_coloured(name: str) -> None:
    text, wanted = SAMPLES[name]
    found = coloured(formatted(writer(BY_NAME[name]), text)[0])
    for kind, part in wanted.items():
        assert part in found[kind], found


@pytest.mark.parametrize("name", sorted(SAMPLES))
@settings(max_examples=25, deadline=None)
@given(text=SHAPES)
def test_nothing_is_changed_left_out_or_hidden(name: str, text: str) -> None:
    assert texts(writer(BY_NAME[name]), text) == texts(plain_text.write, text)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["\n", "\r\n", " "])
def test_long_text_is_whole_across_its_pieces(ending: str) -> None:
    text = f"var a = '\U0001f600';{ending}" * (2 * PIECE // 16)
    shown, _ = formatted(writer(BY_NAME["javascript"]), text)
    plain, _ = formatted(plain_text.write, text)
    assert [(line.text, line.folded) for line in shown] == [(line.text, line.folded) for line in plain]


def test_what_takes_long_goes_on_plain_and_whole() -> None:
    text = "const a = 'x';\n" * 500
    shown = formatted(writer(BY_NAME["javascript"], seconds=0.0), text)[0]
    assert [line.text for line in shown] == text.splitlines()
    assert shown[0].spans
    assert not shown[-1].spans


def test_a_lexer_that_fails_leaves_the_text_plain() -> None:
    broken = Language("x", "tests.core.bodies.test_code.Broken")
    shown = formatted(writer(broken), "one\ntwo\n")[0]
    assert [(line.text, line.spans) for line in shown] == [("one", ()), ("two", ())]


class Broken(lexer_of("app.core.bodies.formats.csv_lexer.CsvLexer").__class__):  # type: ignore[misc]
    """Says nothing but an error."""

    def get_tokens_unprocessed(self, text: str, stack: tuple[str, ...] = ("root",)) -> list[object]:
        raise ValueError


def test_no_match_looks_further_than_its_bound() -> None:
    """A comment longer than that is not known for one; that is the price of never being held up."""
    javascript = lexer_of(BY_NAME["javascript"].lexer)
    short, long = f"/*{'a' * 100}*/", f"/*{'a' * MATCH_MAX}*/"
    assert [kind for _, kind in token_runs(javascript, short)] == ["punctuation"]
    assert len(list(token_runs(javascript, long))) > 1


@pytest.mark.parametrize(
    ("content_type", "body", "title"),
    [
        ("application/javascript; charset=utf-8", b"alert(1)", "JavaScript"),
        ("text/css", b"a{}", "CSS"),
        ("application/yaml", b"a: b", "YAML"),
        ("text/yaml", b'{"a": 1}', "JSON"),
        ("text/csv", b"a,b\n1,2\n", "CSV"),
        ("application/vnd.yaml", b"a: b", "YAML"),
        ("text/css", bytes(range(20)), "Hex"),
        ("application/toml", b"[a]\nb = 1\n", "TOML"),
        ("text/markdown", b"[a](b)", "Markdown"),
        ("", b"-- why\n-- so\nSELECT 1 FROM b", "SQL"),
        ("text/plain", b"---\nname: x\n", "YAML"),
        ("text/plain", b"--- a\n+++ b\n", "Diff"),
        ("", b"#!/bin/sh\necho\n", "Shell"),
        ("", b"#!/usr/bin/env python3\n", "Python"),
        ("", b"[core]\nbare = true\n", "INI"),
        ("text/plain", b"mutation { a }", "GraphQL"),
        ("text/plain", b"SELECT * FROM orders;", "SQL"),
        ("text/plain", b"Dear all,\nwe select from --- many.\n", "Text"),
        ("image/png", b"SELECT * FROM orders;", "Text"),
    ],
)
def test_a_language_is_known_by_type_or_by_how_it_begins(content_type: str, body: bytes, title: str) -> None:
    reader, _ = read(body, content_type)
    assert reader.view is not None
    assert (reader.view.title, reader.notes) == (title, [])


@pytest.mark.parametrize(
    ("said", "file_name", "type_"),
    [
        ("", "deploy.YML", "text/yaml"),
        ("", "rows.tsv", "text/tab-separated-values"),
        ("application/octet-stream", "a/b/page.html", "text/html"),
        ("text/plain", "data.json", "application/json"),
        ("application/json", "data.yml", "application/json"),
        ("text/plain", "README", "text/plain"),
        ("", None, ""),
        ("", "x." + "y" * 10_000, ""),
    ],
)
def test_a_file_name_tells_where_the_type_does_not(said: str, file_name: str | None, type_: str) -> None:
    assert type_of(said, file_name) == type_


def test_no_lexer_is_loaded_before_it_is_needed() -> None:
    """They take a tenth of a second, which a start does not have."""
    code = (
        "import sys, app.core.bodies.body_reader; assert not [m for m in sys.modules if m.startswith('pygments.lexer')]"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
