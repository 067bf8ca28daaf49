"""The document of the API: complete, the one that is committed, and true about what is validated."""

from __future__ import annotations

import html
import inspect
import json
import shlex
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import asdict

from app.core.settings import Settings
from app.server.api.problems import KINDS
from app.server.api.routes import Route
from docs.api import as_text, whole_document
from docs.api_examples import example_of
from docs.api_page import curl, page
from docs.openapi import document, operation_id, successes
from tests.server.api.conftest import Desk, problem

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENT = DOCS.parent / "resources" / "openapi.json"
AGAIN = "The API's documentation is out of date: run `make api` and commit what it writes."


@pytest.fixture
def routes(desk: Desk) -> tuple[Route, ...]:
    return desk.routes


async def test_the_committed_document_is_the_one_served(desk: Desk) -> None:
    response = await desk.client.get("/openapi.json")
    assert response.headers["content-type"] == "application/json"
    assert response.text == DOCUMENT.read_text("utf-8")
    served = response.json()
    assert served == json.loads(as_text(document(desk.routes))), AGAIN
    assert (DOCS / "api.html").read_text("utf-8") == page(served), AGAIN


def test_the_command_writes_the_committed_document() -> None:
    assert DOCUMENT.read_text("utf-8") == as_text(whole_document()), AGAIN


def test_every_call_is_documented(routes: tuple[Route, ...]) -> None:
    for route in routes:
        where = f"{route.method} {route.path}"
        assert successes(route), f"{where} declares no response"
        assert inspect.getdoc(route.handler), f"the handler of {where} has no docstring"
        assert route.summary[0].isupper(), where
        assert not route.summary.endswith("."), where
        assert set(route.problems) <= set(KINDS), where
        assert (route.body is not None) == (len(inspect.signature(route.handler).parameters) == 2), where
    ids = [operation_id(route) for route in routes]
    assert len(set(ids)) == len(ids)
    assert {(route.method, route.path) for route in routes} == {
        (method.upper(), path) for path, methods in document(routes)["paths"].items() for method in methods
    }


def validator() -> Any:
    """Imported when it is needed: that takes most of a second, which every process of xdist would spend."""
    import jsonschema

    return jsonschema.Draft202012Validator


def test_examples_of_bodies_are_valid(routes: tuple[Route, ...]) -> None:
    made = document(routes)
    for route in routes:
        if route.body is not None:
            msgspec.convert(route.body.example, route.body.shape)
            content = made["paths"][route.path][route.method.lower()]["requestBody"]["content"]
            schema = {**content["application/json"]["schema"], "components": made["components"]}
            validator()(schema).validate(dict(route.body.example))


@pytest.mark.slow
def test_every_schema_is_one(routes: tuple[Route, ...]) -> None:
    for schema in document(routes)["components"]["schemas"].values():
        validator().check_schema(schema)
        assert schema.get("description"), schema


