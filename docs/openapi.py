"""The OpenAPI document, made from the routes and from the types that validate and serialize."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Iterator
from http import HTTPStatus
from typing import Any, get_type_hints

import msgspec

from app.server.api.parameters import NUMBER_MAX, Parameter
from app.server.api.problems import KINDS, MEDIA_TYPE, RETRY_AFTER_S, TYPE_PREFIX, ProblemOut
from app.server.api.routes import PREFIX, Body, Returns, Route
from docs.openapi_constraints import SLUG_SCHEMA, constrain
from hookline.headers import Headers

VERSION = "1"
"""Of the API, as in its paths."""
DESCRIPTION = """\
Hookline's local API. It listens at `http://127.0.0.1:8788/api/v1`, on this computer only unless told otherwise.

Every call needs the header `Authorization: Bearer TOKEN`, with the token in the file `api-token` of the data folder.
Requests from web pages are refused. Errors are problems of RFC 9457 (`application/problem+json`) with a stable `type`;
`errors` name the fields or parameters. Unknown fields and parameters are refused. Times are RFC 3339 in UTC with
microseconds. Lists return `items` and `next`, the `cursor` of the next page. A `GET` handles `HEAD` too.
"""

LOCATED = (("Location", "The path of what was created."),)
_UUID = {"type": "string", "format": "uuid"}
_NUMBER = {"type": "integer", "minimum": 1, "maximum": NUMBER_MAX}
PLACEHOLDERS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "endpoints/{slug}": ("The endpoint's slug.", SLUG_SCHEMA, "orders"),
    "targets/{id}": ("The target's ID.", _NUMBER, 3),
    "requests/{id}": ("The request's ID.", _UUID, "0199c2a4-6f3b-7d10-8a51-2f0c9be41d77"),
    "deliveries/{id}": ("The delivery's ID.", _UUID, "0199c2a4-6f3c-7a2e-9c40-5b1de07f6a12"),
    "attempts/{number}": ("The attempt's number, from 1.", _NUMBER, 1),
    "replays/{id}": ("The replay's ID.", _UUID, "0199c2b0-11d2-7c55-b3f1-90ad24e8c6f0"),
    "programs/{id}": ("The program's ID.", {"type": "string"}, "ngrok"),
    "refused/{id}": ("The refused request's ID.", _NUMBER, 3),
}
"""What stands in paths: description, schema and example, by the segment before it."""

_ALWAYS = (
    "bad-request",
    "invalid-parameter",
    "unauthorized",
    "forbidden-host",
    "forbidden-origin",
    "not-allowed",
    "internal",
    "storage-unavailable",
    "too-many-connections",
)
_WITH_BODY = ("invalid-json", "body-too-large", "invalid-fields")


def document(routes: Iterable[Route]) -> dict[str, Any]:
    """The OpenAPI 3.1 document of `routes`."""
    routes = tuple(routes)
    schemas = _Schemas(routes)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hookline", "version": VERSION, "description": DESCRIPTION, "license": {"name": "MIT"}},
        "servers": [{"url": PREFIX, "description": "The local API of a running Hookline."}],
        "security": [{"token": []}],
        "tags": [{"name": name} for name in dict.fromkeys(map(_tag, routes))],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token in the file `api-token` of the data folder.",
                }
            },
            "responses": {_shared_name(status): _problem(status, _ALWAYS, schemas) for status in _statuses(_ALWAYS)},
            "schemas": schemas.components,
        },
    }


def successes(route: Route) -> tuple[Returns, ...]:
    """Its responses when it succeeds: one, unless `returns` has several."""
    if route.returns is None:
        made = get_type_hints(route.handler)["return"]
        nothing = made is type(None)
        headers = LOCATED if route.location else ()
        return (Returns(status=204) if nothing else Returns(made, route.status, headers=headers),)
    return (route.returns,) if isinstance(route.returns, Returns) else route.returns


def operation_id(route: Route) -> str:
    """The summary in snake case, such as `list_endpoints`."""
    return re.sub(r"[^a-z0-9]+", "_", route.summary.lower().replace("'s", "")).strip("_")


def _tag(route: Route) -> str:
    return route.path.split("/")[1].partition(".")[0]


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": operation_id(route),
        "summary": route.summary,
        "description": _one_line(inspect.getdoc(route.handler) or ""),
        "tags": [_tag(route)],
        "parameters": [*_path_parameters(route.path), *map(_query_parameter, route.parameters)],
        "responses": _responses(route, schemas),
    }
    if route.body is not None:
        operation["requestBody"] = _request_body(route.body, schemas)
    return operation


def _path_parameters(path: str) -> Iterator[dict[str, Any]]:
    for place in re.findall(r"\w+/\{\w+\}", path):
        description, schema, example = PLACEHOLDERS[place]
        name = place.partition("{")[2].rstrip("}")
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": description,
            "schema": schema,
            "example": example,
        }


def _query_parameter(parameter: Parameter[Any]) -> dict[str, Any]:
    schema = dict(parameter.schema)
    if parameter.repeatable:
        schema = {"type": "array", "items": schema}
    return {"name": parameter.name, "in": "query", "description": parameter.description, "schema": schema}


def _request_body(body: Body, schemas: _Schemas) -> dict[str, Any]:
    content = {"schema": schemas.of(body.shape), "example": dict(body.example)}
    return {"required": not body.optional, "content": {"application/json": content}}


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    responses: dict[str, Any] = {str(one.status): _success(one, schemas) for one in successes(route)}
    kinds = [*_ALWAYS, *route.problems]
    if "{" in route.path:
        kinds.append("not-found")
    if route.body is not None:
        kinds += _WITH_BODY
    for status in _statuses(kinds):
        shared = not any(KINDS[kind].status == status for kind in set(kinds) - set(_ALWAYS))
        responses[str(status)] = (
            {"$ref": f"#/components/responses/{_shared_name(status)}"} if shared else _problem(status, kinds, schemas)
        )
    return responses


def _statuses(kinds: Collection[str]) -> list[int]:
    return sorted({KINDS[kind].status for kind in kinds})


def _shared_name(status: int) -> str:
    """The name of the response that all calls have in common for this status."""
    return HTTPStatus(status).phrase.title().replace(" ", "")


def _success(returns: Returns, schemas: _Schemas) -> dict[str, Any]:
    response: dict[str, Any] = {"description": "Success."}
    if returns.status == 204:
        response["description"] = "Success, without a body."
    elif returns.shape is not None:
        response["content"] = {returns.media_type: {"schema": schemas.of(returns.shape)}}
    else:
        response["content"] = {returns.media_type: {}}
    if returns.headers:
        response["headers"] = {
            name: {"description": text, "required": True, "schema": {"type": "string"}}
            for name, text in returns.headers
        }
    return response


def _problem(status: int, kinds: Collection[str], schemas: _Schemas) -> dict[str, Any]:
    """The response with those of `kinds` that have this status."""
    possible = sorted(kind for kind in set(kinds) if KINDS[kind].status == status)
    response: dict[str, Any] = {
        "description": " ".join(f"`{kind}`: {KINDS[kind].title}." for kind in possible),
        "content": {MEDIA_TYPE: {"schema": schemas.of(ProblemOut)}},
    }
    if status == 401:
        header = {"required": True, "schema": {"type": "string"}, "example": 'Bearer realm="hookline"'}
        response["headers"] = {"WWW-Authenticate": header}
    if status == 503:
        header = {"description": "Seconds.", "schema": {"type": "integer"}, "example": RETRY_AFTER_S}
        response["headers"] = {"Retry-After": header}
    return response


class _Schemas:
    """The JSON Schemas of all types that `routes` name, `components` by name."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        taken = [route.body.shape for route in routes if route.body is not None]
        given = [one.shape for route in routes for one in successes(route) if one.shape is not None]
        self.components: dict[str, Any] = {}
        self._by_shape: dict[Any, Any] = {}
        sent = self._add(taken)
        # A record within one that callers send, such as `Auth`, is described as they may send it.
        self._add([*given, ProblemOut])
        self._finish(sent)

    def _add(self, shapes: Iterable[Any]) -> set[str]:
        """Describe the types, but for components that are there; returns the names of their components."""
        shapes = list(dict.fromkeys(shapes))
        found, components = msgspec.json.schema_components(shapes, schema_hook=_schema_of, ref_template=_REF + "{name}")
        self._by_shape |= {shape: _renamed(schema) for shape, schema in zip(shapes, found, strict=True)}
        named = {_page_name(name): _renamed(schema) for name, schema in components.items()}
        for name, schema in named.items():
            known = self.components.setdefault(name, schema)
            if set(known.get("properties", ())) != set(schema.get("properties", ())):
                raise ValueError(f"Two records of the name {name} have other fields.")
        return set(named)

    def of(self, shape: Any) -> dict[str, Any]:
        """The schema of a type: usually a reference."""
        return dict(self._by_shape[shape])

    def _finish(self, sent: set[str]) -> None:
        """Add the constraints of `sent` components, those of request bodies. The others have all their fields."""
        for name, schema in self.components.items():
            schema.pop("title", None)  # its name
            if "description" in schema:
                schema["description"] = re.sub(r"\bNone\b", "null", _one_line(schema["description"]))
            constrain(name, schema)
            if name not in sent and name != ProblemOut.__name__ and "properties" in schema:
                given = set(schema.get("required", ()))
                fields = schema["properties"].items()
                # A field that may be left out, UNSET, has no default.
                schema["required"] = [field for field, one in fields if field in given or "default" in one]
                schema["additionalProperties"] = False
                for one in schema["properties"].values():
                    one.pop("default", None)
        problem_type = self.components[ProblemOut.__name__]["properties"]["type"]
        problem_type["enum"] = [TYPE_PREFIX + kind for kind in sorted(KINDS)]


def _schema_of(kind: type[Any]) -> dict[str, Any]:
    """Of a type that is no JSON by itself."""
    if kind is Headers:
        return msgspec.json.schema(tuple[tuple[str, str], ...])
    raise NotImplementedError(kind)


_REF = "#/components/schemas/"
_PAGE = re.compile(r"\bPage_(\w+?)_\b")


def _page_name(name: str) -> str:
    """`EndpointOutPage` for msgspec's `Page_EndpointOut_`."""
    return _PAGE.sub(r"\1Page", name)


def _renamed(schema: Any) -> Any:
    """`schema` with references to the components' names here."""
    if isinstance(schema, dict):
        return {key: _renamed(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_renamed(value) for value in schema]
    return _page_name(schema) if isinstance(schema, str) and schema.startswith(_REF) else schema


def _one_line(text: str) -> str:
    """Paragraphs of one line each."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
