"""The page of the local API, made from its document: one HTML file, without scripts, that needs no network."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Any

from docs.api_examples import example_of

STYLE = Path(__file__).with_name("api_page.css")
HOST = "http://127.0.0.1:8788"
KEYWORDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "pattern": "pattern <code>{}</code>",
    "default": "default <code>{}</code>",
}
INTRODUCTION = (
    "The examples need the token in a variable of the shell: <code>TOKEN=$(cat DATA_FOLDER/api-token)</code>, with the"
    " data folder. <code>GET /api/v1/openapi.json</code> is the same for programs (OpenAPI 3.1)."
)


def page(document: dict[str, Any]) -> str:
    """The whole file."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: dict[str, Any]) -> Iterator[str]:
    title = f"{document['info']['title']} API"
    yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>\n{STYLE.read_text('utf-8')}</style>\n</head>\n<body>"
    yield from _navigation(document)
    yield f'<main>\n<h1 id="top">{escape(title)}</h1>'
    yield _paragraphs(document["info"]["description"])
    yield f"<p>{INTRODUCTION}</p>"
    for tag, calls in _by_tag(document).items():
        yield f'<h2 id="{tag}">{_title(tag)}</h2>'
        for path, method, operation in calls:
            yield from _call(document, path, method, operation)
    yield '<h2 id="types">Types</h2>'
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield from _type(name, schema)
    yield "</main>\n</body>\n</html>"


def _by_tag(document: dict[str, Any]) -> dict[str, list[tuple[str, str, dict[str, Any]]]]:
    found: dict[str, list[tuple[str, str, dict[str, Any]]]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append((path, method.upper(), operation))
    return found


def _title(tag: str) -> str:
    return {"openapi": "This document"}.get(tag, tag.capitalize())


def _navigation(document: dict[str, Any]) -> Iterator[str]:
    yield '<nav aria-label="Calls">\n<a href="#top"><strong>Hookline API</strong></a>'
    for tag, calls in _by_tag(document).items():
        links = "".join(
            f'<li><a href="#{operation["operationId"]}">{escape(operation["summary"])}</a></li>'
            for *_, operation in calls
        )
        yield f"<h2>{_title(tag)}</h2>\n<ul>{links}</ul>"
    yield '<h2><a href="#types">Types</a></h2>\n</nav>'


def _call(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    base = document["servers"][0]["url"]
    yield f'<section id="{operation["operationId"]}">\n<h3>{escape(operation["summary"])}</h3>'
    yield f'<p class="call"><span class="method {method}">{method}</span> <code>{escape(base + path)}</code></p>'
    yield _paragraphs(operation["description"])
    if operation["parameters"]:
        yield "<h4>Parameters</h4>"
        yield _table(
            ("name", "in", "type", "description"),
            [
                (f"<code>{one['name']}</code>", one["in"], _kind(one["schema"]), _text(one["description"]))
                for one in operation["parameters"]
            ],
        )
    body = operation.get("requestBody")
    if body is not None:
        optional = "" if body["required"] else " (optional)"
        yield f"<h4>Body{optional}: {_kind(body['content']['application/json']['schema'])}</h4>"
    yield f"<h4>Example</h4>\n<pre>{escape(curl(base, path, method, operation))}</pre>"
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            yield from _success(document, status, response)
    yield "<h4>Problems</h4>"
    problems = {status: one for status, one in operation["responses"].items() if not status.startswith("2")}
    yield _table(
        ("status", "type and meaning"), [(status, _problem(document, one)) for status, one in problems.items()]
    )
    yield "</section>"


def _success(document: dict[str, Any], status: str, response: dict[str, Any]) -> Iterator[str]:
    for media_type, content in response.get("content", {}).items():
        if not content:
            yield f"<h4>Response {status}</h4>\n<p>Bytes, as <code>{media_type}</code>.</p>"
            continue
        yield f"<h4>Response {status}: {_kind(content['schema'])}</h4>"
        made = example_of(content["schema"], document["components"]["schemas"])
        yield f"<pre>{escape(json.dumps(made, indent=2, ensure_ascii=False))}</pre>"
    if not response.get("content"):
        yield f"<h4>Response {status}</h4>\n<p>{_text(response['description'])}</p>"


def _problem(document: dict[str, Any], response: dict[str, Any]) -> str:
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return _text(response["description"])


def curl(base: str, path: str, method: str, operation: dict[str, Any]) -> str:
    """A command that makes the call, with example values for what its path names."""
    values = {one["name"]: str(one["example"]) for one in operation["parameters"] if one["in"] == "path"}
    url = HOST + base + re.sub(r"\{(\w+)\}", lambda found: values[found[1]], path)
    words = [
        "curl",
        *(() if method == "GET" else ("-X", method)),
        shlex.quote(url),
        '-H "Authorization: Bearer $TOKEN"',
    ]
    lines = [" ".join(words)]
    if "requestBody" in operation:
        example = json.dumps(operation["requestBody"]["content"]["application/json"]["example"], ensure_ascii=False)
        lines += ["  -H 'Content-Type: application/json'", f"  -d {shlex.quote(example)}"]
    return " \\\n".join(lines)


def _type(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield f'<section id="type-{name}">\n<h3>{name}</h3>'
    yield _paragraphs(schema.get("description", ""))
    if "enum" in schema:
        yield f"<p>{_kind(schema)}</p>"
    required = set(schema.get("required", ()))
    rows = [
        (
            f"<code>{field}</code>",
            _kind(one) + ("" if field in required else ' <span class="muted">optional</span>'),
            _text(one.get("description", "")),
        )
        for field, one in schema.get("properties", {}).items()
    ]
    if rows:
        described = any(text for *_, text in rows)
        heads = ("field", "type", "description") if described else ("field", "type")
        yield _table(heads, [row[: len(heads)] for row in rows])
    yield "</section>"


def _kind(schema: dict[str, Any]) -> str:
    """The type of a value and what it has to be, as HTML."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#type-{name}">{name}</a>'
    if "anyOf" in schema:
        kind = " or ".join(_kind(one) for one in schema["anyOf"])
    elif "enum" in schema:
        kind = " or ".join(f"<code>{escape(json.dumps(value))}</code>" for value in schema["enum"])
    elif "prefixItems" in schema:
        return f"[{' · '.join(_kind(one) for one in schema['prefixItems'])}]"
    elif schema.get("type") == "array":
        kind = f"list of {_kind(schema['items'])}"
    else:
        kind = escape(schema.get("format") or schema.get("type", "any"))
    rules = [_rule(words, schema[key]) for key, words in KEYWORDS.items() if key in schema]
    return ", ".join((kind, *rules))


def _rule(words: str, value: Any) -> str:
    text = value if words.startswith("pattern") else f"{value:,}" if type(value) is int else json.dumps(value)
    return words.format(escape(text, quote=False))


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """`rows` are of HTML."""
    head = "".join(f"<th>{one}</th>" for one in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>\n<tr>{head}</tr>\n{body}\n</table>"


def _paragraphs(text: str) -> str:
    return "\n".join(f"<p>{_text(part)}</p>" for part in text.strip().split("\n\n") if part)


def _text(text: str) -> str:
    """HTML of a text in which backticks mark code."""
    parts = escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