def test_examples_of_responses_are_valid(routes: tuple[Route, ...]) -> None:
    made = msgspec.json.decode(msgspec.json.encode(document(routes)))
    for methods in made["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                schema = response.get("content", {}).get("application/json", {}).get("schema")
                if status.startswith("2") and schema is not None:
                    example = example_of(schema, made["components"]["schemas"])
                    validator()({**schema, "components": made["components"]}).validate(example)


def test_only_a_field_that_may_be_left_out_is_not_required(routes: tuple[Route, ...]) -> None:
    schemas = document(routes)["components"]["schemas"]
    missing = set(schemas["RequestHead"]["properties"]) - set(schemas["RequestHead"]["required"])
    assert missing == {"body_base64"}
    assert set(schemas["Backup"]["required"]) == set(schemas["Backup"]["properties"])


class Reader(HTMLParser):
    """Notes the ids and links of a page, and what is not closed or comes from elsewhere."""

    VOID = ("meta", "br", "img", "link", "input", "hr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        if tag not in self.VOID:
            self.open.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if tag in ("script", "link", "img", "iframe") or "src" in found:
            self.foreign.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_no_network() -> None:
    text = (DOCS / "api.html").read_text("utf-8")
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    assert reader.foreign == []
    assert "url(" not in text
    assert "@import" not in text
    assert len(set(reader.ids)) == len(reader.ids)
    assert reader.links
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)


def test_every_call_of_the_page_has_a_command(routes: tuple[Route, ...]) -> None:
    made = document(routes)
    text = (DOCS / "api.html").read_text("utf-8")
    for route in routes:
        operation = made["paths"][route.path][route.method.lower()]
        command = curl("/api/v1", route.path, route.method, operation)
        assert html.escape(command) in text
        words = shlex.split(command)
        assert words[0] == "curl"
        if route.body is not None:
            assert json.loads(words[-1]) == dict(route.body.example)


ID = "0199c2a4-6f3b-7d10-8a51-2f0c9be41d77"
PATCHES = {
    "EndpointPatch": "/endpoints/orders",
    "TargetPatch": "/endpoints/orders/targets/1",
    "SettingsPatch": "/settings",
}
POSTS = {"ReplayIn": "/replays"}


def bounded(schemas: dict[str, Any], name: str, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The dotted names of the numbers in a component that have bounds."""
    for field, schema in schemas[name]["properties"].items():
        for one in (schema, *schema.get("anyOf", ())):
            if "$ref" in one:
                inner = one["$ref"].rpartition("/")[2]
                if "properties" in schemas[inner]:
                    yield from bounded(schemas, inner, f"{path}{field}.")
            if {"minimum", "maximum", "exclusiveMinimum"} & set(one):
                yield f"{path}{field}", one


@pytest.mark.parametrize("name", [*PATCHES, *POSTS])
async def test_bounds_of_numbers_are_enforced(desk: Desk, name: str) -> None:
    endpoint = await desk.endpoint(slug="orders", forward_url="http://127.0.0.1:9/")
    assert endpoint.targets[0].id == 1
    schemas = document(desk.routes)["components"]["schemas"]
    found = list(bounded(schemas, name))
    assert found
    for dotted, schema in found:
        step = 1 if schema["type"] == "integer" else 0.001
        beyond = [schema["minimum"] - step] if "minimum" in schema else [schema.get("exclusiveMinimum", 0)]
        beyond += [schema["maximum"] + step] if "maximum" in schema else []
        within = [schema[key] for key in ("minimum", "maximum") if key in schema]
        for value, allowed in [(value, False) for value in beyond] + [(value, True) for value in within]:
            body: Any = value
            for part in reversed(dotted.split(".")):
                body = {part: body}
            if name in POSTS:
                body |= {"ids": [ID], "url": "http://127.0.0.1:9/"}
            if dotted in ("scale", "longest_gap_ms"):
                body |= {"gaps": "original"}
            await desk.settings.save(asdict(Settings()))
            method = "POST" if name in POSTS else "PATCH"
            response = await desk.client.request(method, POSTS.get(name) or PATCHES[name], json=body)
            if allowed:
                assert response.status_code in (200, 202), (dotted, value, response.text)
            else:
                named = [error["field"] for error in problem(response, 422, "invalid-fields")["errors"]]
                assert named == [dotted], (dotted, value)


async def test_a_whole_number_may_be_written_as_a_fraction(desk: Desk) -> None:
    """A schema's `integer` is 8.0 as well."""
    content = b'{"name": "8.0", "retention_days": 8.0, "response": {"status": 2.01e2}}'
    made = await desk.client.post("/endpoints", content=content)
    assert (made.status_code, made.json()["name"], made.json()["response"]["status"]) == (201, "8.0", 201), made.text
    for content in (b'{"name": "a", "retention_days": 8.5}', b'{"name": "a", "retention_days": "8"}'):
        told = problem(await desk.client.post("/endpoints", content=content), 422, "invalid-fields")
        assert told["errors"][0]["field"] == "retention_days"


FITTING: dict[str, list[dict[str, Any]]] = {
    "Auth": [{}, {"kind": "none"}, {"kind": "bearer", "secret": "s"}, {"kind": "basic", "name": "u", "secret": "s"}],
    "ReplayIn": [{}, {"endpoint": "orders", "q": "a"}, {"ids": [ID], "q": ""}, {"gaps": "original", "scale": 2}],
}
WRONG: dict[str, list[dict[str, Any]]] = {
    "Auth": [
        {"kind": "bearer"},
        {"kind": "bearer", "secret": ""},
        {"kind": "basic", "name": "a:b", "secret": "s"},
        {"kind": "basic", "secret": "s"},
        {"kind": "header", "name": "a b", "secret": "s"},
    ],
    "ReplayIn": [
        {"url": "http://127.0.0.1:9/", "to_endpoint": "orders"},
        {"scale": 2},
        {"gaps": "original", "rate": 5},
        {"ids": [ID], "endpoint": "orders"},
        {"ids": [ID], "q": "a"},
        {"edit": {"method": "PUT"}},
        {"ids": [ID, ID], "edit": {"method": "PUT"}},
        {"ids": [ID], "edit": {"body": "", "body_base64": ""}},
        {"edit": {"headers": [["a", "b\nc"]]}, "ids": [ID]},
        {"edit": {"headers": [["Content-length", "1"]]}, "ids": [ID]},
    ],
    "TargetDraft": [{"set_headers": [["Content-Length", "1"]]}, {"remove_headers": ["HOST"]}],
    "BackupIn": [{"path": "here.db"}, {"path": "/here\0.db"}],
}
NEEDED: dict[str, tuple[str, dict[str, Any]]] = {
    "Auth": ("/endpoints", {"name": "a"}),
    "ReplayIn": ("/replays", {}),
    "TargetDraft": ("/endpoints/orders/targets", {"url": "http://127.0.0.1:9/"}),
    "BackupIn": ("/backup", {}),
}


@pytest.mark.parametrize("name", NEEDED)
async def test_what_the_document_forbids_is_refused_and_what_it_allows_is_not(desk: Desk, name: str) -> None:
    """Rules about several fields together, and about headers and paths."""
    await desk.endpoint(slug="orders", forward_url="http://127.0.0.1:9/")
    made = document(desk.routes)["components"]
    schema = validator()({"$ref": f"#/components/schemas/{name}", "components": made})
    path, needed = NEEDED[name]
    for allowed, bodies in ((True, FITTING.get(name, [])), (False, WRONG[name])):
        for body in bodies:
            sent = {**needed, "auth": body} if name == "Auth" else {**needed, **body}
            if name == "ReplayIn" and not {"url", "to_endpoint"} & set(body):
                sent["url"] = "http://127.0.0.1:9/"
            assert schema.is_valid(sent["auth"] if name == "Auth" else sent) == allowed, sent
            answer = await desk.client.post(path, json=sent)
            assert answer.status_code in ((201, 202) if allowed else (422,)), (sent, answer.text)


def test_headers_that_a_caller_needs_are_documented(routes: tuple[Route, ...]) -> None:
    paths = document(routes)["paths"]
    waited = paths["/requests/wait"]["get"]["responses"]
    assert all("Hookline-Position" in waited[status]["headers"] for status in ("200", "204"))
    assert "Location" in paths["/endpoints"]["post"]["responses"]["201"]["headers"]
